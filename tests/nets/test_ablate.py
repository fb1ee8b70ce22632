from pathlib import Path

import cv2
import numpy as np
import pytest

from nets import ablate, held_out, repository
from nets.held_out import Photo
from nets.metrics import Label
from plates import contract
from plates.alphabet import BLANK, encode
from plates.geometry import Floats, Image
from plates.pipeline import Options

BOX = (40.0, 40.0, 140.0, 60.0)


def detector(images: Image) -> Floats:
    """Finds the plate of a 320 x 160 picture when it is shown twice as large."""
    score = 0.9 if images.shape[2] == 640 else 0.0
    return np.array([[(180, 100, 200, 40, score, 1)]], np.float32)


def reader(crops: Floats) -> Floats:
    """Reads a text with little certainty."""
    path = [index for character in encode("M001MM99") for index in (character, BLANK)]
    path += [BLANK] * (contract.TIME_STEPS - len(path))
    logits = np.zeros((len(crops), *contract.LPRNET.outputs[0].shape), np.float32)
    logits[:, path, np.arange(contract.TIME_STEPS)] = 5
    return logits


@pytest.fixture
def scene(tmp_path: Path) -> Photo:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.full((160, 320, 3), 90, np.uint8))
    return Photo(path, (Label(BOX, "A123BC77"),), complete=True)


@pytest.mark.parametrize("given", [Options(temperature=1.5), repository.options()])
def test_each_variant_differs_from_what_is_served_in_one_option(given: Options) -> None:
    (name, served), *others = ablate.variants(given)
    assert (name, served) == ("nothing", given)
    for _, options in others:
        assert sum(getattr(options, field) != getattr(served, field) for field in Options.__slots__) == 1


def test_every_variant_is_counted(scene: Photo) -> None:
    compared = [("nothing", Options()), ("smaller", Options(input_size=320)), ("all", Options(text_threshold=0.0))]
    rows = {row[0]: row[1:5] for row in ablate.ablate([scene], detector, reader, compared).rows}
    assert rows["nothing"] == ("100.0%", "100.0%", "0.0%", "0.0%")
    assert rows["smaller"] == ("0.0%", "-", "0.0%", "0.0%")
    assert rows["all"] == ("100.0%", "100.0%", "0.0%", "100.0%")


def test_the_command_prints_a_row_per_variant(
    scene: Photo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(held_out, "scenes", lambda: [scene])
    monkeypatch.setattr(repository, "detector", lambda _: detector)
    monkeypatch.setattr(repository, "reader", lambda _: reader)
    assert ablate.main([]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name, _ in ablate.variants(Options()))

"""The reader's training, a few steps of it, and what the shipped weights read."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nets.data import index, plates, readings
from plates.decoding import decode

pytest.importorskip("torch")

import torch

from nets import train_reader
from nets.averaging import MovingAverage
from nets.reader import Reader, load_reader
from nets.train_reader import Config, NonFiniteLossError, ctc_loss, normalised, train

pytestmark = pytest.mark.torch

QUICK = Config(steps=6, batch=4, warmup=2, real_share=0.0, dropout=0.2, seed=3, bf16=False)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Sums in another order would hide whether a resumed training is the same."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def states_equal(a: Reader, b: Reader, tolerance: float) -> bool:
    return all(
        torch.allclose(x.float(), y.float(), atol=tolerance)
        for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


def test_learning_lowers_the_loss(tmp_path: Path) -> None:
    config = replace(QUICK, steps=40, warmup=5, learning_rate=3e-3, dropout=0.0)
    images, texts = readings.ReadingSampler([], 0.0).batch(16, np.random.default_rng(0))

    def loss(reader: Reader) -> float:
        with torch.no_grad():
            return float(ctc_loss(reader(normalised(images)), texts))

    torch.manual_seed(config.seed)
    before = loss(Reader().eval())
    after = loss(train(config, [], {}, tmp_path))

    assert after < 0.7 * before


def test_a_resumed_training_ends_as_an_uninterrupted_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(QUICK, [], {}, tmp_path / "whole")
    updates = iter(range(5))

    def interrupt(average: MovingAverage, network: Reader, step: int) -> None:
        if next(updates) == 4:
            raise KeyboardInterrupt
        original(average, network, step)

    original = MovingAverage.update
    with monkeypatch.context() as patch:
        patch.setattr(MovingAverage, "update", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(QUICK, [], {}, tmp_path / "parts", checkpoint_every=3)
    resumed = train(QUICK, [], {}, tmp_path / "parts", checkpoint_every=3)

    assert states_equal(whole, resumed, tolerance=1e-5)


def test_a_finished_training_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = train(QUICK, [], {}, tmp_path)
    monkeypatch.setattr(train_reader, "ctc_loss", SimpleNamespace())

    again = train(QUICK, [], {}, tmp_path)

    assert states_equal(first, again, tolerance=0)


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path: Path) -> None:
    train(QUICK, [], {}, tmp_path)

    with pytest.raises(ValueError, match="--fresh"):
        train(replace(QUICK, steps=9), [], {}, tmp_path)


def test_a_training_can_start_from_given_weights(tmp_path: Path) -> None:
    given = Reader()
    config = replace(QUICK, steps=1, learning_rate=0.0, stn_learning_rate=0.0)

    trained = train(config, [], {}, tmp_path, start_from=given)

    parameters = zip(given.parameters(), trained.parameters(), strict=True)
    assert all(torch.equal(before, after) for before, after in parameters)


def test_a_loss_that_is_not_a_number_stops_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_reader, "ctc_loss", lambda logits, texts: logits.sum() * float("nan"))

    with pytest.raises(NonFiniteLossError, match="at step 0"):
        train(QUICK, [], {}, tmp_path)

    assert not (tmp_path / "checkpoint.pt").exists()


def test_the_best_averaged_weights_are_kept(tmp_path: Path) -> None:
    crops = np.zeros((2, 3, 24, 94), np.float32)
    measured = {"drawn": readings.HeldOut(crops, ["A111AA77", "A111AA77"])}

    reader = train(QUICK, [], measured, tmp_path, measure_every=6)

    assert states_equal(load_reader(tmp_path / "best"), reader, tolerance=0)


def test_the_loss_is_least_for_the_text_that_the_logits_spell() -> None:
    logits = torch.full((1, 23, 18), -5.0)
    logits[:, 22] = 0.0
    for position, character in enumerate((10, 1, 2, 3, 11, 12, 7, 7)):
        logits[0, character, 2 * position] = 10.0

    right = ctc_loss(logits, ["A123BE77"])
    wrong = ctc_loss(logits, ["A123BE78"])

    assert right < 0.3
    assert wrong > right + 0.5


def test_pixels_are_scaled_as_the_service_scales_them() -> None:
    images = np.array([0, 127, 255], np.uint8).reshape(1, 1, 1, 3)

    assert normalised(images).flatten().tolist() == pytest.approx([-127.5 / 128, -0.5 / 128, 127.5 / 128])


@pytest.mark.skipif(not index.available(), reason="the labelled photos are not there")
@pytest.mark.parametrize("fold", [4, -1])
def test_the_fold_that_is_held_out_is_measured_and_not_trained_on(
    fold: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = [
        next(photo for photo in index.load() if photo.fold == number and photo.kind == "crop") for number in (3, 4)
    ]
    seen: dict[str, Any] = {}

    def remember(config: Config, real: Any, measured: Any, *_: Any, **__: Any) -> Reader:
        seen.update(config=config, real=real, measured=measured)
        return Reader()

    monkeypatch.setattr(index, "load", lambda: photos)
    monkeypatch.setattr(train_reader, "train", remember)
    command = ["train_reader", "--held-out", str(fold), "--runs", str(tmp_path), "--weights", str(tmp_path)]
    monkeypatch.setattr("sys.argv", command)

    train_reader.main()

    texts = [photo.plates[0].text for photo in photos]
    assert [plate.text for plate in seen["real"]] == texts[: 1 if fold == 4 else 2]
    assert [plates.texts for name, plates in seen["measured"].items() if name == "crops"] == [texts[1:]] * (fold == 4)
    assert seen["config"].held_out == fold


def test_the_shipped_weights_read_clean_drawn_plates() -> None:
    rng = np.random.default_rng(11)
    texts = [plates.random_text(rng) for _ in range(100)]
    views = []
    for text in texts:
        drawn = plates.render_plate(text, rng, 40)
        picture = np.full((80, drawn.shape[1] + 40, 3), 60, np.uint8)
        picture[20:60, 20:-20] = drawn
        right = picture.shape[1] - 20
        corners = np.array([(20, 20), (right, 20), (right, 60), (20, 60)], np.float64)
        views.append(readings.view(readings.Plate(picture, corners, (text,))))

    with torch.no_grad():
        read, _ = decode(load_reader()(normalised(np.stack(views))).numpy())

    assert sum(a == b for a, b in zip(read, texts, strict=True)) >= 95

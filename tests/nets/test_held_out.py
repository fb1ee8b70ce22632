import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nets import held_out, repository
from nets.data import index
from nets.held_out import NothingToEvaluateError, Photo
from nets.metrics import Label

BOX = (0.0, 0.0, 100.0, 20.0)


def photos() -> list[Photo]:
    """Pairs that share a plate, and pairs that share a group."""
    plates = [Photo(Path(f"a{n}"), (Label(BOX, f"A{n // 2:03}BC77"),), False, f"group {n}") for n in range(60)]
    groups = [Photo(Path(f"b{n}"), (Label(BOX, None),), False, f"pair {n // 2}") for n in range(60)]
    return plates + groups


def test_halves_share_neither_photo_nor_plate() -> None:
    first, second = held_out.halves(photos())
    assert sorted(str(photo.path) for photo in first + second) == sorted(str(photo.path) for photo in photos())
    assert {photo.group for photo in first}.isdisjoint(photo.group for photo in second)
    texts = [{label.text for photo in half for label in photo.labels} - {None} for half in (first, second)]
    assert texts[0].isdisjoint(texts[1])
    assert min(len(first), len(second)) > 30


def test_halves_are_the_same_every_time() -> None:
    assert held_out.halves(photos()) == held_out.halves(photos())


def test_networks_that_know_the_photos_are_told_of_and_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(repository, "learnt_from_all", lambda _: [])
    held_out.check(Path("models"), published=True, say=said.append)
    assert not said
    monkeypatch.setattr(repository, "learnt_from_all", lambda _: ["stn", "lprnet"])
    held_out.check(Path("models"), published=False, say=said.append)
    assert len(said) == 1
    assert said[0].startswith("stn, lprnet in models have learnt from all folds")
    with pytest.raises(NothingToEvaluateError, match="fold 4 held out"):
        held_out.check(Path("models"), published=True, say=said.append)


@pytest.mark.parametrize("choose", [held_out.scenes, held_out.crops])
def test_without_the_photos_one_sentence_says_so(choose: Callable[[Path], list[Photo]], tmp_path: Path) -> None:
    with pytest.raises(NothingToEvaluateError, match=re.escape(f"not at {tmp_path}.")):
        choose(tmp_path)


@pytest.mark.skipif(not index.available(), reason="the labelled photos are not there")
def test_only_the_held_out_fold_and_photos_without_plates_are_counted() -> None:
    scenes, crops = held_out.scenes(), held_out.crops()
    trained_on = {image.path for image in index.load() if image.fold != index.HELD_OUT_FOLD}
    assert {photo.path for photo in scenes + crops}.isdisjoint(trained_on)
    assert all(photo.path.is_file() for photo in scenes + crops)
    assert any(not photo.labels for photo in scenes)
    assert all(len(photo.labels) == 1 for photo in crops)
    assert all(photo.group for photo in scenes + crops)

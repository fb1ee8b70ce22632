"""Counting what is found of drawn plates."""

import numpy as np
import pytest

from nets import evaluate_kinds
from nets.data import index
from nets.data.kinds import KINDS
from plates.geometry import Floats, Image
from plates.pipeline import Options

GROUND = np.full((640, 640, 3), 120, np.uint8)


def what_differs(images: Image) -> Floats:
    """Find whatever is not the ground's grey."""
    rows, columns = np.nonzero((images[0] != 120).any(axis=2))
    if not len(rows):
        return np.zeros((1, 0, 6), np.float32)
    low, high = np.array([columns.min(), rows.min()]), np.array([columns.max(), rows.max()]) + 1
    return np.array([[[*(low + high) / 2, *(high - low), 1, 1]]], np.float32)


def what_is_wide(images: Image) -> Floats:
    """Find the same, but only plates that are wide: those of one line."""
    found = what_differs(images)
    return found[:, found[0, :, 2] > 3 * found[0, :, 3]]


def test_each_kind_is_counted_by_what_is_found_of_it() -> None:
    counted = evaluate_kinds.evaluate([GROUND], what_differs, Options(), count=4, seed=0)
    assert [(kind.kind, kind.plates) for kind in counted] == [(kind, 4) for kind in KINDS]
    assert sum(kind.found for kind in counted) > 0.95 * 4 * len(KINDS)
    wide = evaluate_kinds.evaluate([GROUND], what_is_wide, Options(), count=4, seed=0)
    assert {kind.found for kind in wide if KINDS[kind.kind].lines == 2} == {0}
    assert evaluate_kinds.grid(wide).rows[-1][:2] == ("all", str(4 * len(KINDS)))


def test_the_grounds_stay_as_they_are() -> None:
    ground = GROUND.copy()
    evaluate_kinds.evaluate([ground], what_differs, Options(), count=1, seed=0)
    assert (ground == GROUND).all()


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda root: False)
    assert evaluate_kinds.main([]) == 1
    assert "nothing to evaluate on" in capsys.readouterr().out

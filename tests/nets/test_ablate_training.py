"""Comparing short trainings."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from nets import ablate_training
from nets.ablate_training import COLUMNS, ablate, variants
from nets.data import index
from nets.data.readings import HeldOut, Plate
from nets.train_reader import Config

pytestmark = pytest.mark.torch

QUICK = Config(steps=1, batch=2, warmup=1, bf16=False)


def test_each_variant_differs_from_the_recipe_in_one_thing() -> None:
    (_, recipe), *others = variants(Config()).items()

    assert recipe == Config()
    for _, config in others:
        assert sum(getattr(config, field.name) != getattr(recipe, field.name) for field in fields(Config)) == 1


def test_every_variant_is_trained_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablate_training, "DRAWN_OF_EACH_KIND", 1)
    corners = np.array([(20, 15), (180, 15), (180, 45), (20, 45)], np.float64)
    real = [Plate(np.full((60, 200, 3), 200, np.uint8), corners, ("A111AA77",))]
    # Nothing is learnt in a step: an untrained reader reads nothing, which is right only where nothing is to be read.
    crops = np.zeros((1, 3, 24, 94), np.float32)
    measured = {
        name: HeldOut(crops, [text]) for name, text in (("one", "A111AA77"), ("two", "B222BB77"), ("three", "X"))
    }

    grid = ablate(variants(QUICK), real, measured, tmp_path)

    assert [row[0] for row in grid.rows] == list(variants(QUICK))
    assert all(len(row) == len(COLUMNS) for row in grid.rows)
    assert all(row[1:] == ("0.0%",) * 5 for row in grid.rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda: False)

    assert ablate_training.main([]) == 1
    assert "the labelled photos are not at" in capsys.readouterr().err

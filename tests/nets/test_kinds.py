"""The kinds of plates and the picture of them."""

import cv2
import numpy as np
import pytest

from nets import plate_types
from nets.data.kinds import KINDS
from nets.data.plates import random_text
from plates.formats import Format, Ground, as_written, parse
from plates.regions import REGIONS

GROUNDS = {"taxi": Ground.YELLOW, "police": Ground.BLUE, "military": Ground.BLACK, "diplomatic": Ground.RED}

ALIKE = {"tractor": Format.MOTORCYCLE}
"""Kinds that nothing tells from another format's."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_formats_of_drawn_texts_are_known_to_the_kernel(kind: str) -> None:
    chosen = KINDS[kind]
    ground = GROUNDS.get(kind.split("_")[0], Ground.WHITE)
    rng = np.random.default_rng(0)
    parsed = [parse(as_written(random_text(rng, kind)), chosen.lines, ground) for _ in range(200)]
    known = [format_ for format_, _ in parsed if format_ != Format.UNKNOWN]

    # Some texts have a region that nobody uses yet.
    assert len(known) > 150
    likeliest = max(set(known), key=known.count)
    assert likeliest == ALIKE.get(kind, chosen.format)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_named_by_its_format(kind: str) -> None:
    assert kind.split("_")[0] == KINDS[kind].format.value


def test_regions_with_their_names_are_the_ones_that_are_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = {random_text(rng)[6:] for _ in range(8000)}

    assert drawn >= set(REGIONS)


def test_the_picture_of_all_kinds_is_the_one_in_docs() -> None:
    there = cv2.imread(str(plate_types.FILE))

    assert there is not None
    assert plate_types.FILE.stat().st_size < 300_000
    drawn = plate_types.figure(plate_types.SEED) // 8 * 8
    assert there.shape == drawn.shape
    assert np.mean(there != drawn) < 0.02

"""Drawn plates, glyphs and scenes."""

import itertools
import re

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from nets.data import glyphs
from nets.data.kinds import COMMON, KINDS
from nets.data.plates import issued_text, random_text, render_plate, render_scene
from plates.alphabet import CHARACTERS
from plates.regions import REGIONS


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(character: str, size: int = 40) -> NDArray[np.uint8]:
    """Return a glyph in black on white, as large as the reader sees none."""
    image = np.full((size + 8, size + 8), 255, np.uint8)
    width = glyphs.aspect(character) * size
    for stroke in glyphs.strokes(character):
        points = np.rint(stroke * (width, size) + 4).astype(np.int32)
        cv2.polylines(image, [points], False, (0,), 5)
    return image


@pytest.mark.parametrize("kind", KINDS)
def test_random_texts_have_the_form_of_their_kind(kind: str) -> None:
    rng = generator()

    texts = [random_text(rng, kind) for _ in range(300)]

    assert all(KINDS[kind].pattern().fullmatch(text) for text in texts)
    assert set("".join(texts)) <= set(CHARACTERS)
    assert len({len(text) for text in texts}) == 2


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("civil", r"[ABEKMHOPCTYX]\d{3}[ABEKMHOPCTYX]{2}\d{2,3}"),
        ("motorcycle_offroad", r"[ABEKMHOPCTYX]{2}\d{2,3}\d{4}"),
        ("diplomatic", r"\d{3}O\d{3}\d{2,3}"),
        ("diplomatic_head", r"\d{3}CO\d\d{2,3}"),
        ("taxi", r"[ABEKMHOPCTYX]{2}\d{3}\d{2,3}"),
        ("trailer", r"[ABEKMHOPCTYX]{2}\d{4}\d{2,3}"),
        ("transit", r"T[ABEKMHOPCTYX]{2}\d{3}\d{2,3}"),
    ],
)
def test_texts_are_what_is_read_line_by_line(kind: str, expression: str) -> None:
    assert all(re.fullmatch(expression, random_text(generator(seed), kind)) for seed in range(50))


def test_random_texts_use_every_character_and_no_number_zero() -> None:
    rng = generator()

    texts = [random_text(rng, "civil") for _ in range(3000)]

    assert set("".join(texts)) == set(CHARACTERS)
    assert all(text[1:4] != "000" for text in texts)
    assert all(text[6:] != "00" for text in texts)


def test_issued_texts_have_regions_in_use_and_seldom_one_digit_repeated() -> None:
    rng = generator()

    texts = [issued_text(rng, "civil") for _ in range(1000)]

    assert all(text[6:] in REGIONS for text in texts)
    assert sum(len(set(text[1:4])) == 1 for text in texts) < 30
    assert not all(random_text(rng, "civil")[6:] in REGIONS for _ in range(100))


def test_every_kind_is_drawn_sometimes() -> None:
    assert set(COMMON) == set(KINDS)
    assert all(share > 0 for share in COMMON.values())
    assert sum(COMMON.values()) == pytest.approx(1)


@pytest.mark.parametrize("height", [8, 24, 36, 112, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_a_plate_has_the_asked_height_and_its_kinds_proportions(height: int, kind: str) -> None:
    rng = generator(height)

    image = render_plate(random_text(rng, kind), rng, height, kind)

    assert image.shape == (height, round(height * KINDS[kind].width / KINDS[kind].height), 3)
    assert image.dtype == np.uint8


@pytest.mark.parametrize("region", ["77", "777"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_character_has_a_place_of_its_own(kind: str, region: str) -> None:
    """Another character changes the plate there alone: left of the next one's place, and inside the plate."""
    others = {"M": "T", "8": "1", "7": "1"}
    layouts = [row.layout for row in KINDS[kind].rows]
    lines = [
        layout.replace("L", "M").replace("0", "8").replace("D", "O") + (region if row == KINDS[kind].region.row else "")
        for row, layout in enumerate(layouts)
    ]
    text = "".join(lines)
    before = render_plate(text, generator(3), 120, kind).astype(int)
    place = 0
    for layout, line in zip(layouts, lines, strict=True):
        reached = 0
        for column, character in enumerate(line):
            fixed = column < len(layout) and layout[column] not in "L0"
            if not fixed:
                changed = text[:place] + others[character] + text[place + 1 :]
                after = render_plate(changed, generator(3), 120, kind).astype(int)
                columns = np.flatnonzero(np.abs(after - before).max(axis=2).max(axis=0) > 60)
                assert columns.size > 0, f"{character} at {place} isn't drawn"
                assert reached <= columns.min(), f"{character} at {place} reaches into the one before"
                assert columns.max() < before.shape[1] - 2
                reached = columns.max()
            place += 1


def test_the_same_generator_draws_the_same_plate() -> None:
    first = render_plate("A123BC77", generator(5))
    again = render_plate("A123BC77", generator(5))
    other = render_plate("A123BC77", generator(6))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("A123BC", "civil"),
        ("a123bc77", "civil"),
        ("D123BC77", "civil"),
        ("A123BC77", "trailer"),
        ("001D00277", "diplomatic"),
        ("", "taxi"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, kind: str) -> None:
    with pytest.raises(ValueError, match="is not the text of a"):
        render_plate(text, generator(), kind=kind)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no such kind"):
        render_plate("A123BC77", generator(), kind="moon")


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("taxi", 0, 2), ("police", 2, 0), ("diplomatic", 0, 2)],
)
def test_coloured_plates_are_coloured(kind: str, low: int, high: int) -> None:
    rng = generator()
    for _ in range(5):
        ground = np.median(render_plate(random_text(rng, kind), rng, kind=kind).reshape(-1, 3), axis=0)

        assert ground[low] + 70 < ground[high]


@pytest.mark.parametrize("kind", ["civil", "trailer", "military"])
def test_white_and_black_plates_have_no_colour(kind: str) -> None:
    rng = generator()
    for _ in range(5):
        ground = np.median(render_plate(random_text(rng, kind), rng, kind=kind).reshape(-1, 3), axis=0)

        assert np.ptp(ground) < 30


def test_white_plates_are_lighter_than_their_characters_and_black_ones_darker() -> None:
    for kind, lighter in (("civil", True), ("military", False), ("civil_square", True), ("military_motorcycle", False)):
        image = render_plate(random_text(generator(), kind), generator(1), kind=kind)

        assert (np.median(image) > image.mean()) == lighter


def test_some_temporary_plates_have_a_yellow_region() -> None:
    rng = generator()
    corners = [render_plate(random_text(rng, "temporary"), rng, kind="temporary")[8:40, -12:-8] for _ in range(30)]
    yellow = [np.median(corner[..., 2]) - np.median(corner[..., 0]) > 100 for corner in corners]

    assert 5 < sum(yellow) < 25


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(CHARACTERS, 2)))
def test_each_two_glyphs_can_be_told_apart(first: str, second: str) -> None:
    # 0 and O differ in width alone, as they do on the road.
    different = np.count_nonzero(drawn(first) != drawn(second))

    assert different >= 80


@pytest.mark.parametrize("character", CHARACTERS)
def test_a_glyph_fills_its_square(character: str) -> None:
    points = np.concatenate(glyphs.strokes(character))

    for low, high in zip(points.min(axis=0), points.max(axis=0), strict=True):
        assert -glyphs.OVERSHOOT <= low <= 0.05
        assert 0.8 <= high <= 1 + glyphs.OVERSHOOT


def test_a_character_that_plates_lack_has_no_glyph() -> None:
    with pytest.raises(KeyError):
        glyphs.strokes("Q")


def test_changing_one_character_changes_only_its_place() -> None:
    one = render_plate("A123BC77", generator(1)).astype(int)
    two = render_plate("A173BC77", generator(1)).astype(int)

    columns = np.flatnonzero(np.abs(one - two).max(axis=(0, 2)) > 30) / one.shape[1]

    assert columns.min() > 0.2
    assert columns.max() < 0.45


@pytest.mark.parametrize("seed", range(8))
def test_a_scene_holds_the_plate_inside_its_box(seed: int) -> None:
    image, box, quad = render_scene("B840OK197", seed, 640, 480, 150)

    assert image.shape == (480, 640, 3)
    assert image.dtype == np.uint8
    corners = np.array(quad)
    assert box == pytest.approx((*corners.min(axis=0), *corners.max(axis=0)))
    assert 0 <= box[0] < box[2] <= 640
    assert 0 <= box[1] < box[3] <= 480
    assert box[2] - box[0] == pytest.approx(150, rel=0.1)
    # Characters make the plate the most contrasting part of the picture around it.
    part = image[int(box[1]) : int(box[3]) + 1, int(box[0]) : int(box[2]) + 1]
    assert part.max() - part.min() > 120


def test_a_seed_and_its_generator_give_the_same_scene() -> None:
    by_seed = render_scene("A123BC77", 4, 320, 240, 100)
    by_generator = render_scene("A123BC77", generator(4), 320, 240, 100)

    assert np.array_equal(by_seed[0], by_generator[0])
    assert by_seed[1:] == by_generator[1:]


def test_a_plate_too_large_for_its_scene_is_refused() -> None:
    with pytest.raises(ValueError, match="doesn't fit"):
        render_scene("A123BC77", 0, 200, 200, 220)

"""Samples of the reader."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from nets.data import degrade, readings
from nets.data.index import LabelledImage, LabelledPlate
from nets.data.plates import render_scene
from nets.data.readings import Plate, ReadingSampler
from plates import geometry
from plates.contract import CROP_HEIGHT, CROP_WIDTH
from plates.geometry import iou

TEXT = "B840OK197"


@pytest.fixture(params=[80, 300], ids=["small plate", "large plate"])
def photo(request: pytest.FixtureRequest, tmp_path: Path) -> LabelledImage:
    """Return a labelled picture with a plate that is read and one whose text nobody knows."""
    image, box, quad = render_scene(TEXT, 1, 960, 540, request.param)
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), image)
    plates = (
        LabelledPlate(box, quad, TEXT, "standard"),
        LabelledPlate((0.0, 0.0, 50.0, 12.0), None, None, "standard"),
    )
    return LabelledImage(path, "scene", "drawn", 0, True, 960, 540, plates)


def test_only_plates_with_a_text_are_cut(photo: LabelledImage) -> None:
    (plate,) = readings.cut_plates([photo])

    assert plate.text == TEXT


def test_a_photo_that_is_gone_is_told(photo: LabelledImage) -> None:
    photo.path.unlink()

    with pytest.raises(OSError, match="not an image"):
        readings.cut_plates([photo])


@pytest.mark.parametrize(("width", "tolerance"), [(50, 1.5), (100, 1.5), (400, 4)])
def test_an_unmoved_view_is_what_the_service_cuts(photo: LabelledImage, width: int, tolerance: float) -> None:
    # The margins of this box end at whole pixels, so the service's rounding doesn't move it. A large plate is stored
    # smaller and resampled twice, hence its tolerance.
    x, y, _, _ = photo.plates[0].box
    box = (float(round(x)), float(round(y)), float(round(x) + width), float(round(y) + width // 5))
    labelled = replace(photo, plates=(LabelledPlate(box, None, TEXT, "standard"),))
    (plate,) = readings.cut_plates([labelled])
    (expected,) = readings.held_out([labelled], jitter=False).crops

    view = readings.view(plate).transpose(2, 0, 1).astype(np.float32)

    assert expected.std() > 0.1
    assert np.abs(view - (expected * 128 + 127.5)).mean() < tolerance


def test_held_out_crops_are_cut_by_the_kernel(photo: LabelledImage) -> None:
    image = cv2.imread(str(photo.path))
    assert image is not None
    box = np.array([photo.plates[0].box], np.float32)

    held_out = readings.held_out([photo], jitter=False)

    assert held_out.texts == [TEXT]
    assert np.array_equal(held_out.crops, geometry.crop(np.asarray(image, np.uint8), box))


def two_lines() -> Plate:
    """Return a plate with a green line above a blue one."""
    upper, lower = (20, 200, 20), (200, 20, 20)
    image = np.zeros((96, 120, 3), np.uint8)
    image[8:48, 10:110], image[48:88, 10:110] = upper, lower
    corners = np.array([(10, 8), (110, 8), (110, 88), (10, 88)], np.float64)
    return Plate(image, corners, ("1234", "AB77"))


def test_a_plate_on_two_lines_is_seen_at_the_width_asked_for() -> None:
    seen = readings.view(two_lines(), width=100)

    assert seen.shape == (80, 100, 3)
    assert seen[12:36, 12:88, 1].min() > 180
    assert seen[44:68, 12:88, 0].min() > 180


def test_each_of_two_lines_is_a_sample_with_its_own_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(degrade, "photograph", lambda image, _: image)
    sampler = ReadingSampler([two_lines()], real_share=1.0)
    rng = np.random.default_rng(0)

    samples = [sampler.sample(rng) for _ in range(40)]

    texts = [text for _, text in samples]
    assert 10 < texts.count("1234") < 30
    assert set(texts) == {"1234", "AB77"}
    for image, text in samples:
        blue, green, _ = image[12, 47].astype(int)
        assert (green > blue) == (text == "1234")


def test_boxes_are_off_by_as_much_as_a_detectors() -> None:
    rng = np.random.default_rng(0)
    true = np.array([100, 100, 240, 130], np.float32)

    errors = readings.box_error(rng, np.tile([140.0, 30.0], (2000, 1)))
    overlaps = iou(true, (true + errors).astype(np.float32))

    assert 0.82 < np.median(overlaps) < 0.93
    assert np.quantile(overlaps, 0.05) > 0.68


def test_a_drawn_plate_is_inside_its_picture() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        plate = readings.draw_plate(rng)
        height, width = plate.image.shape[:2]

        assert plate.image.dtype == np.uint8
        assert np.all(plate.corners >= 0)
        assert np.all(plate.corners <= (width, height))
        assert 6 <= len(plate.text) <= 10


def test_views_differ_but_hold_the_plate() -> None:
    plate = readings.on_car("A111AA77", np.random.default_rng(1))
    still = readings.view(plate).astype(np.float32)
    rng = np.random.default_rng(2)

    views = [readings.view(plate, rng) for _ in range(10)]

    assert len({view.tobytes() for view in views}) == 10
    assert all(view.shape == (CROP_HEIGHT, CROP_WIDTH, 3) for view in views)
    assert all(abs(float(view.mean()) - float(still.mean())) < 40 for view in views)


def real_plates() -> list[Plate]:
    picture = np.full((60, 200, 3), 200, np.uint8)
    corners = np.array([(20, 15), (180, 15), (180, 45), (20, 45)], np.float64)
    return [Plate(picture, corners, (text,)) for text in ("A111AA77", "A111AA177")]


def test_batches_mix_real_and_drawn_plates_as_asked() -> None:
    real = {plate.text for plate in real_plates()}
    sampler = ReadingSampler(real_plates(), real_share=0.5)

    images, texts = sampler.batch(400, np.random.default_rng(0))

    assert images.shape == (400, CROP_HEIGHT, CROP_WIDTH, 3)
    assert images.dtype == np.uint8
    assert 160 < sum(text in real for text in texts) < 240


def test_plates_with_three_digit_regions_come_more_often() -> None:
    sampler = ReadingSampler(real_plates(), real_share=1.0)

    _, texts = sampler.batch(600, np.random.default_rng(0))

    assert texts.count("A111AA177") > 1.2 * texts.count("A111AA77")


def test_the_same_generator_gives_the_same_batch() -> None:
    sampler = ReadingSampler(real_plates(), real_share=0.5)

    first, second = (sampler.batch(8, np.random.default_rng(9)) for _ in range(2))

    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]


def test_without_real_plates_a_share_of_them_is_refused() -> None:
    with pytest.raises(ValueError, match="there are none"):
        ReadingSampler([], real_share=0.5)

    ReadingSampler([], real_share=0.0).sample(np.random.default_rng(0))

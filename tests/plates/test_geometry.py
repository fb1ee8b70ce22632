from collections.abc import Callable

import cv2
import numpy as np
import pytest

from plates import geometry


def gradient(height: int, width: int) -> geometry.Image:
    """Return an image whose blue is the column and whose green is the row, scaled to 0..255."""
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0] = np.linspace(0, 255, width)[None, :]
    image[..., 1] = np.linspace(0, 255, height)[:, None]
    return image


def boxes(*rows: tuple[float, float, float, float]) -> geometry.Floats:
    return np.array(rows, np.float32)


@pytest.mark.parametrize(
    ("height", "width", "shape"),
    [
        (1080, 1920, (384, 640)),
        (1920, 1080, (640, 384)),
        (480, 640, (480, 640)),
        (200, 12000, (32, 640)),
        (1, 1, (640, 640)),
        (1, 5000, (32, 640)),
        (333, 777, (288, 640)),
    ],
)
def test_letterbox_pads_no_more_than_the_stride_asks_for(height: int, width: int, shape: tuple[int, int]) -> None:
    boxed, _ = geometry.letterbox(gradient(height, width), 640)
    assert boxed.shape == (*shape, 3)
    assert boxed.flags.c_contiguous


def test_letterbox_padding_is_grey_and_the_picture_is_in_the_middle() -> None:
    boxed, transform = geometry.letterbox(np.full((100, 640, 3), 7, np.uint8), 640)
    assert (transform.pad_x, transform.pad_y) == (0, 14)
    assert np.all(boxed[:14] == geometry.LETTERBOX_GREY)
    assert np.all(boxed[114:] == geometry.LETTERBOX_GREY)
    assert np.all(boxed[14:114] == 7)


@pytest.mark.parametrize(("height", "width"), [(1080, 1920), (600, 800), (1920, 1080), (2000, 333)])
def test_boxes_come_back_to_where_they_are_in_the_picture(height: int, width: int) -> None:
    image = np.zeros((height, width, 3), np.uint8)
    x_min, y_min, x_max, y_max = width // 3, height // 2, width // 3 + width // 8, height // 2 + height // 16
    image[y_min:y_max, x_min:x_max] = 255
    boxed, transform = geometry.letterbox(image, 640)
    rows, columns = np.nonzero(boxed[..., 0] > 180)
    seen = boxes((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    pixel = max(height, width) / 640
    np.testing.assert_allclose(
        transform.to_original(seen, height, width), boxes((x_min, y_min, x_max, y_max)), atol=1.5 * pixel
    )


def test_boxes_end_at_the_pictures_border() -> None:
    _, transform = geometry.letterbox(gradient(480, 640), 640)
    np.testing.assert_array_equal(transform.to_original(boxes((-20, -5, 700, 500)), 480, 640), boxes((0, 0, 640, 480)))


def test_iou_of_known_boxes() -> None:
    box = boxes((0, 0, 10, 10))[0]
    others = boxes((0, 0, 10, 10), (5, 0, 15, 10), (20, 20, 30, 30), (3, 3, 3, 3))
    np.testing.assert_allclose(geometry.iou(box, others), [1, 1 / 3, 0, 0], rtol=1e-6)


def test_suppression_keeps_the_best_of_those_that_overlap() -> None:
    found = boxes((0, 0, 100, 20), (5, 0, 105, 20), (300, 0, 400, 20), (0, 100, 100, 120))
    scores = np.array([0.6, 0.9, 0.3, 0.8], np.float32)
    assert geometry.suppress(found, scores, 0.45, 10).tolist() == [1, 3, 2]
    assert geometry.suppress(found, scores, 0.45, 2).tolist() == [1, 3]
    assert geometry.suppress(found, scores, 0.95, 10).tolist() == [1, 3, 0, 2]
    assert geometry.suppress(found[:0], scores[:0], 0.45, 10).size == 0


def test_suppression_drops_parts_of_a_better_plate_and_keeps_a_better_part() -> None:
    whole, part, beside = (0, 0, 200, 44), (10, 4, 90, 40), (150, 0, 350, 44)
    found = boxes(whole, part, beside)
    assert geometry.suppress(found, np.array([0.9, 0.8, 0.7], np.float32), 0.45, 10).tolist() == [0, 2]
    assert geometry.suppress(found, np.array([0.8, 0.9, 0.7], np.float32), 0.45, 10).tolist() == [1, 0, 2]


@pytest.mark.parametrize("height", [170, 171, 40, 3, 2, 1])
def test_two_lines_are_parted_in_the_middle_and_overlap_a_little(height: int) -> None:
    upper, lower = geometry.line_rows(height, 2)
    assert (upper.start, lower.stop) == (0, height)
    assert upper.stop - upper.start == lower.stop - lower.start == max(1, round(0.57 * height))
    assert geometry.line_rows(height, 1) == [slice(0, height)]


def test_a_box_a_little_off_cuts_no_character_of_two_lines() -> None:
    """Both lines keep 37 % of the plate's height, 9 % from its edges, however the box misses by 4 %."""
    plate = np.full((300, 400, 3), 255, np.uint8)
    plate[100 + 18 : 100 + 92] = (0, 0, 255)
    plate[100 + 106 : 100 + 180] = (255, 0, 0)
    for shift in (-8, 0, 8):
        seen = plate[100 + shift : 300 + shift, 200]
        upper, lower = (seen[rows] for rows in geometry.line_rows(200, 2))
        assert np.sum(upper[:, 0] == 0) >= 74
        assert np.sum(lower[:, 2] == 0) >= 74


def test_each_of_two_lines_gives_a_crop() -> None:
    image = np.zeros((400, 600, 3), np.uint8)
    image[100:200] = (10, 10, 10)
    image[200:300] = (240, 240, 240)
    image[:, 300:] //= 2
    crops = geometry.crop(image, boxes((100, 100, 280, 300), (320, 100, 500, 300)), lines=2)
    assert crops.shape == (4, 3, 24, 94)
    pixels = crops[:, :, 12, 47] * 128 + 127.5
    np.testing.assert_allclose(pixels, np.repeat([[10], [240], [5], [120]], 3, axis=1), atol=1)


def test_crops_are_normalised_bgr_channels_first() -> None:
    image = np.zeros((100, 400, 3), np.uint8)
    image[:] = (0, 127, 255)
    crops = geometry.crop(image, boxes((100, 40, 294, 64)))
    assert crops.shape == (1, 3, 24, 94)
    assert crops.dtype == np.float32
    assert crops.flags.c_contiguous
    np.testing.assert_allclose(crops[0, :, 12, 47], (np.array([0, 127, 255]) - 127.5) / 128, atol=1e-6)


def test_a_crop_holds_the_box_and_its_margin() -> None:
    image = gradient(480, 640)
    (crop,) = geometry.crop(image, boxes((100, 200, 200, 220)))
    blue, green = crop[0] * 128 + 127.5, crop[1] * 128 + 127.5
    assert blue[0, 0] == pytest.approx(96 / 639 * 255, abs=2)
    assert blue[0, -1] == pytest.approx(204 / 639 * 255, abs=2)
    assert green[0, 0] == pytest.approx(198 / 479 * 255, abs=2)
    assert green[-1, 0] == pytest.approx(222 / 479 * 255, abs=2)


@pytest.mark.parametrize(
    "box",
    [
        (-10, -4, 60, 10),
        (600, 470, 680, 500),
        (0, 0, 640, 480),
        (639, 479, 640, 480),
        (700, 500, 800, 520),
        (5, 5, 5, 5),
    ],
)
def test_a_box_at_or_past_the_border_still_gives_a_crop(box: tuple[float, float, float, float]) -> None:
    """The original's padding went negative there: an empty crop, and the whole request failed."""
    image = gradient(480, 640)
    for crops in (geometry.crop(image, boxes(box)), geometry.deskew(image, boxes(box))[:1]):
        assert crops.shape == (1, 3, 24, 94)
        assert np.isfinite(crops).all()


@pytest.mark.parametrize("cut", [geometry.crop, geometry.deskew])
def test_no_boxes_give_no_crops(cut: Callable[[geometry.Image, geometry.Floats], geometry.Floats]) -> None:
    assert cut(gradient(10, 10), np.empty((0, 4), np.float32)).shape == (0, 3, 24, 94)


@pytest.mark.parametrize("box", [(100, 100, 500, 300), (100, 100, 160, 140), (200, 50, 250, 220)])
def test_deskewed_crops_follow_a_slope_to_either_side(box: tuple[float, float, float, float]) -> None:
    """The rows that a crop's pixels come from are told by an image that is brighter from row to row."""
    falling, rising = geometry.deskew(gradient(480, 640), boxes(box))
    width, height = box[2] - box[0], box[3] - box[1]
    slope = geometry.SKEW_SHARE * (height - geometry.PLATE_RATIO * width) * (1 + 2 * geometry.CROP_MARGIN_Y)
    for crop, direction in ((falling, 1), (rising, -1)):
        source = (crop[1] * 128 + 127.5) / 255 * 479
        moved = source[:, -2] - source[:, 1]
        np.testing.assert_allclose(moved[3:-3], direction * slope * 91 / 94, atol=3)
        band = height * (1 + 2 * geometry.CROP_MARGIN_Y) - slope
        np.testing.assert_allclose(source[20] - source[3], band * 17 / 24, atol=3)
        # Columns stay where they are.
        columns = crop[0] - crop[0].mean(axis=0)
        assert np.abs(columns).max() < 2 / 128


@pytest.mark.parametrize("width", [40, 90, 400])
def test_a_level_plate_stays_as_it_is(width: int) -> None:
    image = np.asarray(np.random.default_rng(1).integers(0, 255, (480, 640, 3)), np.uint8)
    image = np.asarray(cv2.GaussianBlur(image, (0, 0), 4), np.uint8)
    box = boxes((100, 100, 100 + width, 100 + width * geometry.PLATE_RATIO))
    (crop,) = geometry.crop(image, box)
    for level in geometry.deskew(image, box):
        np.testing.assert_allclose(level, crop, atol=6 / 128)


def test_a_large_picture_is_averaged_not_sampled() -> None:
    """Every eighth column is white: sampling single pixels would give stripes, averaging gives an even grey."""
    image = np.zeros((1024, 8192, 3), np.uint8)
    image[:, ::8] = 255
    boxed, _ = geometry.letterbox(image, 640)
    inside = boxed[16:64, 8:-8]
    assert cv2.meanStdDev(inside)[1].max() < 40

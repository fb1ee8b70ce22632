"""Drawing in millimetres."""

import numpy as np
import pytest

from nets.data.canvas import Canvas, rounded_rectangle

BLACK = (0, 0, 0)


def white(height: int = 40, width: int = 60) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    return np.full((height, width, 3), 255, np.uint8)


def test_millimetres_become_pixels_by_scale_and_origin() -> None:
    canvas = Canvas(white(), scale=2.0, origin=(10.0, 20.0))

    canvas.polygon([(0, 0), (5, 0), (5, 4), (0, 4)], BLACK)

    rows, columns = np.nonzero(canvas.image[..., 0] < 128)
    # OpenCV's polygons hold their outline: up to a pixel more on each side.
    assert (columns.min(), columns.max()) == pytest.approx((10, 19), abs=1)
    assert (rows.min(), rows.max()) == pytest.approx((20, 27), abs=1)


def test_a_disc_is_about_its_centre() -> None:
    canvas = Canvas(white(), scale=1.0)

    canvas.disc(30.0, 20.0, 8.0, BLACK)

    rows, columns = np.nonzero(canvas.image[..., 0] < 128)
    assert columns.mean() + 0.5 == pytest.approx(30, abs=0.3)
    assert rows.mean() + 0.5 == pytest.approx(20, abs=0.3)
    assert len(rows) == pytest.approx(np.pi * 64, rel=0.1)


@pytest.mark.parametrize("width", [1.0, 2.0, 3.0, 4.0, 5.0])
def test_a_line_is_as_wide_as_asked(width: float) -> None:
    canvas = Canvas(white(), scale=3.0)

    canvas.polyline([(-5, 6), (25, 6)], width, BLACK)

    drawn = np.sum(255 - canvas.image[:, 30, 0].astype(int)) / 255
    assert drawn == pytest.approx(3 * width, abs=1.2)


def test_a_part_cuts_what_is_drawn_beyond_it() -> None:
    canvas = Canvas(white(), scale=1.0)

    canvas.part(10, 10, 5, 5).polygon([(-50, -50), (50, -50), (50, 50), (-50, 50)], BLACK)

    assert np.count_nonzero(canvas.image[..., 0] == 0) == 25
    assert np.all(canvas.image[10:15, 10:15] == 0)


def test_a_part_beyond_the_border_is_cut_there() -> None:
    canvas = Canvas(white(), scale=1.0)

    assert canvas.part(-3, -3, 5, 5).image.shape == (2, 2, 3)
    assert canvas.part(-9, -9, 5, 5).image.size == 0


def test_a_rounded_rectangle_keeps_its_sides_and_loses_its_corners() -> None:
    corners = rounded_rectangle(0, 0, 20, 10, radius=4)

    assert corners.min(axis=0).tolist() == pytest.approx([0, 0])
    assert corners.max(axis=0).tolist() == pytest.approx([20, 10])
    assert np.all(np.linalg.norm(corners - (0, 0), axis=1) > 1.5)

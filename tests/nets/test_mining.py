import numpy as np
import pytest

pytest.importorskip("torch")

from nets import mining
from nets.data.photos import Photo, box_corners
from nets.mining import find_lookalikes, touches
from nets.yolov5 import YOLOv5
from plates.geometry import Floats, Image

pytestmark = pytest.mark.torch

PLATE = np.array([100, 100, 200, 120], np.float32)


def photo(*boxes: Floats) -> Photo:
    corners = [box_corners(box.tolist()) for box in boxes]
    return Photo(np.zeros((320, 640, 3), np.uint8), np.array(corners, np.float32).reshape(-1, 4, 2), True)


def test_what_is_seen_beside_the_plates_is_a_lookalike(monkeypatch: pytest.MonkeyPatch) -> None:
    def detector(images: Image) -> Floats:
        assert images.shape == (1, 320, 640, 3)
        on_the_plate, elsewhere = (150, 110, 100, 20, 0.9, 1), (400, 50, 80, 20, 0.5, 1)
        unsure = (400, 250, 80, 20, 0.1, 1)
        return np.array([[on_the_plate, elsewhere, unsure]], np.float32)

    monkeypatch.setattr(mining, "as_detector", lambda network: detector)
    found = find_lookalikes(YOLOv5(), [photo(PLATE), photo(PLATE, np.array([360, 40, 440, 60], np.float32)), photo()])
    assert [number for number, _ in found] == [0, 2, 2]
    np.testing.assert_allclose(found[0][1], [360, 40, 440, 60])


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((100, 100, 200, 120), True),
        ((150, 100, 350, 120), True),
        ((180, 100, 380, 120), False),
        ((300, 100, 400, 120), False),
        ((50, 50, 300, 180), False),
    ],
)
def test_a_bad_box_of_a_plate_is_no_lookalike(box: tuple[float, ...], expected: bool) -> None:
    assert touches(np.array(box, np.float32), PLATE[None]) == expected


def test_nothing_is_touched_where_there_are_no_plates() -> None:
    assert not touches(PLATE, np.empty((0, 4), np.float32))

"""Counting plates far away in large frames."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from nets import evaluate_far
from nets.data import index
from nets.evaluate_far import Frame
from nets.held_out import Photo
from nets.metrics import Label
from plates.geometry import Floats, Image
from plates.pipeline import Options


@pytest.fixture
def photos(tmp_path: Path) -> list[Photo]:
    """A plate, white, of 200 pixels in a grey photo; another photo without one."""
    scene = np.full((300, 400, 3), 128, np.uint8)
    scene[100:140, 100:300] = 255
    cv2.imwrite(str(tmp_path / "scene.png"), scene)
    cv2.imwrite(str(tmp_path / "ground.png"), np.full((500, 900, 3), 40, np.uint8))
    label = Label((100, 100, 300, 140), "A123BC77")
    return [
        Photo(tmp_path / "scene.png", (label,), complete=False),
        Photo(tmp_path / "ground.png", (), complete=True),
    ]


def test_scenes_lie_reduced_in_large_frames(photos: list[Photo]) -> None:
    made = evaluate_far.frames(photos * 20)
    assert len(made) == 20
    for frame in made:
        assert frame.image.shape == (1080, 1920, 3)
        width = frame.box[2] - frame.box[0]
        assert 16 <= width <= 64
        left, top, right, bottom = np.rint(frame.box).astype(int)
        assert frame.image[(top + bottom) // 2, (left + right) // 2].min() > 230
        assert frame.image[0, 0].max() in (40, 128)


def test_what_is_found_is_counted_by_width() -> None:
    frames = [
        Frame(np.zeros((1080, 1920, 3), np.uint8), np.array([960, 540, 960 + width, 550], np.float32))
        for width in (18.0, 40.0, 60.0)
    ]

    def detector(image: Image) -> Floats:
        """Find a plate at the middle, 40 pixels wide, where it is looked at closely."""
        if image.shape[2] < 1000:
            return np.zeros((1, 0, 6), np.float32)
        scale = image.shape[2] / 1920
        middle = np.array([[[980, 545, 40, 10, 1, 1]]]) * (scale, scale, scale, scale, 1, 1)
        padding = (image.shape[1] - 1080 * scale) / 2
        return np.asarray(middle + np.array((0, padding, 0, 0, 0, 0)), np.float32)

    def reader(crops: Floats) -> Floats:
        return np.zeros((len(crops), 23, 18), np.float32)

    counted = {"far": Options(input_size=1280, blank_detection_threshold=0), "near": Options(closer_look_size=0)}
    grid = evaluate_far.count(frames, detector, reader, counted)
    assert [row[:5] for row in grid.rows] == [
        ("far", "0 of 1", "0 of 0", "1 of 1", "1 of 1"),
        ("near", "0 of 1", "0 of 0", "0 of 1", "0 of 1"),
    ]


def test_the_served_options_are_among_what_is_compared() -> None:
    served = Options(closer_look_size=1024)
    assert served in evaluate_far.variants(served).values()


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda root: False)
    assert evaluate_far.main([]) == 1
    assert "nothing to evaluate on" in capsys.readouterr().out

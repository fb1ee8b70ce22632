"""The GPU's geometry, run on the CPU, beside the numpy one."""

import numpy as np
import pytest

from plates import contract, geometry, pipeline
from plates.pipeline import Options

torch = pytest.importorskip("torch")

from plates import torch_geometry  # noqa: E402 - needs PyTorch

pytestmark = pytest.mark.torch

PIXEL_ERROR = 2
BOX_ERROR = 0.5


def photo(height: int, width: int, seed: int = 0) -> geometry.Image:
    """Return an image with structure at every scale: noise over a gradient."""
    rng = np.random.default_rng(seed)
    slope = np.linspace(0, 120, width)[None, :, None] + np.linspace(0, 60, height)[:, None, None]
    return np.asarray(np.clip(slope + rng.integers(0, 120, (height, width, 3)), 0, 255), np.uint8)


def largest_difference(left: geometry.Image, right: geometry.Image) -> int:
    return int(np.abs(left.astype(int) - right.astype(int)).max())


@pytest.mark.parametrize(
    ("height", "width"), [(1080, 1920), (720, 1280), (481, 639), (100, 60), (1, 1), (200, 3000), (1279, 1280)]
)
@pytest.mark.parametrize("size", [640, 192])
def test_letterboxes_are_equal(height: int, width: int, size: int) -> None:
    image = photo(height, width)
    expected, place = geometry.letterbox(image, size)
    boxed, same_place = torch_geometry.letterbox(torch.from_numpy(image), size)
    assert same_place == place
    assert boxed.shape == expected.shape
    assert boxed.is_contiguous()
    assert largest_difference(boxed.numpy(), expected) <= PIXEL_ERROR


@pytest.mark.parametrize("lines", [1, 2])
def test_crops_are_equal(lines: int) -> None:
    image = photo(600, 900)
    boxes = np.array(
        [(10, 20, 110, 45), (300.4, 200.7, 700.2, 290.1), (-30, -5, 60, 30), (850, 560, 960, 640), (5, 5, 5.5, 5.2)],
        np.float32,
    )
    boxes = np.concatenate([boxes, [(100, 100, 400, 110)]]).astype(np.float32)  # wider than a crop, and lower
    crops = torch_geometry.crop(torch.from_numpy(image), boxes, lines)
    assert crops.is_contiguous()
    assert crops.dtype == torch.float32
    np.testing.assert_allclose(crops.numpy(), geometry.crop(image, boxes, lines), atol=PIXEL_ERROR / 128)


def test_deskewed_crops_are_equal() -> None:
    image = photo(600, 900)
    boxes = np.array(
        [(10, 20, 110, 75), (300.4, 200.7, 700.2, 390.1), (-30, -5, 60, 90), (850, 560, 960, 640), (5, 5, 5.5, 5.2)],
        np.float32,
    )
    crops = torch_geometry.deskew(torch.from_numpy(image), boxes)
    assert crops.is_contiguous()
    assert crops.dtype == torch.float32
    np.testing.assert_allclose(crops.numpy(), geometry.deskew(image, boxes), atol=PIXEL_ERROR / 128)


def test_no_boxes_give_no_crops() -> None:
    for cut in (torch_geometry.crop, torch_geometry.deskew):
        crops = cut(torch.from_numpy(photo(50, 50)), np.empty((0, 4), np.float32))
        assert crops.shape == (0, 3, contract.CROP_HEIGHT, contract.CROP_WIDTH)


def crowd(rng: np.random.Generator, count: int) -> tuple[geometry.Floats, geometry.Floats]:
    """Return boxes of plates, about five answers of a detector to each, parts of plates among them."""
    centres = rng.uniform(0, 1000, (count // 5 + 1, 2)).repeat(5, axis=0)[:count] + rng.normal(0, 6, (count, 2))
    sizes = rng.uniform((20, 6), (140, 40), (count, 2))
    boxes = np.hstack([centres - sizes / 2, centres + sizes / 2]).astype(np.float32)
    return boxes, rng.random(count).astype(np.float32)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("threshold", "limit"), [(0.45, 300), (0.1, 300), (0.9, 7)])
def test_suppression_keeps_the_same_boxes(seed: int, threshold: float, limit: int) -> None:
    boxes, scores = crowd(np.random.default_rng(seed), 200)
    kept = torch_geometry.suppress(torch.from_numpy(boxes), torch.from_numpy(scores), threshold, limit)
    assert kept.tolist() == geometry.suppress(boxes, scores, threshold, limit).tolist()


def test_a_long_chain_of_boxes_settles_as_one_by_one() -> None:
    """Each box covers the next one only, so that whether one stays hangs on all before it."""
    steps = np.arange(60, dtype=np.float32)[:, None] * 3
    boxes = np.hstack([steps, 0 * steps, steps + 10, 0 * steps + 10])
    scores = np.linspace(1, 0.1, 60, dtype=np.float32)
    kept = torch_geometry.suppress(torch.from_numpy(boxes), torch.from_numpy(scores), 0.45, 300)
    assert kept.tolist() == geometry.suppress(boxes, scores, 0.45, 300).tolist()
    assert 1 < len(kept) < 60


@pytest.mark.parametrize("limit", [1000, 10])
def test_candidates_are_the_same(limit: int) -> None:
    rng = np.random.default_rng(5)
    _, place = geometry.letterbox(photo(700, 1100), 640)
    rows = np.hstack(
        [rng.uniform(-20, 660, (500, 2)), rng.uniform(0.1, 90, (500, 2)), rng.uniform(0, 1, (500, 2))]
    ).astype(np.float32)
    expected_boxes, expected_scores = geometry.candidates(rows, place, 700, 1100, 0.3, limit)
    boxes, scores = torch_geometry.candidates(torch.from_numpy(rows), place, 700, 1100, 0.3, limit)
    order = np.argsort(-expected_scores, kind="stable")
    np.testing.assert_allclose(scores.numpy(), expected_scores[order])
    np.testing.assert_allclose(boxes.numpy(), expected_boxes[order], atol=BOX_ERROR)


def test_the_whole_pipeline_gives_the_same_plates() -> None:
    image = photo(720, 1280)
    rng = np.random.default_rng(9)
    spans = ((40, 330), (30, 90), (0, 1))
    rows = np.concatenate([rng.uniform(*span, (1, 40, 2)) for span in spans], axis=2)
    logits = rng.normal(0, 4, (80, *contract.LPRNET.outputs[0].shape)).astype(np.float32)

    def answers(crops: object) -> geometry.Floats:
        return logits[: len(crops)]  # type: ignore[arg-type]

    options = Options(second_look_size=0, detection_threshold=0.4, blank_detection_threshold=0, text_threshold=0)
    expected = pipeline.recognize(image, lambda _: rows.astype(np.float32), answers, options)
    found = pipeline.recognize(
        torch.from_numpy(image), lambda _: torch.from_numpy(rows).float(), answers, options, torch_geometry
    )
    assert len(expected.texts) > 3
    assert found.texts == expected.texts
    np.testing.assert_allclose(found.detections.boxes, expected.detections.boxes, atol=BOX_ERROR)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)

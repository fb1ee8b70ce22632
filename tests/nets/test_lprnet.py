"""LPRNet and the reader made of it."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from plates import geometry
from plates.alphabet import CLASSES
from plates.contract import CROP_HEIGHT, CROP_WIDTH, TIME_STEPS
from plates.decoding import decode

pytest.importorskip("torch")

import torch

from nets.data import index, readings
from nets.lprnet import LPRNet, StridedChannelPool
from nets.reader import Reader, load_lprnet, load_reader, load_stn, save_reader

pytestmark = pytest.mark.torch

UPSTREAM = index.ROOT.parent / "upstream"
needs_upstream = pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the original's checkpoints are not there")
needs_photos = pytest.mark.skipif(not index.available(), reason="the labelled photos are not there")


def crops(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 3, CROP_HEIGHT, CROP_WIDTH, generator=torch.Generator().manual_seed(seed))


def network(seed: int = 0) -> LPRNet:
    torch.manual_seed(seed)
    return LPRNet().eval()


def original_reader() -> Reader:
    reader = Reader()
    for name in ("stn", "lprnet"):
        checkpoint = torch.load(UPSTREAM / f"{name}.pth", map_location="cpu", weights_only=True)
        getattr(reader, name).load_state_dict(checkpoint["net_state_dict"], strict=True)
    return reader.eval()


def test_logits_have_a_row_for_each_class_and_a_column_for_each_step() -> None:
    with torch.no_grad():
        logits = network()(crops(2))

    assert logits.shape == (2, CLASSES, TIME_STEPS)
    assert logits.dtype == torch.float32


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("stride", [2, 4])
def test_the_pooling_equals_three_dimensional_pooling(stride: int, *, training: bool) -> None:
    features = torch.randn(2, 64, 20, 44, generator=torch.Generator().manual_seed(stride), requires_grad=True)
    copy = features.detach().clone().requires_grad_()
    pool = StridedChannelPool(stride).train(training)

    pooled = pool(features)
    expected = torch.nn.MaxPool3d((1, 3, 3), stride=(stride, 1, 2))(copy)
    pooled.square().sum().backward()
    expected.square().sum().backward()

    assert torch.equal(pooled, expected)
    assert features.grad is not None
    assert copy.grad is not None
    assert torch.equal(features.grad, copy.grad)


def test_the_context_of_the_third_output_is_a_mean_over_4_by_10() -> None:
    features = torch.randn(1, 256, 18, 44)

    pooled = network()._context_pools[13](features)

    expected = torch.nn.functional.avg_pool2d(features, (4, 10), stride=(4, 2))
    assert torch.allclose(pooled, expected, atol=1e-6)


def test_a_plate_reads_the_same_alone_and_among_others() -> None:
    lprnet = network()
    batch = crops(8)
    batch[3] *= 10  # A neighbour that a normalisation over the batch would let through.

    with torch.no_grad():
        together = lprnet(batch)
        alone = torch.cat([lprnet(crop[None]) for crop in batch])

    assert torch.allclose(together, alone, atol=1e-4)


def test_a_black_crop_gives_finite_logits() -> None:
    with torch.no_grad():
        logits = network()(torch.zeros(1, 3, CROP_HEIGHT, CROP_WIDTH))

    assert torch.isfinite(logits).all()


def test_saved_weights_load_apart_and_together(tmp_path: Path) -> None:
    torch.manual_seed(1)
    reader = Reader().eval()
    save_reader(reader, tmp_path)
    batch = crops(2)

    with torch.no_grad():
        expected = reader(batch)
        together = load_reader(tmp_path)(batch)
        apart = load_lprnet(tmp_path / "lprnet.safetensors")(load_stn(tmp_path / "stn.safetensors")(batch))

    assert torch.equal(together, expected)
    assert torch.equal(apart, expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lprnet.safetensors", "stn.safetensors"]


@needs_upstream
@needs_photos
def test_the_originals_checkpoints_load_and_read() -> None:
    reader = original_reader()
    photos = [image for image in index.load() if image.fold == index.HELD_OUT_FOLD and image.kind == "scene"]
    held_out = readings.held_out(photos, jitter=False)

    with torch.no_grad():
        texts, _ = decode(reader(torch.from_numpy(held_out.crops)).numpy())

    right = sum(text == expected for text, expected in zip(texts, held_out.texts, strict=True))
    assert right >= 0.9 * len(texts)


@needs_upstream
def test_the_originals_checkpoints_read_the_originals_picture() -> None:
    picture = cv2.imread(str(UPSTREAM / "car.jpg"))
    assert picture is not None
    van = np.array([(95, 331, 131, 343)], np.float32)

    with torch.no_grad():
        texts, _ = decode(
            original_reader()(torch.from_numpy(geometry.crop(np.asarray(picture, np.uint8), van))).numpy()
        )

    assert texts == ["B840OK197"]


@needs_photos
def test_the_shipped_weights_read_photos_that_they_were_not_trained_on() -> None:
    reader = load_reader()
    photos = [image for image in index.load() if image.fold == index.HELD_OUT_FOLD and image.kind == "scene"]
    held_out = readings.held_out(photos, jitter=True)

    with torch.no_grad():
        texts, _ = decode(reader(torch.from_numpy(held_out.crops)).numpy())

    right = sum(text == expected for text, expected in zip(texts, held_out.texts, strict=True))
    assert right >= 0.88 * len(texts)

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from nets.yolov5 import ANCHORS, STRIDES, DetectorGraph, YOLOv5, load_detector, save_detector

pytestmark = pytest.mark.torch

BATCH_NORM = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")

LAYERS = {
    **dict.fromkeys((0, 1, 3, 5, 7, 10, 14, 18, 21), "conv"),
    9: "sppf",
    **dict.fromkeys((2, 8, 13, 17, 20, 23), "c3 x1"),
    4: "c3 x2",
    6: "c3 x3",
}
"""YOLOv5n and s, v6: what stands at each number; 11, 12, 15, 16, 19 and 22 have no weights, 24 is the heads."""


def convolution(prefix: str) -> Iterator[str]:
    yield f"{prefix}.conv.weight"
    for name in BATCH_NORM:
        yield f"{prefix}.bn.{name}"


def original_names() -> Iterator[str]:
    for number, kind in LAYERS.items():
        prefix = f"model.{number}"
        if kind == "conv":
            yield from convolution(prefix)
            continue
        for part in ("cv1", "cv2", "cv3") if kind.startswith("c3") else ("cv1", "cv2"):
            yield from convolution(f"{prefix}.{part}")
        for repeat in range(int(kind[-1]) if kind.startswith("c3") else 0):
            for part in ("cv1", "cv2"):
                yield from convolution(f"{prefix}.m.{repeat}.{part}")
    yield "model.24.anchors"
    for head in range(3):
        yield f"model.24.m.{head}.weight"
        yield f"model.24.m.{head}.bias"


def test_parameters_have_the_names_of_the_original() -> None:
    assert set(YOLOv5().state_dict()) == set(original_names())


@pytest.mark.parametrize(("width", "parameters"), [(0.25, 1_872_157), (0.5, 7_235_389)])
def test_n_and_s_have_as_many_parameters_as_published(width: float, parameters: int) -> None:
    network = YOLOv5(0.33, width, classes=80)
    assert sum(parameter.numel() for parameter in network.parameters()) == parameters


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("model.0.conv.weight", (16, 3, 6, 6)),
        ("model.2.cv1.conv.weight", (16, 32, 1, 1)),
        ("model.2.m.0.cv2.conv.weight", (16, 16, 3, 3)),
        ("model.9.cv2.conv.weight", (256, 512, 1, 1)),
        ("model.13.cv2.conv.weight", (64, 256, 1, 1)),
        ("model.23.cv3.conv.weight", (256, 256, 1, 1)),
        ("model.24.m.2.weight", (18, 256, 1, 1)),
        ("model.24.anchors", (3, 3, 2)),
    ],
)
def test_parameters_have_the_shapes_of_the_original(name: str, shape: tuple[int, ...]) -> None:
    assert tuple(YOLOv5().state_dict()[name].shape) == shape


def test_batch_normalisation_has_the_constants_of_the_original() -> None:
    norms = [module for module in YOLOv5().modules() if isinstance(module, torch.nn.BatchNorm2d)]
    assert {(norm.eps, norm.momentum) for norm in norms} == {(1e-3, 0.03)}


@pytest.mark.parametrize(("height", "width"), [(64, 96), (96, 64)])
def test_heads_have_a_row_per_anchor_and_cell(height: int, width: int) -> None:
    network = YOLOv5().eval()
    with torch.inference_mode():
        heads = network(torch.zeros(2, 3, height, width))
        rows = network.decode(heads)
    assert [tuple(head.shape) for head in heads] == [(2, 3, height // s, width // s, 6) for s in STRIDES]
    assert rows.shape == (2, sum(3 * (height // s) * (width // s) for s in STRIDES), 6)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_a_cell_is_decoded_as_computed_by_hand() -> None:
    heads = [torch.zeros(1, 3, 64 // s, 96 // s, 6) for s in STRIDES]
    heads[1][0, 2, 1, 4] = torch.tensor([0.5, -0.5, 1.0, -1.0, 2.0, 3.0])
    rows = YOLOv5().decode(heads)[0]
    first_head = 3 * 8 * 12
    cell = first_head + (2 * 4 + 1) * 6 + 4
    width, height = ANCHORS[1][2]
    expected = [
        (sigmoid(0.5) * 2 - 0.5 + 4) * 16,
        (sigmoid(-0.5) * 2 - 0.5 + 1) * 16,
        (sigmoid(1.0) * 2) ** 2 * width,
        (sigmoid(-1.0) * 2) ** 2 * height,
        sigmoid(2.0),
        sigmoid(3.0),
    ]
    torch.testing.assert_close(rows[cell], torch.tensor(expected))
    # All other outputs are 0: boxes of the anchors' size about their cells' centres.
    torch.testing.assert_close(rows[0], torch.tensor([4.0, 4.0, *ANCHORS[0][0], 0.5, 0.5]))


def lively_network() -> YOLOv5:
    """A network whose normalisations have seen something, so that fusing them is no trifle."""
    torch.manual_seed(0)
    network = YOLOv5().train()
    with torch.no_grad():
        network(torch.rand(4, 3, 64, 64))
    return network.eval()


def test_the_deployed_graph_equals_the_network_on_rgb_between_0_and_1() -> None:
    network = lively_network()
    images = torch.randint(0, 256, (2, 64, 96, 3), dtype=torch.uint8)
    with torch.inference_mode():
        rgb = images.flip(3).permute(0, 3, 1, 2).float() / 255
        expected = network.decode(network(rgb))
        found = DetectorGraph(network)(images)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_an_image_is_answered_alike_alone_and_in_a_batch() -> None:
    graph = DetectorGraph(lively_network())
    images = torch.randint(0, 256, (3, 64, 96, 3), dtype=torch.uint8)
    with torch.inference_mode():
        torch.testing.assert_close(graph(images)[1:2], graph(images[1:2]), rtol=1e-4, atol=1e-4)


def test_weights_come_back_with_their_structure(tmp_path: Path) -> None:
    network = YOLOv5(depth=0.67, width=0.25, classes=2)
    save_detector(network, tmp_path / "detector.safetensors")
    loaded = load_detector(tmp_path / "detector.safetensors")
    assert (loaded.depth, loaded.width, loaded.classes) == (0.67, 0.25, 2)
    assert not loaded.training
    for name, value in network.state_dict().items():
        torch.testing.assert_close(loaded.state_dict()[name], value, rtol=0, atol=0)

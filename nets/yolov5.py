"""YOLOv5, version 6 of its structure: C3 blocks, SPPF, a PANet neck and three anchor-based heads.

Modules are numbered and named as in the original (ultralytics/yolov5 v6.x), so that its state_dicts load strictly.
The network takes RGB, float 0 to 1, (batch, 3, height, width) with sides that are multiples of 32;
`DetectorGraph` is the form that is deployed and takes what a camera's decoder gives: BGR, uint8, rows first.
"""

import math
from pathlib import Path
from typing import Any, Final, cast

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from nets.data.index import HELD_OUT_KEY

STRIDES: Final = (8, 16, 32)
"""Pixels of the image per cell of each head's grid."""

ANCHORS: Final = (
    ((20.0, 7.0), (36.0, 10.0), (34.0, 20.0)),
    ((66.0, 17.0), (104.0, 26.0), (80.0, 44.0)),
    ((164.0, 40.0), (290.0, 72.0), (200.0, 104.0)),
)
"""Width and height in pixels of each head's anchors. A plate is 520 x 112 mm, 4.6 : 1, seen from the front; the third
of each head is for plates seen from the side or on two lines."""


class Conv(nn.Module):
    """Convolution, batch normalisation, SiLU."""

    def __init__(self, c_in: int, c_out: int, kernel: int = 1, stride: int = 1, padding: int | None = None) -> None:
        super().__init__()
        pad = kernel // 2 if padding is None else padding
        self.conv = nn.Conv2d(c_in, c_out, kernel, stride, pad, bias=False)
        self.bn: nn.Module = nn.BatchNorm2d(c_out, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        """(b, c_in, h, w) -> (b, c_out, h / stride, w / stride)."""
        return cast("Tensor", self.act(self.bn(self.conv(x))))

    def fuse(self) -> None:
        """Fold the normalisation into the convolution (evaluation only)."""
        if isinstance(self.bn, nn.BatchNorm2d):
            self.conv = fuse_conv_bn_eval(self.conv, self.bn)
            self.bn = nn.Identity()


class Bottleneck(nn.Module):
    """1x1 and 3x3 convolution, with a short cut or without."""

    def __init__(self, channels: int, shortcut: bool) -> None:
        super().__init__()
        self.cv1 = Conv(channels, channels, 1)
        self.cv2 = Conv(channels, channels, 3)
        self.add = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """Keep the shape."""
        y: Tensor = self.cv2(self.cv1(x))
        return x + y if self.add else y


class C3(nn.Module):
    """Cross-stage partial block with three convolutions around its bottlenecks."""

    def __init__(self, c_in: int, c_out: int, repeats: int, shortcut: bool = True) -> None:
        super().__init__()
        hidden = c_out // 2
        self.cv1 = Conv(c_in, hidden)
        self.cv2 = Conv(c_in, hidden)
        self.cv3 = Conv(2 * hidden, c_out)
        self.m = nn.Sequential(*(Bottleneck(hidden, shortcut) for _ in range(repeats)))

    def forward(self, x: Tensor) -> Tensor:
        """(b, c_in, h, w) -> (b, c_out, h, w)."""
        return cast("Tensor", self.cv3(torch.cat((self.m(self.cv1(x)), self.cv2(x)), 1)))


class SPPF(nn.Module):
    """Spatial pyramid pooling: three 5x5 max-poolings in a row see what 5x5, 9x9 and 13x13 ones would."""

    def __init__(self, c_in: int, c_out: int, kernel: int = 5) -> None:
        super().__init__()
        hidden = c_in // 2
        self.cv1 = Conv(c_in, hidden)
        self.cv2 = Conv(4 * hidden, c_out)
        self.m = nn.MaxPool2d(kernel, 1, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """(b, c_in, h, w) -> (b, c_out, h, w)."""
        x = self.cv1(x)
        once = self.m(x)
        twice = self.m(once)
        return cast("Tensor", self.cv2(torch.cat((x, once, twice, self.m(twice)), 1)))


class Concat(nn.Module):
    """Join feature maps along their channels."""

    def forward(self, *maps: Tensor) -> Tensor:
        """(b, c_i, h, w) ... -> (b, sum of c_i, h, w)."""
        return torch.cat(maps, 1)


class Detect(nn.Module):
    """The three heads: per anchor and cell the raw box, objectness and class scores."""

    anchors: Tensor

    def __init__(self, channels: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.outputs = 5 + classes
        strides = torch.tensor(STRIDES, dtype=torch.float32).view(-1, 1, 1)
        self.register_buffer("anchors", torch.tensor(ANCHORS) / strides)
        self.m = nn.ModuleList(nn.Conv2d(c, len(ANCHORS[0]) * self.outputs, 1) for c in channels)
        self._initialise_biases(classes)

    def forward(self, *maps: Tensor) -> list[Tensor]:
        """Return per head (b, 3, h, w, 5 + classes)."""
        heads = []
        for convolution, x in zip(self.m, maps, strict=True):
            batch, _, height, width = x.shape
            raw = convolution(x).view(batch, len(ANCHORS[0]), self.outputs, height, width)
            heads.append(raw.permute(0, 1, 3, 4, 2))
        return heads

    @torch.no_grad()
    def _initialise_biases(self, classes: int) -> None:
        """Start with few objects expected per image, so that the first steps aren't spent on unlearning them."""
        for convolution, stride in zip(self.m, STRIDES, strict=True):
            bias = cast("Tensor", convolution.bias).view(len(ANCHORS[0]), -1)
            bias[:, 4] += math.log(8 / (640 / stride) ** 2)
            bias[:, 5:] += math.log(0.6 / (classes - 0.99999))


class YOLOv5(nn.Module):
    """The detector's network.

    Args:
        depth: multiple of the number of bottlenecks (n, s: 0.33; m: 0.67; l: 1; x: 1.33).
        width: multiple of the number of channels (n: 0.25; s: 0.5; m: 0.75; l: 1; x: 1.25).
        classes: kinds of objects.
    """

    def __init__(self, depth: float = 0.33, width: float = 0.25, classes: int = 1) -> None:
        super().__init__()
        self.depth, self.width, self.classes = depth, width, classes
        c1, c2, c3, c4, c5 = (math.ceil(c * width / 8) * 8 for c in (64, 128, 256, 512, 1024))
        n3, n6, n9 = (max(round(n * depth), 1) for n in (3, 6, 9))
        self.model = nn.ModuleList(
            [
                Conv(3, c1, 6, 2, 2),  # 0: half the size
                Conv(c1, c2, 3, 2),
                C3(c2, c2, n3),
                Conv(c2, c3, 3, 2),
                C3(c3, c3, n6),  # 4: stride 8
                Conv(c3, c4, 3, 2),
                C3(c4, c4, n9),  # 6: stride 16
                Conv(c4, c5, 3, 2),
                C3(c5, c5, n3),
                SPPF(c5, c5),  # 9: stride 32
                Conv(c5, c4),  # 10: up again
                nn.Upsample(scale_factor=2.0),
                Concat(),
                C3(2 * c4, c4, n3, shortcut=False),
                Conv(c4, c3),
                nn.Upsample(scale_factor=2.0),
                Concat(),
                C3(2 * c3, c3, n3, shortcut=False),  # 17: head of stride 8
                Conv(c3, c3, 3, 2),
                Concat(),
                C3(2 * c3, c4, n3, shortcut=False),  # 20: head of stride 16
                Conv(c4, c4, 3, 2),
                Concat(),
                C3(2 * c4, c5, n3, shortcut=False),  # 23: head of stride 32
                Detect((c3, c4, c5), classes),
            ]
        )

    @property
    def detect(self) -> Detect:
        """The heads."""
        return cast("Detect", self.model[24])

    def forward(self, x: Tensor) -> list[Tensor]:
        """RGB (b, 3, h, w), 0 to 1 -> raw outputs of the three heads, see `Detect`."""
        m = self.model
        p3 = _chain(m[0:5], x)
        p4 = _chain(m[5:7], p3)
        top = _chain(m[7:11], p4)
        middle = _chain(m[13:15], m[12](m[11](top), p4))
        out3 = m[17](m[16](m[15](middle), p3))
        out4 = m[20](m[19](m[18](out3), middle))
        out5 = m[23](m[22](m[21](out4), top))
        return cast("list[Tensor]", self.detect(out3, out4, out5))

    def decode(self, heads: list[Tensor]) -> Tensor:
        """Turn raw outputs into boxes, as YOLOv5 v6 does.

        Returns:
            (b, rows, 5 + classes): x_centre, y_centre, width, height in pixels of the input, then objectness and class
            probabilities; a row per head, anchor and cell.
        """
        rows = []
        for head, anchors, stride in zip(heads, self.detect.anchors, STRIDES, strict=True):
            _, _, height, width, _ = head.shape
            xs = torch.arange(width, device=head.device, dtype=head.dtype).view(1, 1, 1, -1)
            ys = torch.arange(height, device=head.device, dtype=head.dtype).view(1, 1, -1, 1)
            p = head.sigmoid()
            x = (p[..., 0] * 2 - 0.5 + xs) * stride
            y = (p[..., 1] * 2 - 0.5 + ys) * stride
            size = (p[..., 2:4] * 2) ** 2 * (anchors * stride).view(1, -1, 1, 1, 2)
            row = torch.cat((x.unsqueeze(-1), y.unsqueeze(-1), size, p[..., 4:]), -1)
            rows.append(row.flatten(1, 3))
        return torch.cat(rows, 1)

    def fuse(self) -> "YOLOv5":
        """Fold every batch normalisation into its convolution; the network must be in evaluation mode."""
        for module in self.modules():
            if isinstance(module, Conv):
                module.fuse()
        return self


class DetectorGraph(nn.Module):
    """The deployed form: letterboxed images in, decoded boxes out.

    The colour order and the division by 255 are folded into the first convolution's weights, so that the graph begins
    with a cast and a transposition. (Its zero padding is the same in either scale.)
    """

    def __init__(self, network: YOLOv5) -> None:
        """Take over `network`, which is changed: fused, and in evaluation mode."""
        super().__init__()
        self.network = network.eval().fuse()
        stem = cast("Conv", network.model[0]).conv
        stem.weight.data = stem.weight.data.flip(1) / 255
        for parameter in network.parameters():
            parameter.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """BGR uint8 (b, h, w, 3), sides multiples of 32 -> float32 (b, rows, 6), see `YOLOv5.decode`."""
        return self.network.decode(self.network(images.permute(0, 3, 1, 2).float()))


def save_detector(network: YOLOv5, path: Path, held_out: int | None = None) -> None:
    """Write the weights with what is needed to build the network again.

    Args:
        network: the network.
        path: where to.
        held_out: the fold of the photos that it hasn't learnt from, -1: there is none; None: nobody knows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {name: str(getattr(network, name)) for name in ("depth", "width", "classes")}
    if held_out is not None:
        metadata[HELD_OUT_KEY] = str(held_out)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, path, metadata)


def load_detector(path: Path | None) -> YOLOv5:
    """Build the network with the weights of `path`, or YOLOv5n with random ones; in evaluation mode."""
    if path is None:
        return YOLOv5().eval()
    with safe_open(path, "pt") as file:
        metadata: dict[str, Any] = file.metadata()
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    network = YOLOv5(float(metadata["depth"]), float(metadata["width"]), int(metadata["classes"]))
    network.load_state_dict(weights)
    return network.eval()


def _chain(modules: nn.ModuleList, x: Tensor) -> Tensor:
    for module in modules:
        x = module(x)
    return x

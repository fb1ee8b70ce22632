"""YOLOv5's loss: complete IoU of the boxes, cross-entropy of objectness and classes.

A plate is learnt by every anchor whose width and height are within a factor of four of its own, in the cell of its
centre and in the two cells that lie nearest to the centre (Jocher et al., YOLOv5 v6). The complete IoU is that of
Zheng et al., "Distance-IoU Loss" (AAAI 2020).
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from nets.yolov5 import STRIDES, YOLOv5

ANCHOR_RATIO: Final = 4.0
"""Largest factor between a side of a plate and the same side of an anchor that learns it; what decoding can reach."""

LEVEL_WEIGHTS: Final = (4.0, 1.0, 0.4)
"""Share of each head in the objectness: there are four times fewer cells from one head to the next."""

BOX_GAIN: Final = 0.05
CLASS_GAIN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Matches:
    """Which outputs of one head learn which plate; n rows."""

    image: Tensor
    """(n,) index in the batch."""
    anchor: Tensor
    """(n,) index of the anchor."""
    row: Tensor
    """(n,) row of the grid."""
    column: Tensor
    """(n,) column of the grid."""
    box: Tensor
    """(n, 4) x_centre, y_centre, width, height in cells; the centre counts from the matched cell."""
    anchor_size: Tensor
    """(n, 2) width and height of the anchor in cells."""
    kind: Tensor
    """(n,) class."""


@dataclass(frozen=True, slots=True)
class LossParts:
    """The terms, weighted, to be watched during training."""

    box: Tensor
    objectness: Tensor
    classes: Tensor

    @property
    def total(self) -> Tensor:
        """What is minimised."""
        return self.box + self.objectness + self.classes


class DetectionLoss:
    """Loss of a batch, for one network's anchors and classes."""

    def __init__(self, network: YOLOv5) -> None:
        self.anchors = network.detect.anchors
        self.classes = network.classes

    def __call__(self, heads: list[Tensor], targets: Tensor) -> LossParts:
        """Compare raw outputs with plates.

        Args:
            heads: of `YOLOv5.forward`, each (b, 3, h, w, 5 + classes).
            targets: (n, 6) float: index in the batch, class, x_centre, y_centre, width, height in pixels. Images
                without plates have no row; n may be 0.
        """
        # The gains are those for 640 x 640; the objectness counts cells, of which smaller images have fewer.
        area = heads[0].shape[2] * heads[0].shape[3] * STRIDES[0] ** 2
        box = objectness = classes = heads[0].new_zeros((), dtype=torch.float32)
        for level, head in enumerate(heads):
            raw = head.float()
            wanted = torch.zeros_like(raw[..., 4])
            found = match(targets, self.anchors[level], STRIDES[level], head.shape[2], head.shape[3])
            if len(found.image):
                place = (found.image, found.anchor, found.row, found.column)
                chosen = raw[place]
                overlap = complete_iou(_decoded(chosen, found), found.box)
                box = box + (1 - overlap).mean()
                # A cell that two plates want is asked for the better overlap.
                order = overlap.detach().argsort()
                wanted[tuple(index[order] for index in place)] = overlap.detach()[order].clamp(0)
                if self.classes > 1:
                    one_hot = F.one_hot(found.kind, self.classes).to(raw.dtype)
                    classes = classes + F.binary_cross_entropy_with_logits(chosen[:, 5:], one_hot)
            cross_entropy = F.binary_cross_entropy_with_logits(raw[..., 4], wanted)
            objectness = objectness + cross_entropy * LEVEL_WEIGHTS[level]
        return LossParts(
            box * BOX_GAIN,
            objectness * (area / 640**2),
            classes * (CLASS_GAIN * self.classes / 80),
        )


def match(targets: Tensor, anchors: Tensor, stride: int, height: int, width: int) -> Matches:
    """Say which outputs of a head learn which plates.

    Args:
        targets: (n, 6), see `DetectionLoss`.
        anchors: (a, 2) of this head, in cells.
        stride: pixels per cell.
        height: of the grid in cells.
        width: of the grid in cells.
    """
    boxes = targets[:, 2:] / stride
    ratio = boxes[:, None, 2:] / anchors[None]
    fits = torch.maximum(ratio, 1 / ratio).amax(-1) < ANCHOR_RATIO
    plate, anchor = fits.nonzero(as_tuple=True)
    centre = boxes[plate, :2]
    # One of the cells to the left and right is nearer, one of those above and below; those outside the grid are none.
    fraction = centre % 1
    limit = torch.tensor((width, height), dtype=centre.dtype, device=centre.device)
    before = (fraction < 0.5) & (centre >= 1)
    after = (fraction > 0.5) & (centre < limit - 1)
    moves = torch.tensor(((0, 0), (-1, 0), (0, -1), (1, 0), (0, 1)), device=centre.device)
    takes = torch.stack((torch.ones_like(before[:, 0]), before[:, 0], before[:, 1], after[:, 0], after[:, 1]))
    move, chosen = takes.nonzero(as_tuple=True)
    plate, anchor, centre = plate[chosen], anchor[chosen], centre[chosen]
    cell = centre.long() + moves[move]
    column = cell[:, 0].clamp(0, width - 1)
    row = cell[:, 1].clamp(0, height - 1)
    return Matches(
        image=targets[plate, 0].long(),
        anchor=anchor,
        row=row,
        column=column,
        box=torch.cat((centre - torch.stack((column, row), 1), boxes[plate, 2:]), 1),
        anchor_size=anchors[anchor],
        kind=targets[plate, 1].long(),
    )


def _decoded(raw: Tensor, matches: Matches) -> Tensor:
    """Boxes (n, 4) of chosen outputs, in cells from the matched cell, as in `YOLOv5.decode`."""
    centre = raw[:, 0:2].sigmoid() * 2 - 0.5
    size = (raw[:, 2:4].sigmoid() * 2) ** 2 * matches.anchor_size
    return torch.cat((centre, size), 1)


def complete_iou(a: Tensor, b: Tensor, eps: float = 1e-7) -> Tensor:
    """Return the complete IoU of boxes (n, 4) pair by pair: x_centre, y_centre, width, height in any unit.

    IoU, less the distance of the centres relative to the diagonal of the box around both, less a penalty for
    different aspect ratios. Shape (n,), 1 for equal boxes, above -1.5 always.
    """
    a_low, a_high = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2
    b_low, b_high = b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    intersection = (torch.minimum(a_high, b_high) - torch.maximum(a_low, b_low)).clamp(0).prod(1)
    iou = intersection / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - intersection + eps)
    diagonal = (torch.maximum(a_high, b_high) - torch.minimum(a_low, b_low)).square().sum(1)
    distance = (a[:, :2] - b[:, :2]).square().sum(1)
    angle = torch.atan(a[:, 2] / (a[:, 3] + eps)) - torch.atan(b[:, 2] / (b[:, 3] + eps))
    aspect = 4 / math.pi**2 * angle.square()
    with torch.no_grad():
        weight = aspect / (aspect - iou + 1 + eps)
    return iou - distance / (diagonal + eps) - weight * aspect

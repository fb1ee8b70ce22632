"""`plates.geometry` for images that lie on a GPU: the same functions on PyTorch tensors, which stay on their device.

Imported only where PyTorch is installed and a model's instance has a GPU. Tests hold it equal to the numpy one: boxes
to half a pixel, crops to 2/255.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from plates import geometry
from plates.contract import CROP_HEIGHT, CROP_WIDTH
from plates.geometry import Floats, Letterbox


def letterbox(image: Tensor, size: int) -> tuple[Tensor, Letterbox]:
    """Scale and pad an image (h, w, 3) uint8; see `geometry.letterbox`."""
    height, width = image.shape[:2]
    place = geometry.Place.of(height, width, size)
    canvas = image.new_full((place.height, place.width, 3), geometry.LETTERBOX_GREY)
    canvas[place.rows, place.columns] = resize(image, place.scaled_height, place.scaled_width, area=place.shrinks)
    return canvas, place.letterbox


def candidates(
    rows: Tensor, letterbox: Letterbox, height: int, width: int, threshold: float, limit: int
) -> tuple[Tensor, Tensor]:
    """Take the likely plates from the detector's output (n, 6); see `geometry.candidates`."""
    scores, order = (rows[:, 4] * rows[:, 5]).topk(min(limit, len(rows)))
    likely = scores >= threshold
    rows, scores = rows[order[likely]], scores[likely]
    centres, halves = rows[:, 0:2], rows[:, 2:4] / 2
    pad = rows.new_tensor([letterbox.pad_x, letterbox.pad_y] * 2)
    scale = rows.new_tensor([letterbox.scale_x, letterbox.scale_y] * 2)
    border = rows.new_tensor([width, height] * 2)
    boxes = ((torch.hstack([centres - halves, centres + halves]) - pad) / scale).clamp(min=0).minimum(border)
    visible = (boxes[:, 2:] - boxes[:, :2] >= 1).all(dim=1)
    return boxes[visible], scores[visible]


def suppress(boxes: Tensor, scores: Tensor, iou_threshold: float, limit: int) -> Tensor:
    """Return the indices that greedy non-maximum suppression keeps, best score first; see `geometry.suppress`.

    A box stays when no better one that stays takes its place. Here that rule is applied to all boxes at once, over and
    over until nothing changes: the best box is settled from the start, each round settles at least one more, and
    pictures of the world take a few rounds, where going through the boxes one by one takes a wait for the GPU each.
    """
    order = torch.argsort(scores, descending=True, stable=True)
    ranked = boxes[order]
    areas = (ranked[:, 2:] - ranked[:, :2]).prod(dim=1)
    better, worse = areas[:, None], areas[None, :]
    low = torch.maximum(ranked[:, None, :2], ranked[None, :, :2])
    high = torch.minimum(ranked[:, None, 2:], ranked[None, :, 2:])
    common = (high - low).clamp_(min=0).prod(dim=2)
    same = common > iou_threshold * (better + worse - common)
    part = (worse < geometry.PART_AREA * better) & (common > geometry.PART_INSIDE * worse)
    replaces = (same | part).triu(diagonal=1).float()
    stays = torch.ones(len(order), device=boxes.device)
    while True:
        settled = (stays @ replaces == 0).float()
        if torch.equal(settled, stays):
            return order[stays.bool()][:limit]
        stays = settled


def crop(image: Tensor, boxes: Floats, lines: int = 1) -> Tensor:
    """Cut plates out of an image (h, w, 3) uint8 for the reader: (n * lines, 3, 24, 94) float32; see `geometry.crop`.

    Args:
        image: on any device.
        boxes: (n, 4), in host memory: where to cut has to be known here.
        lines: on how many lines the plates are written, 1 or 2.
    """
    crops = image.new_empty((len(boxes), lines, CROP_HEIGHT, CROP_WIDTH, 3))
    for box, outs in zip(boxes, crops, strict=True):
        plate = image[geometry.window(box, *image.shape[:2])]
        for rows, out in zip(geometry.line_rows(plate.shape[0], lines), outs, strict=True):
            part = plate[rows]
            out.copy_(resize(part, CROP_HEIGHT, CROP_WIDTH, area=geometry.averages(*part.shape[:2])))
    return _normalised(crops.flatten(0, 1))


def deskew(image: Tensor, boxes: Floats) -> Tensor:
    """Cut plates that lie aslant out of an image (h, w, 3) uint8, level: (2 n, 3, 24, 94); see `geometry.deskew`.

    Args:
        image: on any device.
        boxes: (n, 4), in host memory.
    """
    crops = image.new_empty((len(boxes), 2, CROP_HEIGHT, CROP_WIDTH, 3))
    for box, outs in zip(boxes, crops, strict=True):
        plate = image[geometry.window(box, *image.shape[:2])]
        height, width = plate.shape[:2]
        rows = geometry.deskewed_rows(height)
        narrow = resize(plate, rows, CROP_WIDTH, area=geometry.averages(height, width))
        weights = torch.from_numpy(geometry.deskewing(height, width)).to(image.device)
        level = (weights @ narrow.permute(1, 0, 2).float()).round_().byte()
        outs.copy_(level.view(CROP_WIDTH, 2, CROP_HEIGHT, 3).permute(1, 2, 0, 3))
    return _normalised(crops.flatten(0, 1))


def _normalised(crops: Tensor) -> Tensor:
    """Turn crops (n, 24, 94, 3) uint8 into the reader's input (n, 3, 24, 94) float32."""
    return ((crops.float() - 127.5) * (1 / 128)).permute(0, 3, 1, 2).contiguous()


def join(arrays: Sequence[Tensor]) -> Tensor:
    """Return tensors one after the other."""
    return torch.cat(list(arrays))


def on_host(array: Tensor) -> Floats:
    """Return a tensor's values in host memory."""
    values: Floats = array.cpu().numpy()
    return values


def resize(image: Tensor, height: int, width: int, *, area: bool) -> Tensor:
    """Resize an image as OpenCV's INTER_AREA (only to shrink) or INTER_LINEAR does.

    Both are linear and separable: one matrix mixes rows, another columns. PyTorch's own interpolation has no averages
    over parts of pixels, and nothing is faster on a GPU than multiplying matrices.

    Args:
        image: (h, w, 3) uint8.
        height: of the result, pixels.
        width: of the result, pixels.
        area: average over areas instead of sampling between two pixels.

    Returns:
        (height, width, 3) uint8.
    """
    rows = _mixing(image.shape[0], height, area, image.device)
    columns = _mixing(image.shape[1], width, area, image.device)
    planes = image.permute(2, 0, 1).float()
    return (rows @ (planes @ columns.T)).round_().clamp_(0, 255).byte().permute(1, 2, 0)


def _mixing(source: int, target: int, area: bool, device: torch.device) -> Tensor:
    """Return the weights (target, source) that make each of `target` pixels out of `source` ones."""
    scale = source / target
    targets = torch.arange(target, dtype=torch.float64, device=device)[:, None]
    sources = torch.arange(source, dtype=torch.float64, device=device)
    if area:
        # How much of each source pixel a target pixel covers.
        covered = torch.minimum((targets + 1) * scale, sources + 1) - torch.maximum(targets * scale, sources)
        return (covered.clamp_(min=0) / scale).float()
    # A tent over the middle of the target pixel, held inside the image.
    middles = ((targets + 0.5) * scale - 0.5).clamp_(0, source - 1)
    return (1 - (sources - middles).abs()).clamp_(min=0).float()

"""Training pictures for the detector, made from labelled photos, drawn plates and things that only look like plates.

A picture is a window into a photo, a mosaic of such windows, a close-up of one plate or a whole photo; then plates and
distractors are pasted in, then the camera's faults are added. Pictures are BGR uint8, boxes float32 rows of
x_min, y_min, x_max, y_max in pixels.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nets.data import augment
from nets.data.distractors import clock, distractor
from nets.data.photos import Corners, Photo, bounds, box_corners
from nets.data.swaps import swap_plates
from plates.geometry import LETTERBOX_GREY, Floats, Image, letterbox

KEPT_SHARE: Final = 0.35
"""A plate of which less than this is in the picture is painted over, neither learnt nor held against the network."""

SWAPPED_SHARE: Final = 0.25
"""Of photos in which drawn plates take the places of the real ones."""


class SceneMaker:
    """Makes training pictures; every picture is a function of the generator it is given.

    Args:
        scenes: photos with their plates labelled.
        close_ups: photos of one plate each, with little around it.
        drawn: drawn plates, straight from the front, see `draw_plates`.
        lookalikes: where in which scene (its index) the network saw a plate and there is none: box (4,) in pixels.
    """

    def __init__(
        self,
        scenes: list[Photo],
        close_ups: list[Photo],
        drawn: list[Image],
        lookalikes: Sequence[tuple[int, Floats]] = (),
    ) -> None:
        self.scenes, self.close_ups, self.drawn, self.lookalikes = scenes, close_ups, drawn, lookalikes

    def make(self, rng: np.random.Generator, size: int) -> tuple[Image, Floats]:
        """Return a picture (size, size, 3) and the boxes (n, 4) of its plates; n may be 0."""
        kind = rng.random()
        if kind < 0.3:
            image, boxes = self._window(rng, size, size)
        elif kind < 0.7:
            image, boxes = self._mosaic(rng, size)
        elif kind < 0.82:
            image, boxes = self._close_up(rng, size)
        else:
            image, boxes = self._whole(rng, size)
        if rng.random() < 0.4:
            for _ in range(rng.integers(1, 4)):
                self._paste_distractor(rng, image, boxes)
        if rng.random() < 0.35:
            for _ in range(rng.integers(1, 3)):
                boxes = self.paste_drawn(rng, image, boxes)
        return augment.degrade(image, rng), boxes

    def paste_drawn(self, rng: np.random.Generator, image: Image, boxes: Floats) -> Floats:
        """Paste a drawn plate somewhere, unless another plate is there; return the boxes with its own."""
        patch = self.drawn[rng.integers(len(self.drawn))]
        size = image.shape[1]
        width = float(np.exp(rng.uniform(np.log(20), np.log(0.7 * size))))
        quad = augment.random_quad(rng, width, patch.shape[1] / patch.shape[0])
        extent = np.ptp(quad, axis=0)
        target = quad + (rng.uniform(0, 1, 2) * np.maximum(size - extent, 1) + extent / 2).astype(np.float32)
        box = bounds(target[None])
        if _overlap(box[0], boxes):
            return boxes
        patch = augment.relight(patch, rng, augment.brightness(image, target))
        augment.paste(image, patch, None, _frame(patch), target)
        return np.concatenate([boxes, np.clip(box, 0, size)])

    def _window(self, rng: np.random.Generator, height: int, width: int) -> tuple[Image, Floats]:
        """Look at a plate, or at something else, so that it takes an eighth of the width or up to all of it."""
        photo, centre, extent = self._subject(rng)
        target = max(14.0, width * float(np.exp(rng.uniform(np.log(0.12), np.log(0.85)))))
        # One in ten may be cut by the border.
        margin = 0.0 if rng.random() < 0.1 else min(0.45, 0.5 * target / width)
        position = rng.uniform(margin, 1 - margin, 2) * (width, height)
        return self._view(photo, rng, (height, width), float(np.clip(target / extent, 0.15, 2.5)), centre, position)

    def _subject(self, rng: np.random.Generator) -> tuple[Photo, NDArray[np.float64], float]:
        """Return a photo, where to look, and the width there of a plate or of what looks like one."""
        kind = rng.random()
        if kind < 0.3 and self.lookalikes:
            number, box = self.lookalikes[rng.integers(len(self.lookalikes))]
            return self.scenes[number], (box[:2] + box[2:]).astype(np.float64) / 2, float(box[2] - box[0])
        photo = self._scene(rng)
        anywhere = rng.uniform(0, 1, 2) * photo.image.shape[1::-1]
        if not len(photo.corners):
            return photo, anywhere, 0.15 * photo.image.shape[1]
        plate = photo.corners[rng.integers(len(photo.corners))]
        centre = anywhere if kind < 0.5 else plate.mean(0).astype(np.float64)
        return photo, centre, float(np.ptp(plate[:, 0]))

    def _scene(self, rng: np.random.Generator) -> Photo:
        """Return a photo, sometimes with drawn plates in the places of its own."""
        photo = self.scenes[rng.integers(len(self.scenes))]
        if photo.exact and len(self.drawn) and rng.random() < SWAPPED_SHARE:
            return swap_plates(photo, self.drawn, rng)
        return photo

    def _mosaic(self, rng: np.random.Generator, size: int) -> tuple[Image, Floats]:
        """Join four or nine windows."""
        image = np.empty((size, size, 3), np.uint8)
        xs, ys = _cuts(rng, size), _cuts(rng, size)
        boxes = []
        for top, bottom in pairwise(ys):
            for left, right in pairwise(xs):
                tile, found = self._window(rng, bottom - top, right - left)
                image[top:bottom, left:right] = tile
                boxes.append(found + np.array([left, top, left, top], np.float32))
        return image, np.concatenate(boxes)

    def _close_up(self, rng: np.random.Generator, size: int) -> tuple[Image, Floats]:
        """Show a plate that fills much of the picture or all of it, its borders included."""
        photo = self.close_ups[rng.integers(len(self.close_ups))]
        if photo.exact and len(self.drawn) and rng.random() < 2 * SWAPPED_SHARE:
            photo = swap_plates(photo, self.drawn, rng)
        width = np.ptp(photo.corners[0, :, 0])
        scale = rng.uniform(0.3, 1.02) * size / max(width, 1.0)
        room = max(0.03, 0.5 - 0.5 * scale * width / size)
        position = np.array((0.5, 0.5)) * size + rng.normal(0, 0.4, 2).clip(-1, 1) * (room, 0.3) * size
        image, boxes = self._view(photo, rng, (size, size), float(scale), photo.corners[0].mean(0), position)
        return image, boxes

    def _whole(self, rng: np.random.Generator, size: int) -> tuple[Image, Floats]:
        """Show a whole photo as the service's letterbox does."""
        photo = self._scene(rng)
        boxed, transform = letterbox(photo.image, size)
        scale = np.array([transform.scale_x, transform.scale_y], np.float32)
        corners = photo.corners * scale + np.array([transform.pad_x, transform.pad_y], np.float32)
        image = np.full((size, size, 3), LETTERBOX_GREY, np.uint8)
        image[: boxed.shape[0], : boxed.shape[1]] = boxed
        return image, bounds(corners)

    def _view(
        self,
        photo: Photo,
        rng: np.random.Generator,
        shape: tuple[int, int],
        scale: float,
        centre: NDArray[np.float64],
        position: NDArray[np.float64],
    ) -> tuple[Image, Floats]:
        """Scale a photo about `centre`, which comes to lie at `position`; sometimes mirrored, turned, sheared."""
        mirrored = photo.exact and rng.random() < 0.5
        turned = photo.exact and rng.random() < 0.4
        linear = np.diag([-scale if mirrored else scale, scale])
        linear[1] *= rng.uniform(0.9, 1.1)
        if turned:
            angle = np.radians(rng.normal(0, 5))
            shear = rng.normal(0, 0.08)
            rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            linear = rotation @ np.array([[1, shear], [0, 1]]) @ linear
        matrix = np.column_stack([linear, position - linear @ centre])
        image = augment.warp(photo.image, matrix, shape)
        corners = augment.transform(photo.corners, matrix)
        if mirrored:
            # Only the surroundings are mirrored: a plate's text must not run backwards.
            corners = corners[:, [1, 0, 3, 2]]
            for before, after in zip(photo.corners, corners, strict=True):
                augment.paste(image, photo.image, None, before, after, grow=0.06)
        return self._visible(image, bounds(corners))

    def _visible(self, image: Image, boxes: Floats) -> tuple[Image, Floats]:
        """Cut boxes at the border, and paint over the rest of those of which too little is left."""
        height, width = image.shape[:2]
        cut = np.clip(boxes, 0, np.array([width, height, width, height], np.float32))
        share = np.prod(cut[:, 2:] - cut[:, :2], axis=1) / np.maximum(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), 1)
        kept = (share >= KEPT_SHARE) & (cut[:, 2] - cut[:, 0] >= 8)
        for box in cut[~kept & (share > 0)]:
            _paint_over(image, box)
        return image, cut[kept]

    def _paste_distractor(self, rng: np.random.Generator, image: Image, boxes: Floats) -> None:
        """Paste something that is no plate, unless a plate is there."""
        burnt_in = rng.random() < 0.2
        patch, opacity = clock(rng) if burnt_in else distractor(rng)
        size = image.shape[1]
        width = float(np.exp(rng.uniform(np.log(24), np.log(0.6 * size))))
        aspect = patch.shape[1] / patch.shape[0]
        if burnt_in:
            corner = rng.uniform(0.01, 0.06, 2) * size
            if rng.random() < 0.5:
                corner[1] = size * rng.uniform(0.9, 0.97)
            box = (corner[0], corner[1], corner[0] + width, corner[1] + width / aspect)
            target = np.array(box_corners(box), np.float32)
        else:
            target = augment.random_quad(rng, width, aspect) + rng.uniform(0, 1, 2).astype(np.float32) * size
            patch = augment.relight(patch, rng, augment.brightness(image, target))
        if not _overlap(bounds(target[None])[0], boxes):
            augment.paste(image, patch, opacity, _frame(patch), target)


def _cuts(rng: np.random.Generator, size: int) -> list[int]:
    """Cut a length into two or three parts of about the same size."""
    parts = int(rng.integers(2, 4))
    inner = (np.arange(1, parts) + rng.uniform(-0.2, 0.2, parts - 1)) * size / parts
    return [0, *inner.astype(int).tolist(), size]


def _frame(image: Image) -> Corners:
    return np.array(box_corners((0, 0, image.shape[1], image.shape[0])), np.float32)


def _overlap(box: Floats, boxes: Floats) -> bool:
    size = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    return bool(np.any(np.all(size > 0, axis=1)))


def _paint_over(image: Image, box: Floats) -> None:
    left, top = np.floor(box[:2]).astype(int)
    right, bottom = np.ceil(box[2:]).astype(int)
    region = image[top:bottom, left:right]
    if region.size:
        region[:] = region.mean(axis=(0, 1)).astype(np.uint8)

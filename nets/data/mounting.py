"""What befalls a plate on its car before any camera sees it: frames, bent metal, snow, things in front of it.

Functions on a plate seen straight from the front, BGR uint8 (h, w, 3), that return a new image of the same size.
"""

from typing import Final

import cv2
import numpy as np

from nets.data.degrade import Degradation, Image


def frame(image: Image, rng: np.random.Generator) -> Image:
    """Put a holder's rim over the edges, some with a strip below that carries a dealer's name."""
    height, width = image.shape[:2]
    result = image.copy()
    level = rng.integers(15, 60) if rng.random() < 0.75 else rng.integers(150, 230)
    colour = (int(level),) * 3
    rim = max(1, round(height * rng.uniform(0.01, 0.045)))
    cv2.rectangle(result, (0, 0), (width - 1, height - 1), colour, 2 * rim - 1)
    if rng.random() < 0.4:
        strip = max(1, round(height * rng.uniform(0.03, 0.09)))
        result[height - strip :] = level
        marks = rng.random((strip, max(1, width // 6), 1)) < 0.3
        light = cv2.resize(marks.astype(np.float32), (width, strip), interpolation=cv2.INTER_NEAREST)[..., None]
        result[height - strip :] = (result[height - strip :] * (1 - light) + (255 - level) * light).astype(np.uint8)
    return result


def bend(image: Image, rng: np.random.Generator) -> Image:
    """Bend the metal: a wave along the plate, or a corner folded away; what turns away is darker."""
    height, width = image.shape[:2]
    x = np.linspace(-1, 1, width, dtype=np.float32)[None]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    if rng.random() < 0.6:
        phase, waves = rng.uniform(0, 2 * np.pi), rng.uniform(0.4, 1.2) * np.pi
        lift = np.sin(x * waves + phase) * np.ones_like(y)
        slope = np.cos(x * waves + phase) * np.ones_like(y)
        amount = rng.uniform(0.01, 0.06) * height
    else:
        side_x, side_y = rng.choice([-1.0, 1.0], 2)
        fold = np.clip(x * side_x + y * side_y * rng.uniform(0.1, 0.5) - rng.uniform(0.6, 0.95), 0, None)
        lift, slope = fold * side_y, -fold * 2
        amount = rng.uniform(0.1, 0.35) * height
    columns, rows = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    moved = cv2.remap(
        image,
        columns,
        (rows + lift * np.float32(amount)).astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    shade = 1 + np.clip(slope, -1, 1) * np.float32(rng.uniform(0, 0.18))
    return np.asarray(np.clip(moved * shade[..., None], 0, 255), np.uint8)


def cake(image: Image, rng: np.random.Generator) -> Image:
    """Let snow or mud lie along an edge, thick enough to hide what is below."""
    height, width = image.shape[:2]
    points = max(3, width // max(4, height // 3))
    coarse = rng.uniform(0, 1, (1, points)).astype(np.float32)
    edge = cv2.resize(coarse, (width, 1), interpolation=cv2.INTER_CUBIC)[0] * height * rng.uniform(0.05, 0.28)
    rows = np.arange(height, dtype=np.float32)[:, None]
    depth = edge[None] - (rows if rng.random() < 0.3 else height - 1 - rows)
    cover = np.clip(depth / max(1.0, 0.04 * height), 0, 1)[..., None]
    grounds = np.array(((235, 235, 235), (60, 80, 95), (95, 100, 105)), np.float32)
    texture = rng.normal(0, 8, (height, width, 1)).astype(np.float32)
    matter = np.clip(grounds[rng.integers(3)] * np.float32(rng.uniform(0.7, 1.05)) + texture, 0, 255)
    return np.asarray(image * (1 - cover) + matter * cover, np.uint8)


def obstruct(image: Image, rng: np.random.Generator) -> Image:
    """Put something small in front: a tow ball, a cable, a leaf, a sticker."""
    height, width = image.shape[:2]
    result = image.copy()
    level = int(rng.integers(10, 110) if rng.random() < 0.7 else rng.integers(140, 240))
    colour = (level, level, level)
    kind = rng.random()
    x, y = int(rng.uniform(0, width)), int(rng.uniform(0, height))
    if kind < 0.4:
        end = (int(x + rng.normal(0, 0.3) * width), 0 if rng.random() < 0.5 else height)
        cv2.line(result, (x, y), end, colour, max(1, round(height * rng.uniform(0.015, 0.06))), cv2.LINE_AA)
    elif kind < 0.75:
        axes = np.maximum(1, np.rint(height * rng.uniform(0.04, 0.16, 2))).astype(int).tolist()
        cv2.ellipse(result, (x, y), (axes[0], axes[1]), rng.uniform(0, 180), 0, 360, colour, -1, cv2.LINE_AA)
    else:
        radius = max(1, round(height * rng.uniform(0.1, 0.25)))
        cv2.circle(result, (int(rng.uniform(0.3, 0.7) * width), height + radius // 3), radius, colour, -1, cv2.LINE_AA)
    return result


PIPELINE: Final[tuple[tuple[float, Degradation], ...]] = ((0.10, bend), (0.07, obstruct), (0.06, cake), (0.25, frame))
"""Each of them and how often it happens."""


def mount(image: Image, rng: np.random.Generator) -> Image:
    """Apply a random few of them."""
    for probability, happening in PIPELINE:
        if rng.random() < probability:
            image = happening(image, rng)
    return image

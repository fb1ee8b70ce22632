"""Pictures with a plate each, all different, drawn anew by every run."""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from nets.data.plates import random_text, render_scene

_SIZES: Final = ((1280, 720), (960, 540), (1600, 900), (1024, 768))
_QUALITY: Final = [cv2.IMWRITE_JPEG_QUALITY, 92]


@dataclass(frozen=True, slots=True)
class Picture:
    """A JPEG and what is in it."""

    data: bytes
    text: str
    """Of its plate, in Latin look-alikes."""
    width: int
    height: int


def draw(seed: int) -> Picture:
    """Draw a car whose plate and size follow from the seed."""
    text = random_text(np.random.default_rng(seed))
    width, height = _SIZES[seed % len(_SIZES)]
    image, _, _ = render_scene(text, seed, width, height, 200)
    return Picture(cv2.imencode(".jpg", image, _QUALITY)[1].tobytes(), text, width, height)

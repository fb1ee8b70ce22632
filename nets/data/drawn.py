"""Drawn plates and scenes that are mixed into the photos.

They bring the kinds of plates of which there are few photos, and the look of pictures that are no photos.
"""

from typing import Final

import numpy as np

from nets.data import mounting
from nets.data.kinds import COMMON, KINDS
from nets.data.photos import LONGEST_SIDE, Photo
from nets.data.plates import random_text, render_plate, render_scene
from plates.geometry import Image

PIXELS_PER_MM: Final = 64 / 112
"""Scale of all drawn plates: their sizes tell how large they are beside each other."""


def draw_scenes(rng: np.random.Generator, count: int) -> list[Photo]:
    """Draw cars with a plate, as the examples that may be published show."""
    scenes = []
    for _ in range(count):
        width = float(np.exp(rng.uniform(np.log(50), np.log(250))))
        image, _, quad = render_scene(random_text(rng), rng, LONGEST_SIDE, round(LONGEST_SIDE * 0.6), width)
        scenes.append(Photo(image, np.array([quad], np.float32), True))
    return scenes


def draw_plates(rng: np.random.Generator, count: int) -> list[Image]:
    """Draw plates of all kinds, straight from the front, some in frames, bent or dirty; 64 pixels are 112 mm."""
    shares = np.array(list(COMMON.values()))
    # To be found, a dark plate on two lines must be known as well as a white one, however rare: half are of any kind.
    names = rng.choice(list(COMMON), count, p=0.5 * shares / shares.sum() + 0.5 / len(shares))
    return [draw_plate(rng, str(name)) for name in names]


def draw_plate(rng: np.random.Generator, kind: str) -> Image:
    """Draw a plate of a kind."""
    height = round(KINDS[kind].height * PIXELS_PER_MM)
    return mounting.mount(render_plate(random_text(rng, kind), rng, height, kind), rng)

"""The colour of a plate's ground, from its pixels."""

from typing import Final

import numpy as np

from plates.formats import Ground
from plates.geometry import Floats

_INNER: Final = (slice(None), slice(5, 19), slice(6, 88))
"""The part of a crop that is plate even where its box is loose."""

_SATURATED: Final = 0.3
_DIFFERENT: Final = 25
"""By how much the weakest channel stays behind the strongest where there is colour: as a share of it, and at least."""


def ground(crop: Floats) -> Ground:
    """Say what a plate is written on.

    The ground is what most of the plate's pixels are: darker or lighter than the middle. Dark ink stands on white and
    yellow alone and light ink on black, blue and red, so that an odd light can mix up few of them.

    Args:
        crop: (3, 24, 94), as `geometry.crop` gives it.
    """
    pixels = crop[_INNER].reshape(3, -1) * 128 + 127.5
    brightness = pixels.mean(axis=0)
    low, high = np.percentile(brightness, (5, 95))
    light = brightness > (low + high) / 2
    dark_ground = light.mean() < 0.5
    blue, green, red = pixels[:, light != dark_ground].mean(axis=1).tolist() if light.any() else (0.0, 0.0, 0.0)
    strongest = max(blue, green, red)
    saturated = strongest - min(blue, green, red) > max(_DIFFERENT, _SATURATED * strongest)
    if not dark_ground:
        return Ground.YELLOW if saturated and blue == min(blue, green, red) else Ground.WHITE
    if not saturated or green == strongest:
        return Ground.BLACK
    return Ground.BLUE if blue == strongest else Ground.RED

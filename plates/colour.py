"""The colour of a plate's ground, from its pixels, and what it says about the plate's type."""

from collections.abc import Sequence
from functools import cache
from typing import Final

import cv2
import numpy as np

from plates.ctc import Doubles
from plates.formats import PATTERNS, Ground
from plates.geometry import Floats

_INNER: Final = (slice(4, 20), slice(5, 89))
"""The part of a crop that is plate even where its box is loose."""

_NEIGHBOURHOOD: Final = np.ones((5, 5), np.uint8)
"""Wider than a stroke of the ink, in pixels of a crop."""

_THIN: Final = 0.06
"""By how much strokes must be lighter than their surroundings to be light ink on a dark ground; 0 would be no
difference, and gaps between characters are thin and light as well."""

_SATURATED: Final = 0.4
_DIFFERENT: Final = 20
"""By how much the weakest channel stays behind the strongest where there is colour: as a share of it, and at least."""

_SEEN: Final = np.array(
    (
        # seen as: white, yellow, blue, black, red
        (0.960, 0.015, 0.005, 0.015, 0.005),
        (0.200, 0.780, 0.005, 0.005, 0.010),
        (0.040, 0.005, 0.700, 0.250, 0.005),
        (0.015, 0.005, 0.010, 0.965, 0.005),
        (0.040, 0.005, 0.005, 0.230, 0.720),
    )
)
"""How often a ground (row, in the order of `Ground`) is taken for which: rounded from the 2,784 white plates of the
labelled photos and 150 degraded drawn ones of each kind. What hardly ever happened there counts 0.005, for other
cameras."""


def ground(crop: Floats) -> Ground:
    """Say what a plate is written on.

    Ink is thin: a pixel of it is about as dark as the darkest of its neighbourhood, or as light as the lightest, and
    most others are not. Dark ink stands on white and yellow alone and light ink on black, blue and red, so that an odd
    light can mix up few of them.

    Args:
        crop: (3, 24, 94), as `geometry.crop` gives it.
    """
    pixels = crop.transpose(1, 2, 0) * 128 + 127.5
    brightness = pixels.mean(axis=2)
    below = brightness[_INNER] - cv2.erode(brightness, _NEIGHBOURHOOD)[_INNER]
    above = cv2.dilate(brightness, _NEIGHBOURHOOD)[_INNER] - brightness[_INNER]
    dark_ground = bool((above - below).sum() > _THIN * (above + below).sum())
    weights = (above if dark_ground else below)[..., None]
    blue, green, red = ((pixels[_INNER] * weights).sum(axis=(0, 1)) / max(weights.sum(), 1e-6)).tolist()
    strongest = max(blue, green, red)
    saturated = strongest - min(blue, green, red) > max(_DIFFERENT, _SATURATED * strongest)
    if not dark_ground:
        return Ground.YELLOW if saturated and blue == min(blue, green, red) else Ground.WHITE
    if not saturated or green == strongest:
        return Ground.BLACK
    return Ground.BLUE if blue == strongest else Ground.RED


def likelihoods(seen: Sequence[Ground | None], lines: int) -> Doubles:
    """Return how much likelier plates look as they do if they are of each ground than if nothing is known of them.

    Args:
        seen: the colours of n plates; None where it isn't known.
        lines: on how many lines they are written, 1 or 2.

    Returns:
        (n, 5), in the order of `Ground`.
    """
    table = _likelihoods(lines)
    return np.array([table[colour] for colour in seen]).reshape(-1, len(Ground))


@cache
def _likelihoods(lines: int) -> dict[Ground | None, Doubles]:
    priors = [sum(p.prior for p in PATTERNS if p.ground == ground and lines in p.lines) for ground in Ground]
    chances = _SEEN / (np.array(priors) / sum(priors) @ _SEEN)
    return {None: np.ones(len(Ground)), **{colour: chances[:, place] for place, colour in enumerate(Ground)}}

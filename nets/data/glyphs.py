"""The typeface of Russian plates (GOST R 50577), drawn with a pen.

A glyph is a set of strokes: the path of the pen's centre inside a unit square (x right, y down) that is stretched to
the glyph's size. Proportions were measured on photos of plates; the curves are our own. The 3 has a flat top and the
4 no arm beyond its stem, which sets the typeface apart from usual ones.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Stroke = NDArray[np.float64]
"""Path (n, 2) of x, y."""

OVERSHOOT: Final = 0.15
"""More than half a pen's width."""


def _line(*points: tuple[float, float]) -> Stroke:
    return np.array(points, np.float64)


def _arc(
    centre: tuple[float, float], radii: tuple[float, float], start: float, end: float, power: float = 2.3
) -> Stroke:
    """Sample a superellipse from angle `start` to `end` (degrees, clockwise from the right)."""
    angle = np.radians(np.linspace(start, end, max(3, int(abs(end - start) / 12) + 1)))
    cosine, sine = np.cos(angle), np.sin(angle)
    x = np.sign(cosine) * np.abs(cosine) ** (2 / power)
    y = np.sign(sine) * np.abs(sine) ** (2 / power)
    return np.stack([centre[0] + radii[0] * x, centre[1] + radii[1] * y], axis=1)


def _bend(start: tuple[float, float], control: tuple[float, float], end: tuple[float, float]) -> Stroke:
    """Sample a quadratic Bezier curve."""
    t = np.linspace(0, 1, 9)[:, None]
    return np.asarray((1 - t) ** 2 * np.array(start) + 2 * t * (1 - t) * np.array(control) + t**2 * np.array(end))


def _join(*parts: Stroke) -> Stroke:
    return np.concatenate(parts)


_SIX: Final = (
    _arc((0.5, 0.66), (0.5, 0.34), 0, 360, 2.1),
    _bend((0.64, 0.0), (0.04, 0.36), (0.01, 0.66)),
)

_GLYPHS: Final[dict[str, tuple[Stroke, ...]]] = {
    "0": (_arc((0.5, 0.5), (0.5, 0.5), 0, 360),),
    "1": (_line((0.0, 0.34), (0.82, 0.0), (0.82, 1.0)),),
    "2": (_join(_arc((0.5, 0.29), (0.48, 0.29), 175, 385), _line((0.0, 1.0), (1.0, 1.0))),),
    "3": (_join(_line((0.08, 0.0), (0.95, 0.0), (0.44, 0.39)), _arc((0.48, 0.69), (0.52, 0.31), -95, 158)),),
    "4": (_line((0.72, 0.0), (0.0, 0.68), (1.0, 0.68)), _line((1.0, 0.46), (1.0, 1.0))),
    "5": (_join(_line((0.94, 0.0), (0.12, 0.0), (0.08, 0.45)), _arc((0.48, 0.68), (0.52, 0.32), 238, 518)),),
    "6": _SIX,
    "7": (_line((0.0, 0.0), (1.0, 0.0), (0.34, 1.0)),),
    "8": (
        _arc((0.5, 0.24), (0.42, 0.24), 0, 360, 2.1),
        _arc((0.5, 0.73), (0.5, 0.27), 0, 360, 2.1),
    ),
    "9": tuple(1 - stroke for stroke in _SIX),
    "A": (_line((0.0, 1.0), (0.5, 0.0), (1.0, 1.0)), _line((0.18, 0.68), (0.82, 0.68))),
    "B": (
        _line((0.0, 0.0), (0.0, 1.0)),
        _join(_line((0.0, 0.0)), _arc((0.5, 0.23), (0.42, 0.23), -90, 90), _line((0.0, 0.46))),
        _join(_line((0.5, 0.46)), _arc((0.55, 0.73), (0.45, 0.27), -90, 90), _line((0.0, 1.0))),
    ),
    "C": (_arc((0.52, 0.5), (0.52, 0.5), -42, -318, 2.2),),
    "E": (_line((1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (1.0, 1.0)), _line((0.0, 0.47), (0.86, 0.47))),
    "H": (
        _line((0.0, 0.0), (0.0, 1.0)),
        _line((1.0, 0.0), (1.0, 1.0)),
        _line((0.0, 0.5), (1.0, 0.5)),
    ),
    "K": (
        _line((0.0, 0.0), (0.0, 1.0)),
        _line((0.95, 0.0), (0.0, 0.58)),
        _line((0.3, 0.4), (1.0, 1.0)),
    ),
    "M": (_line((0.0, 1.0), (0.0, 0.0), (0.5, 0.62), (1.0, 0.0), (1.0, 1.0)),),
    "O": (_arc((0.5, 0.5), (0.5, 0.5), 0, 360, 2.1),),
    "P": (
        _line((0.0, 1.0), (0.0, 0.0)),
        _join(_line((0.0, 0.0)), _arc((0.54, 0.27), (0.46, 0.27), -90, 90), _line((0.0, 0.54))),
    ),
    "T": (_line((0.0, 0.0), (1.0, 0.0)), _line((0.5, 0.0), (0.5, 1.0))),
    "X": (_line((0.0, 0.0), (1.0, 1.0)), _line((1.0, 0.0), (0.0, 1.0))),
    # The Cyrillic U: one long stroke down to the left, a short one that meets it.
    "Y": (_line((0.0, 0.0), (0.6, 0.57)), _line((1.0, 0.0), (0.3, 1.0))),
    # Only in the word RUS below the region.
    "R": (
        _line((0.0, 1.0), (0.0, 0.0)),
        _join(_line((0.0, 0.0)), _arc((0.54, 0.27), (0.46, 0.27), -90, 90), _line((0.0, 0.54))),
        _line((0.5, 0.54), (1.0, 1.0)),
    ),
    # Diplomats' plates have it; the word TRANSIT (in Russian) is on paper ones.
    "D": (
        _line((0.0, 0.0), (0.0, 1.0)),
        _join(_line((0.0, 0.0)), _arc((0.4, 0.5), (0.6, 0.5), -90, 90), _line((0.0, 1.0))),
    ),
    "И": (_line((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)),),
    "U": (_join(_line((0.0, 0.0)), _arc((0.5, 0.62), (0.5, 0.38), 180, 0), _line((1.0, 0.0))),),
    "S": (
        _join(
            _arc((0.5, 0.25), (0.48, 0.25), -25, -270),
            _arc((0.5, 0.75), (0.5, 0.25), -90, 155),
        ),
    ),
}

_ASPECTS: Final = {"1": 0.46, "O": 0.78, "M": 0.84, "A": 0.8, "C": 0.74, "E": 0.68}
"""Width through height where it isn't the usual one."""


@cache
def aspect(character: str) -> float:
    """Return a glyph's width divided by its height."""
    return _ASPECTS.get(character, 0.6 if character.isdigit() else 0.73)


@cache
def strokes(character: str) -> tuple[Stroke, ...]:
    """Return the pen's paths of a character in the unit square.

    An end on the square's edge reaches beyond it by `OVERSHOOT`: whoever draws cuts it there, and gets strokes that end
    straight, as on plates, not round.

    Raises:
        KeyError: plates have no such character.
    """
    return tuple(_lengthened(stroke) for stroke in _GLYPHS[character])


def _lengthened(stroke: Stroke) -> Stroke:
    longer = stroke.copy()
    if np.allclose(stroke[0], stroke[-1]):
        return longer
    for end, inner in ((0, 1), (-1, -2)):
        if np.any(np.isclose(stroke[end], 0) | np.isclose(stroke[end], 1)):
            direction = stroke[end] - stroke[inner]
            longer[end] += direction / np.linalg.norm(direction) * OVERSHOOT
    return longer

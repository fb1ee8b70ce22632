"""A drawn car seen from behind or from the front: the surroundings of a plate where no photo may be shown."""

from typing import Final

import cv2
import numpy as np

from nets.data.canvas import Canvas, Colour, Image, rounded_rectangle

Points = list[tuple[float, float]]

_PAINTS: Final[tuple[Colour, ...]] = (
    (40, 40, 44),
    (150, 150, 155),
    (205, 205, 205),
    (60, 40, 110),
    (110, 70, 40),
    (70, 90, 50),
    (40, 60, 140),
    (160, 170, 175),
)

_PLATE_MM: Final = (520.0, 112.0)
"""Width and height."""


def draw_car(
    rng: np.random.Generator, width: int, height: int, plate_centre: tuple[float, float], plate_width: float
) -> Image:
    """Draw a street with a car whose plate is left out.

    Args:
        rng: source of paint, lights and light.
        width: of the picture in pixels.
        height: of the picture in pixels.
        plate_centre: x, y of the plate's place in pixels.
        plate_width: of the plate in pixels; the car has its true size beside it, whether or not it fits the picture.

    Returns:
        (height, width, 3), BGR.
    """
    canvas = Canvas(np.empty((height, width, 3), np.uint8), plate_width / _PLATE_MM[0], plate_centre)
    _street(canvas, rng)
    paint = _PAINTS[rng.integers(len(_PAINTS))]
    half = rng.uniform(830, 930)
    _body(canvas, paint, half, rng)
    _lights(canvas, half, is_rear=rng.random() < 0.5)
    _bumper(canvas, paint, half)
    grain = rng.normal(0, 3, (height, width, 1)).astype(np.float32)
    return np.clip(canvas.image + grain, 0, 255).astype(np.uint8)


def _shade(colour: Colour, factor: float) -> Colour:
    blue, green, red = (min(255, round(value * factor)) for value in colour)
    return blue, green, red


def _mirrored(canvas: Canvas, points: Points, colour: Colour) -> None:
    """Fill a polygon and its mirror image about the car's middle."""
    canvas.polygon(points, colour)
    canvas.polygon([(-x, y) for x, y in points], colour)


def _street(canvas: Canvas, rng: np.random.Generator) -> None:
    """Fill the picture with sky, houses and asphalt that gets lighter towards the horizon."""
    height, width = canvas.image.shape[:2]
    horizon = int(np.clip(canvas.origin[1] - 350 * canvas.scale, 0, height - 1))
    sky, road = rng.uniform(0.7, 1.0), rng.uniform(0.7, 1.1)
    rows = np.arange(height, dtype=np.float32)[:, None, None]
    above = np.array((235, 215, 200), np.float32) * sky - (horizon - rows) * 0.05
    below = np.array((105, 105, 105), np.float32) * road - (rows - horizon) / max(1, height - horizon) * 40
    canvas.image[:] = np.clip(np.where(rows < horizon, above, below), 0, 255).astype(np.uint8)
    x = 0
    while x < width:
        house, tall = int(rng.integers(60, 220)), int(rng.integers(20, max(21, horizon + 20)))
        grey = int(rng.integers(90, 190))
        colour = (grey, grey + int(rng.integers(-15, 15)), grey + int(rng.integers(-15, 25)))
        cv2.rectangle(canvas.image, (x, horizon - tall), (x + house, horizon), colour, -1)
        x += house


def _body(canvas: Canvas, paint: Colour, half: float, rng: np.random.Generator) -> None:
    """Draw the shadow below the car, wheels, cabin, window and the painted body around the plate."""
    low = 430.0
    canvas.polygon(
        [(-half - 80, low + 60), (half + 80, low + 60), (half - 60, low - 60), (60 - half, low - 60)], (38, 38, 38)
    )
    _mirrored(
        canvas, [(-half + 30, low + 50), (-half + 30, 150), (-half + 240, 150), (-half + 240, low + 50)], (25, 25, 25)
    )
    roof = rng.uniform(820, 920)
    canvas.polygon([(-half, -330), (-half * 0.74, -roof), (half * 0.74, -roof), (half, -330)], _shade(paint, 0.85))
    glass = (rng.integers(50, 90) + np.array((12, 6, 0))).tolist()
    canvas.polygon(
        [(-half * 0.86, -370), (-half * 0.67, -roof + 70), (half * 0.67, -roof + 70), (half * 0.86, -370)],
        (glass[0], glass[1], glass[2]),
    )
    canvas.polygon(
        [(-half * 0.5, -370), (-half * 0.36, -roof + 70), (-half * 0.1, -roof + 70), (-half * 0.2, -370)],
        (glass[0] + 25, glass[1] + 25, glass[2] + 25),
    )
    canvas.polygon(rounded_rectangle(-half, -360, half, low - 40, 110), paint)
    canvas.polygon(rounded_rectangle(-half + 40, -345, half - 40, -300, 20), _shade(paint, 1.2))
    canvas.polygon(rounded_rectangle(-420, -130, 420, 110, 40), _shade(paint, 0.72))


def _lights(canvas: Canvas, half: float, *, is_rear: bool) -> None:
    lamp: Colour = (45, 35, 190) if is_rear else (225, 225, 220)
    _mirrored(canvas, [(-half + 25, -270), (-half + 330, -240), (-half + 300, -90), (-half + 30, -70)], (60, 60, 60))
    _mirrored(canvas, [(-half + 40, -255), (-half + 310, -228), (-half + 285, -105), (-half + 45, -88)], lamp)
    _mirrored(
        canvas, [(-half + 60, -230), (-half + 140, -222), (-half + 135, -150), (-half + 62, -145)], (235, 240, 245)
    )
    if not is_rear:
        for row in range(4):
            y = -270.0 + 34 * row
            canvas.polygon(rounded_rectangle(-half + 380, y, half - 380, y + 22, 8), (35, 35, 35))


def _bumper(canvas: Canvas, paint: Colour, half: float) -> None:
    canvas.polygon(rounded_rectangle(-half + 10, 150, half - 10, 400, 70), _shade(paint, 0.9))
    canvas.polygon(rounded_rectangle(-half + 90, 270, half - 90, 385, 40), (45, 45, 45))
    canvas.polygon(rounded_rectangle(-_PLATE_MM[0] / 2 - 14, -70, _PLATE_MM[0] / 2 + 14, 84, 10), (30, 30, 30))

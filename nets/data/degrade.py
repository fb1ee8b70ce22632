"""What cameras, weather and compression do to a picture.

Functions on BGR uint8 images (h, w, 3) that draw their strength from a generator and return a new image of the same
size. Lengths are in pixels of the given image.
"""

from collections.abc import Callable
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Matrix = NDArray[np.float64]
Degradation = Callable[[Image, np.random.Generator], Image]


def projection(
    corners: NDArray[np.float64], rng: np.random.Generator, rotation: float, shear: float, perspective: float
) -> Matrix:
    """Return a homography (3, 3) that turns, slants and tilts a quadrilateral about its middle.

    Args:
        corners: (4, 2), x and y.
        rng: source of the variation.
        rotation: standard deviation in degrees.
        shear: standard deviation of the slant (tangent), sideways; upwards it is half of that.
        perspective: how far each corner moves at most, as a share of the height.
    """
    middle = corners.mean(axis=0)
    height = float(np.linalg.norm(corners[3] - corners[0]))
    angle = np.radians(rng.normal(0, rotation))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    slant = np.array([[1, rng.normal(0, shear)], [rng.normal(0, shear / 2), 1]])
    moved = (corners - middle) @ (turn @ slant).T + middle
    moved += rng.uniform(-perspective, perspective, (4, 2)) * height
    return np.asarray(cv2.getPerspectiveTransform(corners.astype(np.float32), moved.astype(np.float32)))


def light(image: Image, rng: np.random.Generator) -> Image:
    """Change gamma, contrast, brightness and white balance; now and then make it night."""
    levels = np.arange(256) / 255
    curve = levels ** np.exp(rng.normal(0, 0.25))
    contrast, brightness = np.exp(rng.normal(-0.1, 0.25)), rng.normal(0, 0.08)
    balance = 1 + rng.normal(0, 0.06, 3)
    night = rng.uniform(0.25, 0.6) if rng.random() < 0.12 else 1.0
    table = ((curve[:, None] - 0.5) * contrast + 0.5 + brightness) * balance * night
    return np.asarray(cv2.LUT(image, np.clip(table * 255, 0, 255).astype(np.uint8)[None]), np.uint8)


def greyscale(image: Image, rng: np.random.Generator) -> Image:
    """Take the colour away, as infrared cameras do."""
    del rng
    return np.asarray(cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR), np.uint8)


def shadow(image: Image, rng: np.random.Generator) -> Image:
    """Darken one side of a slanted line, with a soft or a hard edge."""
    height, width = image.shape[:2]
    angle = rng.uniform(0, 2 * np.pi)
    x = np.linspace(-1, 1, width, dtype=np.float32) * np.float32(np.cos(angle))
    y = np.linspace(-1, 1, height, dtype=np.float32) * np.float32(np.sin(angle))
    distance = (x[None] + y[:, None] - np.float32(rng.uniform(-0.6, 0.6))) * np.float32(rng.uniform(1, 12))
    gain = 1 - np.float32(rng.uniform(0.2, 0.65)) * np.clip(distance + 0.5, 0, 1)
    return np.asarray(image * gain[..., None], np.uint8)


def glare(image: Image, rng: np.random.Generator) -> Image:
    """Lighten a soft spot, as a headlight or the sun does."""
    height, width = image.shape[:2]
    x = (np.arange(width, dtype=np.float32) - np.float32(rng.uniform(0, width))) / np.float32(
        rng.uniform(0.1, 0.5) * width
    )
    y = (np.arange(height, dtype=np.float32) - np.float32(rng.uniform(0, height))) / np.float32(
        rng.uniform(0.3, 1.0) * height
    )
    spot = np.exp(-(x[None] ** 2 + y[:, None] ** 2)) * np.float32(rng.uniform(40, 150))
    return np.asarray(np.clip(image + spot[..., None], 0, 255), np.uint8)


def dirt(image: Image, rng: np.random.Generator) -> Image:
    """Cover parts with blotches of mud or snow, thin enough to see what is below."""
    height, width = image.shape[:2]
    coarse = rng.random((max(2, height // 6), max(2, width // 6)), np.float32)
    blotches = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    cover = np.clip((blotches - np.float32(rng.uniform(0.5, 0.85))) * 4, 0, rng.uniform(0.3, 0.8))[..., None]
    colour = np.array(((70, 90, 105), (225, 225, 225), (40, 50, 60))[rng.integers(3)], np.float32)
    return np.asarray(image * (1 - cover) + colour * cover, np.uint8)


def wear(image: Image, rng: np.random.Generator) -> Image:
    """Fade blotches of paint towards the plate's own colour."""
    height, width = image.shape[:2]
    coarse = rng.random((max(2, height // 8), max(2, width // 8)), np.float32)
    blotches = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    fading = np.clip((blotches - np.float32(rng.uniform(0.3, 0.7))) * 3, 0, rng.uniform(0.4, 0.85))[..., None]
    ground = np.percentile(image.reshape(-1, 3), 70, axis=0).astype(np.float32)
    return np.asarray(image * (1 - fading) + ground * fading, np.uint8)


def night(image: Image, rng: np.random.Generator) -> Image:
    """Take most of the light away and let the sensor amplify what is left."""
    gain = np.float32(rng.uniform(0.15, 0.5))
    dark = image * gain + rng.standard_normal(image.shape, np.float32) * np.float32(rng.uniform(0.5, 3))
    return np.asarray(np.clip(dark * np.float32(rng.uniform(1, 1.6)), 0, 255), np.uint8)


def infrared(image: Image, rng: np.random.Generator) -> Image:
    """Show what a camera with an infrared lamp sees: grey, the plate's film bright, red and blue paint pale."""
    weights = np.array(((0.6, 0.3, 0.1), (0.2, 0.4, 0.4), (0.1, 0.2, 0.7)), np.float32)[rng.integers(3)]
    grey = (image.astype(np.float32) @ weights)[..., None]
    lit = np.clip((grey - 128) * np.float32(rng.uniform(0.7, 1.6)) + np.float32(rng.uniform(80, 190)), 0, 255)
    return np.repeat(lit.astype(np.uint8), 3, axis=2)


def bloom(image: Image, rng: np.random.Generator) -> Image:
    """Let a lamp or the lit film flood its surroundings, as an overexposed sensor shows it."""
    bright = np.clip(
        (image.astype(np.float32) - np.float32(rng.uniform(90, 170))) * np.float32(rng.uniform(1, 2.5)), 0, 255
    )
    halo = cv2.GaussianBlur(bright, (0, 0), max(0.6, image.shape[0] * rng.uniform(0.03, 0.1)))
    flooded = image.astype(np.float32) + halo.reshape(image.shape) * np.float32(rng.uniform(0.3, 0.8))
    return np.asarray(np.clip(flooded, 0, 255), np.uint8)


def rain(image: Image, rng: np.random.Generator) -> Image:
    """Draw streaks of rain, lighter than what is behind, and take contrast away."""
    height, width = image.shape[:2]
    streaks = np.zeros((height, width), np.uint8)
    slant = rng.normal(0, 0.25)
    for _ in range(int(rng.integers(4, 20))):
        x, y, length = rng.uniform(0, width), rng.uniform(-0.5, 1) * height, rng.uniform(0.2, 0.8) * height
        ends = np.rint(np.array([(x, y), (x + slant * length, y + length)]) * 16).astype(np.int32)
        cv2.polylines(streaks, [ends], False, (255,), 1, cv2.LINE_AA, 4)
    share = streaks[..., None].astype(np.float32) / 255 * np.float32(rng.uniform(0.15, 0.5))
    haze = np.float32(rng.uniform(0, 0.25))
    veiled = image * (1 - haze) + 150 * haze
    return np.asarray(veiled * (1 - share) + 220 * share, np.uint8)


def snowfall(image: Image, rng: np.random.Generator) -> Image:
    """Draw flakes, small and a little out of focus."""
    height, width = image.shape[:2]
    flakes = np.zeros((height, width), np.uint8)
    for _ in range(int(rng.integers(3, 25))):
        centre = np.rint(rng.uniform(0, 1, 2) * (width, height) * 16).astype(int).tolist()
        cv2.circle(flakes, (centre[0], centre[1]), int(rng.uniform(5, 24)), (255,), -1, cv2.LINE_AA, 4)
    soft = cv2.GaussianBlur(flakes, (0, 0), 0.5).reshape(height, width, 1).astype(np.float32)
    share = soft / 255 * np.float32(rng.uniform(0.4, 0.9))
    return np.asarray(image * (1 - share) + 240 * share, np.uint8)


def focus_blur(image: Image, rng: np.random.Generator) -> Image:
    """Blur as a lens out of focus does."""
    return np.asarray(cv2.GaussianBlur(image, (0, 0), rng.uniform(0.4, 1.1)), np.uint8)


def motion_blur(image: Image, rng: np.random.Generator) -> Image:
    """Smear along a line of up to four pixels, mostly sideways."""
    length, angle = rng.uniform(1.5, 4), rng.normal(0, 0.5)
    size = 2 * int(np.ceil(length / 2)) + 1
    step = np.array([np.cos(angle), np.sin(angle)]) * length / 2 * 16
    kernel = np.zeros((size, size), np.uint8)
    centre = size // 2 * 16
    ends = np.rint([centre - step, centre + step]).astype(np.int32)
    cv2.polylines(kernel, [ends], False, (255,), 1, cv2.LINE_AA, 4)
    weights = kernel.astype(np.float32) / np.float32(kernel.sum())
    return np.asarray(cv2.filter2D(image, -1, weights), np.uint8)


def noise(image: Image, rng: np.random.Generator) -> Image:
    """Add the sensor's noise, the same for the three channels or not."""
    channels = 1 if rng.random() < 0.5 else 3
    grain = rng.standard_normal((*image.shape[:2], channels), np.float32) * np.float32(rng.uniform(1, 10))
    return np.asarray(np.clip(image + grain, 0, 255), np.uint8)


def jpeg(image: Image, rng: np.random.Generator) -> Image:
    """Compress and decompress."""
    _, data = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(25, 91))))
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)


def low_resolution(image: Image, rng: np.random.Generator) -> Image:
    """Scale down to as little as 0.45 and up again: in the reader's crop, digits of 14 pixels become 6 to 13 high."""
    height, width = image.shape[:2]
    scale = rng.uniform(0.45, 0.95)
    small = cv2.resize(
        image, (max(1, round(width * scale)), max(1, round(height * scale))), interpolation=cv2.INTER_AREA
    )
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


PIPELINE: Final[tuple[tuple[float, Degradation], ...]] = (
    (0.08, wear),
    (0.06, dirt),
    (0.20, shadow),
    (0.08, glare),
    (0.03, rain),
    (0.03, snowfall),
    (0.05, night),
    (0.05, bloom),
    (0.05, infrared),
    (0.70, light),
    (0.15, motion_blur),
    (0.20, focus_blur),
    (0.30, low_resolution),
    (0.40, noise),
    (0.05, greyscale),
    (0.30, jpeg),
)
"""Each degradation and how often it happens, in the order of the light's way: world, lens, sensor, file."""


def photograph(image: Image, rng: np.random.Generator) -> Image:
    """Apply a random few of the degradations, in the order in which they happen to a photo."""
    for probability, degradation in PIPELINE:
        if rng.random() < probability:
            image = degradation(image, rng)
    return image

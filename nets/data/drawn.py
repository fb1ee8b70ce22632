"""Drawn plates and scenes that are mixed into the photos.

They bring the types of plates of which there are few photos, and the look of pictures that are no photos.
"""

import cv2
import numpy as np

from nets.data.photos import LONGEST_SIDE, Photo
from nets.data.plates import random_text, render_plate, render_scene
from plates.geometry import Image


def draw_scenes(rng: np.random.Generator, count: int) -> list[Photo]:
    """Draw cars with a plate, as the examples that may be published show."""
    scenes = []
    for _ in range(count):
        width = float(np.exp(rng.uniform(np.log(50), np.log(250))))
        image, _, quad = render_scene(random_text(rng), rng, LONGEST_SIDE, round(LONGEST_SIDE * 0.6), width)
        scenes.append(Photo(image, np.array([quad], np.float32), True))
    return scenes


def draw_plates(rng: np.random.Generator, count: int) -> list[Image]:
    """Draw plates of many types, straight from the front, 64 pixels high or so."""
    return [_drawn_plate(rng) for _ in range(count)]


def _drawn_plate(rng: np.random.Generator) -> Image:
    kind = rng.choice(["standard", "yellow", "trailer"], p=[0.6, 0.25, 0.15])
    plate = render_plate(random_text(rng, kind), rng, 64, kind)
    if rng.random() < 0.15:
        plate = _coloured(plate, rng)
    if rng.random() < 0.2:
        plate = _on_two_lines(plate)
    return plate


def _coloured(plate: Image, rng: np.random.Generator) -> Image:
    """White on blue (police), black (military) or red (diplomatic)."""
    grounds = np.array([(150, 70, 20), (25, 25, 25), (30, 30, 170)], np.float32)
    ground = grounds[rng.integers(3)]
    ink = 1 - plate.mean(axis=2, keepdims=True) / 255
    return np.asarray(ground + (235 - ground) * np.clip(ink * 1.2 - 0.1, 0, 1), np.uint8)


def _on_two_lines(plate: Image) -> Image:
    """Put the region below the series, as on plates of type 1A (290 x 170 mm): the layout counts here, not the text."""
    height, width = plate.shape[:2]
    cut = round(0.71 * width)
    upper = cv2.resize(plate[:, 6:cut], (round(2.9 * height), round(0.85 * height)), interpolation=cv2.INTER_AREA)
    lower = np.empty_like(upper)
    lower[:] = np.median(plate.reshape(-1, 3), axis=0)
    region = cv2.resize(plate[:, cut + 4 :], (round(1.7 * height), upper.shape[0]), interpolation=cv2.INTER_AREA)
    left = (upper.shape[1] - region.shape[1]) // 2
    lower[:, left : left + region.shape[1]] = region
    return np.concatenate([upper, lower])

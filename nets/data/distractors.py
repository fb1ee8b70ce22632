"""Drawn things that look like plates to a careless detector and are none.

Signs, phone numbers on vans, burnt-in clocks, badges, grilles, lamps: photos of them on which every plate is labelled
are rare.
"""

from typing import Final

import cv2
import numpy as np

from plates.geometry import Image

# fmt: off
_WORDS: Final = (
    "TAXI", "OPEN", "STOP", "SALE", "EXIT", "CAFE", "HOTEL", "BANK", "SPORT", "TURBO", "DIESEL", "QUATTRO", "LADA",
    "KIA", "FORD", "VOLVO", "TOYOTA", "CAMRY", "GARAGE", "PARKING", "ONLY", "POLICE", "AMBULANCE", "DELIVERY",
    "SERVICE", "SHOP", "MARKET", "PHARMACY", "EXPRESS", "LOGISTICS", "CARGO", "AUTO", "MOTORS", "CLUB",
)
# fmt: on

_FONTS: Final = (
    cv2.FONT_HERSHEY_SIMPLEX,
    cv2.FONT_HERSHEY_DUPLEX,
    cv2.FONT_HERSHEY_COMPLEX,
    cv2.FONT_HERSHEY_TRIPLEX,
    cv2.FONT_HERSHEY_PLAIN,
)


def distractor(rng: np.random.Generator) -> tuple[Image, Image]:
    """Draw one thing that is no plate.

    Returns:
        (h, w, 3) BGR and its opacity (h, w), 0 to 255; some 40 to 120 pixels high.
    """
    return _KINDS[rng.integers(len(_KINDS))](rng)


def clock(rng: np.random.Generator) -> tuple[Image, Image]:
    """Draw a camera's name or time as recorders burn it into a picture's corner."""
    date = f"{rng.integers(1, 29):02d}-{rng.integers(1, 13):02d}-20{rng.integers(5, 30):02d}"
    time = f"{rng.integers(24):02d}:{rng.integers(60):02d}:{rng.integers(60):02d}"
    texts = (time, date, f"{date} {time}", f"CAM {rng.integers(1, 17):02d}", f"{rng.integers(10, 140)} km/h")
    light = (255, 255, 255) if rng.random() < 0.7 else (0, 255, 255)
    return _lettering(texts[rng.integers(len(texts))], rng, light, (0, 0, 0) if rng.random() < 0.4 else None)


def _words(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(_WORDS, rng.integers(1, 3)))


def _phone(rng: np.random.Generator) -> str:
    digits = "".join(str(digit) for digit in rng.integers(0, 10, 7))
    return f"{rng.choice(['8-800', '+7 495', '8 (812)', ''])} {digits[:3]}-{digits[3:5]}-{digits[5:]}".strip()


def _number(rng: np.random.Generator) -> str:
    return str(rng.choice([f"{rng.integers(1, 200)}", f"{rng.integers(1, 99)}.{rng.integers(10, 99)}", "24", "24/7"]))


def _text(rng: np.random.Generator) -> str:
    return (_words, _phone, _number)[rng.integers(3)](rng)


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    """Return white, black and the greys between as often as all colours."""
    values = rng.integers(0, 256, 3) if rng.random() < 0.5 else rng.integers(0, 256) + rng.integers(-8, 9, 3)
    blue, green, red = (int(value) for value in np.clip(values, 0, 255))
    return blue, green, red


def _contrasting(rng: np.random.Generator, colour: tuple[int, int, int]) -> tuple[int, int, int]:
    level = int(rng.integers(170, 256) if sum(colour) < 380 else rng.integers(0, 90))
    return level, level, level


def _lettering(
    text: str,
    rng: np.random.Generator,
    ink: tuple[int, int, int],
    ground: tuple[int, int, int] | None,
) -> tuple[Image, Image]:
    """Write a line of text on a panel, or on nothing where `ground` is None."""
    font = _FONTS[rng.integers(len(_FONTS))]
    scale = 3.0 if font == cv2.FONT_HERSHEY_PLAIN else 1.6
    thickness = int(rng.integers(2, 6))
    (width, height), below = cv2.getTextSize(text, font, scale, thickness)
    margin_x, margin_y = (int(value) for value in rng.integers(6, 40, 2))
    shape = (height + below + 2 * margin_y, width + 2 * margin_x)
    at = (margin_x, margin_y + height)
    image = np.full((*shape, 3), ground or ink, np.uint8)
    opacity = np.full(shape, 0 if ground is None else 255, np.uint8)
    if ground is None:
        cv2.putText(opacity, text, at, font, scale, (255,), thickness, cv2.LINE_AA)
    else:
        cv2.putText(image, text, at, font, scale, ink, thickness, cv2.LINE_AA)
    return image, opacity


def _van_side(rng: np.random.Generator) -> tuple[Image, Image]:
    return _lettering(_text(rng), rng, _colour(rng), None)


def _sign(rng: np.random.Generator) -> tuple[Image, Image]:
    ground = _colour(rng)
    ink = _contrasting(rng, ground)
    image, opacity = _lettering(_text(rng), rng, ink, ground)
    if rng.random() < 0.5:
        inset = int(rng.integers(2, 6))
        height, width = image.shape[:2]
        cv2.rectangle(image, (inset, inset), (width - inset, height - inset), ink, int(rng.integers(1, 5)))
    return image, opacity


def _poster(rng: np.random.Generator) -> tuple[Image, Image]:
    """Several lines of text under each other."""
    ground = _colour(rng)
    ink = _contrasting(rng, ground)
    lines = [_lettering(_text(rng), rng, ink, ground)[0] for _ in range(rng.integers(2, 4))]
    width = max(line.shape[1] for line in lines)
    padded = [cv2.copyMakeBorder(line, 0, 0, 0, width - line.shape[1], cv2.BORDER_REPLICATE) for line in lines]
    image = np.concatenate(padded).astype(np.uint8)
    return image, np.full(image.shape[:2], 255, np.uint8)


def _badge(rng: np.random.Generator) -> tuple[Image, Image]:
    """Something metallic and oval with a letter or two."""
    width, height = int(rng.integers(60, 200)), int(rng.integers(40, 90))
    image = np.full((height, width, 3), _colour(rng), np.uint8)
    opacity = np.zeros((height, width), np.uint8)
    centre, axes = (width // 2, height // 2), (width // 2 - 2, height // 2 - 2)
    cv2.ellipse(opacity, centre, axes, 0, 0, 360, (255,), -1, cv2.LINE_AA)
    level = int(rng.integers(140, 256))
    cv2.ellipse(image, centre, axes, 0, 0, 360, (level,) * 3, int(rng.integers(2, 8)), cv2.LINE_AA)
    letters = str(rng.choice(_WORDS))[: rng.integers(1, 4)]
    at = (width // 2 - 14 * len(letters), height // 2 + 14)
    cv2.putText(image, letters, at, cv2.FONT_HERSHEY_DUPLEX, 1.2, (level,) * 3, 3, cv2.LINE_AA)
    return image, opacity


def _grille(rng: np.random.Generator) -> tuple[Image, Image]:
    """Evenly spaced bars, as of a radiator or an air vent."""
    height, width = int(rng.integers(40, 120)), int(rng.integers(100, 400))
    image = np.full((height, width, 3), int(rng.integers(0, 80)), np.uint8)
    period = int(rng.integers(6, 24))
    level = int(rng.integers(60, 256))
    if rng.random() < 0.5:
        for x in range(0, width, period):
            image[:, x : x + period // 3 + 1] = level
    else:
        for y in range(0, height, period):
            image[y : y + period // 3 + 1] = level
    return image, np.full((height, width), 255, np.uint8)


def _lamp(rng: np.random.Generator) -> tuple[Image, Image]:
    """A bright or coloured rectangle without any text."""
    height, width = int(rng.integers(30, 90)), int(rng.integers(60, 300))
    image = np.full((height, width, 3), _colour(rng), np.uint8)
    shade = np.linspace(rng.uniform(0.3, 1), rng.uniform(0.3, 1), width)[None, :, None]
    return (image * shade).astype(np.uint8), np.full((height, width), 255, np.uint8)


_KINDS: Final = (clock, _van_side, _sign, _sign, _poster, _badge, _grille, _lamp)

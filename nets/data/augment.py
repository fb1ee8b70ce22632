"""What happens to a picture on its way from the street to the file: views, pasted parts, light and the camera's faults.

Images are BGR uint8 (h, w, 3); affine matrices are (2, 3) and map source to target pixels.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from plates.geometry import LETTERBOX_GREY, Floats, Image

Matrix = NDArray[np.float64]


def warp(image: Image, matrix: Matrix, shape: tuple[int, int]) -> Image:
    """Apply an affine map; `shape` is the target's (height, width). Shrinks by areas first so that nothing aliases."""
    scale = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    if scale < 0.6:
        image = np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
        matrix = np.column_stack([matrix[:, :2] / scale, matrix[:, 2]])
    warped = cv2.warpAffine(
        image,
        matrix,
        shape[::-1],
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=(LETTERBOX_GREY,) * 3,
    )
    return np.asarray(warped, np.uint8)


def transform(points: NDArray[np.float32], matrix: Matrix) -> NDArray[np.float32]:
    """Apply an affine map to points (..., 2)."""
    return np.asarray(points @ matrix[:, :2].T + matrix[:, 2], np.float32)


def paste(
    image: Image,
    patch: Image,
    opacity: Image | None,
    source: NDArray[np.float32],
    target: NDArray[np.float32],
    grow: float = 0.0,
) -> None:
    """Draw a quadrilateral part of `patch` into `image`, in place.

    Args:
        image: what is drawn on.
        patch: where the part comes from.
        opacity: (h, w) of the patch, 0 to 255; None is opaque.
        source: corners (4, 2) in the patch.
        target: corners (4, 2) in the image; may lie outside.
        grow: share of the quadrilateral that is taken along on each side.
    """
    if grow:
        source = source + (source - source.mean(0)) * np.float32(2 * grow)
        target = target + (target - target.mean(0)) * np.float32(2 * grow)
    height, width = image.shape[:2]
    low = np.maximum(np.floor(target.min(0)).astype(int) - 1, 0)
    high = np.minimum(np.ceil(target.max(0)).astype(int) + 1, (width, height))
    if np.any(high <= low):
        return
    shrink = max(np.ptp(target[:, 0]) / max(np.ptp(source[:, 0]), 1), 0.05)
    if shrink < 0.6:
        patch = np.asarray(cv2.resize(patch, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA), np.uint8)
        if opacity is not None:
            opacity = np.asarray(cv2.resize(opacity, patch.shape[1::-1], interpolation=cv2.INTER_AREA), np.uint8)
        source = source * np.float32(shrink)
    matrix = cv2.getPerspectiveTransform(source, (target - low).astype(np.float32))
    size = (int(high[0] - low[0]), int(high[1] - low[1]))
    part = cv2.warpPerspective(patch, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    mask = np.zeros(size[::-1], np.uint8)
    cv2.fillConvexPoly(mask, np.rint((target - low) * 16).astype(np.int32), (255,), cv2.LINE_AA, 4)
    if opacity is not None:
        mask = np.asarray(cv2.multiply(mask, cv2.warpPerspective(opacity, matrix, size), scale=1 / 255), np.uint8)
    share = mask[..., None].astype(np.float32) / 255
    region = image[low[1] : high[1], low[0] : high[0]]
    region[:] = (region + (part - region.astype(np.float32)) * share + 0.5).astype(np.uint8)


def random_quad(rng: np.random.Generator, width: float, aspect: float) -> NDArray[np.float32]:
    """Return the corners (4, 2), around (0, 0), of a flat thing seen by a camera from somewhere in front of it.

    Args:
        rng: source of the point of view.
        width: in pixels, if it were seen straight from the front.
        aspect: width through height.
    """
    yaw, pitch, roll = np.radians(rng.normal(0, (25, 10, 5)).clip(-65, 65))
    cos, sin = np.cos, np.sin
    about_y = np.array([[cos(yaw), 0, sin(yaw)], [0, 1, 0], [-sin(yaw), 0, cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, cos(pitch), -sin(pitch)], [0, sin(pitch), cos(pitch)]])
    about_z = np.array([[cos(roll), -sin(roll), 0], [sin(roll), cos(roll), 0], [0, 0, 1]])
    half = 0.5 / aspect
    corners = np.array([(-0.5, -half, 0), (0.5, -half, 0), (0.5, half, 0), (-0.5, half, 0)])
    seen = corners @ (about_z @ about_x @ about_y).T
    distance = rng.uniform(2, 8)
    return np.asarray(seen[:, :2] * width * distance / (distance + seen[:, 2:]), np.float32)


def brightness(image: Image, corners: NDArray[np.float32]) -> float:
    """Return the mean level (0 to 255) of an image around corners (4, 2); 114 where they lie outside."""
    height, width = image.shape[:2]
    low = np.clip(corners.min(0), 0, (width, height)).astype(int)
    high = np.clip(corners.max(0), 0, (width, height)).astype(int)
    region = image[low[1] : high[1], low[0] : high[0]]
    return float(region.mean()) if region.size else float(LETTERBOX_GREY)


def relight(patch: Image, rng: np.random.Generator, level: float) -> Image:
    """Give a drawn thing the light of where it goes (`level`, 0 to 255), a cast of colour, a shadow, some blur."""
    gain = np.clip(0.45 + level / 230 + rng.normal(0, 0.12), 0.25, 1.15)
    cast = gain * (1 + rng.normal(0, 0.03, 3))
    if rng.random() < 0.3:
        shadow = np.linspace(rng.uniform(0.5, 1), rng.uniform(0.7, 1.2), patch.shape[1])[None, :, None]
    else:
        shadow = np.ones((1, 1, 1))
    lit = np.clip(patch * cast * shadow + rng.uniform(0, 25), 0, 255).astype(np.uint8)
    return np.asarray(cv2.GaussianBlur(lit, (0, 0), rng.uniform(0.3, 2.0)), np.uint8)


def degrade(image: Image, rng: np.random.Generator) -> Image:
    """Change light and colours, blur, add noise, compress: each sometimes."""
    image = _recolour(image, rng)
    if rng.random() < 0.15:
        image = _blur(image, rng)
    if rng.random() < 0.15:
        image = _coarsen(image, rng)
    if rng.random() < 0.2:
        noise = rng.normal(0, rng.uniform(2, 14), image.shape[:2]).astype(np.float32)
        image = np.clip(image + noise[..., None], 0, 255).astype(np.uint8)
    if rng.random() < 0.3:
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(20, 85))])
        image = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return image


def _recolour(image: Image, rng: np.random.Generator) -> Image:
    if rng.random() < 0.12:
        image = np.repeat(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[..., None], 3, axis=2)
    elif rng.random() < 0.7:
        hue, saturation = rng.uniform(-8, 8), rng.uniform(0.4, 1.6)
        channels = np.arange(256)
        hsv = list(cv2.split(cv2.cvtColor(image, cv2.COLOR_BGR2HSV)))
        hsv[0] = cv2.LUT(hsv[0], ((channels + hue) % 180).astype(np.uint8))
        hsv[1] = cv2.LUT(hsv[1], np.clip(channels * saturation, 0, 255).astype(np.uint8))
        image = np.asarray(cv2.cvtColor(cv2.merge(hsv), cv2.COLOR_HSV2BGR), np.uint8)
    gain, offset, gamma = rng.uniform(0.55, 1.4), rng.uniform(-30, 30), np.exp(rng.normal(0, 0.25))
    levels: Floats = (np.arange(256, dtype=np.float32) / 255) ** np.float32(gamma) * 255
    return np.asarray(cv2.LUT(image, np.clip(levels * gain + offset, 0, 255).astype(np.uint8)), np.uint8)


def _blur(image: Image, rng: np.random.Generator) -> Image:
    if rng.random() < 0.5:
        return np.asarray(cv2.GaussianBlur(image, (0, 0), rng.uniform(0.4, 1.8)), np.uint8)
    length = int(rng.integers(3, 9))
    kernel = np.zeros((length, length), np.float32)
    angle = rng.uniform(0, np.pi)
    middle = (length - 1) / 2
    offset = np.array([np.cos(angle), np.sin(angle)]) * middle
    start, end = (tuple(int(v) for v in np.rint(middle + sign * offset)) for sign in (-1, 1))
    cv2.line(kernel, start, end, (1.0,))
    return np.asarray(cv2.filter2D(image, -1, kernel / kernel.sum()), np.uint8)


def _coarsen(image: Image, rng: np.random.Generator) -> Image:
    """Lose detail, as when a small picture was made larger."""
    scale = rng.uniform(0.4, 0.9)
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, image.shape[1::-1], interpolation=cv2.INTER_LINEAR), np.uint8)

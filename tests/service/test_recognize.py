"""The whole service on pictures of every kind: HTTP, shared memory, a real Triton, the real networks."""

import asyncio
import io
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from PIL import Image as PillowImage

from nets.data.plates import render_scene
from plates.geometry import Image, iou

TEXT = "B840OK197"
UPRIGHT = (
    PillowImage.Transpose.FLIP_LEFT_RIGHT,
    PillowImage.Transpose.ROTATE_180,
    PillowImage.Transpose.FLIP_TOP_BOTTOM,
    PillowImage.Transpose.TRANSPOSE,
    PillowImage.Transpose.ROTATE_90,
    PillowImage.Transpose.TRANSVERSE,
    PillowImage.Transpose.ROTATE_270,
)
"""What turns an upright picture into the stored one of EXIF orientation 2, 3, ... 8."""

Scene = tuple[Image, tuple[float, float, float, float]]


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A drawn car, 1280 x 720 BGR, and the box of its plate."""
    image, box, _ = render_scene(TEXT, 3, 1280, 720, 200)
    return image, box


def encode(image: Image, extension: str = ".png") -> bytes:
    return cv2.imencode(extension, image)[1].tobytes()


def saved(image: PillowImage.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


async def recognize(service: httpx.AsyncClient, data: bytes) -> dict[str, Any]:
    response = await service.post("/recognize", files={"image": ("photo", data)})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def overlap(plate: dict[str, Any], box: tuple[float, float, float, float]) -> float:
    found = np.array([plate["box"][edge] for edge in ("x_min", "y_min", "x_max", "y_max")], np.float32)
    return float(iou(found, np.array([box], np.float32))[0])


async def assert_reads(service: httpx.AsyncClient, data: bytes, scene: Scene) -> None:
    image, box = scene
    answer = await recognize(service, data)
    assert answer["image"] == {"width": image.shape[1], "height": image.shape[0]}
    (plate,) = answer["plates"]
    assert (plate["text"], plate["text_cyrillic"]) == (TEXT, "В840ОК197")
    assert overlap(plate, box) > 0.6
    assert 0 < plate["score"] <= 1
    assert 0 < plate["detection_score"] <= 1
    assert (plate["format"], plate["region"]["code"], plate["lines"]) == ("civil", "197", 1)
    assert len(plate["character_scores"]) == len(TEXT)
    assert plate["candidates"][0] == {"text": TEXT, "score": plate["score"]}
    assert answer["milliseconds"].keys() == {"queue", "decode", "triton", "detect", "read", "total"}
    assert answer["milliseconds"]["triton"] < answer["milliseconds"]["total"]


@pytest.mark.parametrize("extension", [".jpg", ".png", ".webp", ".bmp"])
async def test_each_format_is_read(service: httpx.AsyncClient, scene: Scene, extension: str) -> None:
    await assert_reads(service, encode(scene[0], extension), scene)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_boxes_are_those_of_the_picture_as_its_viewer_sees_it(
    service: httpx.AsyncClient, scene: Scene, orientation: int, kind: str
) -> None:
    stored = PillowImage.fromarray(scene[0][..., ::-1])
    if orientation > 1:
        stored = stored.transpose(UPRIGHT[orientation - 2])
    exif = PillowImage.Exif()
    exif[0x0112] = orientation
    await assert_reads(service, saved(stored, kind, exif=exif), scene)


@pytest.mark.parametrize("mode", ["grey", "16-bit", "16-bit grey", "RGBA", "palette", "CMYK"])
async def test_each_kind_of_pixels_is_read(service: httpx.AsyncClient, scene: Scene, mode: str) -> None:
    image, _ = scene
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    rgb = PillowImage.fromarray(image[..., ::-1])
    data = {
        "grey": lambda: encode(grey),  # type: ignore[arg-type]
        "16-bit": lambda: encode(image.astype(np.uint16) * 257),  # type: ignore[arg-type]
        "16-bit grey": lambda: encode(grey.astype(np.uint16) * 257),  # type: ignore[arg-type]
        "RGBA": lambda: saved(rgb.convert("RGBA"), "PNG"),
        "palette": lambda: saved(rgb.quantize(128), "PNG"),
        "CMYK": lambda: saved(rgb.convert("CMYK"), "JPEG", quality=92),
    }[mode]()
    await assert_reads(service, data, scene)


async def test_a_plate_cut_by_the_border_is_found_and_its_box_ends_there(
    service: httpx.AsyncClient, scene: Scene
) -> None:
    image, (x_min, y_min, x_max, y_max) = scene
    middle = round((x_min + x_max) / 2)
    left = np.ascontiguousarray(image[:, : middle + round((x_max - x_min) * 0.3)])
    answer = await recognize(service, encode(left))
    (plate,) = answer["plates"]
    assert overlap(plate, (x_min, y_min, left.shape[1], y_max)) > 0.5
    assert plate["box"]["x_max"] <= left.shape[1]


@pytest.mark.parametrize("size", [(1, 1), (1, 700), (700, 1), (2, 2), (31, 33)])
async def test_tiny_pictures_hold_no_plates(service: httpx.AsyncClient, size: tuple[int, int]) -> None:
    answer = await recognize(service, encode(np.full((*size, 3), 90, np.uint8)))
    assert (answer["image"], answer["plates"]) == ({"width": size[1], "height": size[0]}, [])


async def test_a_panorama_is_answered(service: httpx.AsyncClient, scene: Scene) -> None:
    panorama = np.full((200, 12_000, 3), 90, np.uint8)
    panorama[:, 5000:5356] = cv2.resize(scene[0], (356, 200))
    answer = await recognize(service, encode(panorama, ".jpg"))
    assert answer["image"] == {"width": 12_000, "height": 200}


async def test_a_picture_without_plates_is_an_empty_list(service: httpx.AsyncClient) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (480, 640, 3), np.uint8)
    answer = await recognize(service, encode(noise))
    assert answer["plates"] == []


async def test_a_plates_text_is_the_same_alone_and_among_sixteen(service: httpx.AsyncClient) -> None:
    """Networks batch across requests: a text must not depend on what shares its batch."""
    texts = [f"{'ABEKMHOPCTYX'[index % 12]}{index * 37 % 900 + 100}{'KM'}{77 + index}" for index in range(16)]
    pictures = [encode(render_scene(text, index, 1280, 720, 180)[0]) for index, text in enumerate(texts)]
    alone = [await recognize(service, picture) for picture in pictures]
    for _ in range(3):
        together = await asyncio.gather(*(recognize(service, picture) for picture in pictures))
        for single, batched in zip(alone, together, strict=True):
            assert [plate["text"] for plate in batched["plates"]] == [plate["text"] for plate in single["plates"]]
    read = [plate["text"] for answer in alone for plate in answer["plates"]]
    assert len(set(read) & set(texts)) >= 14


async def test_what_is_detected_is_what_is_read(service: httpx.AsyncClient, scene: Scene) -> None:
    data = encode(scene[0])
    response = await service.post("/detect", files={"image": data})
    assert response.status_code == 200, response.text
    (found,) = response.json()["plates"]
    (read,) = (await recognize(service, data))["plates"]
    assert found == {"box": read["box"], "detection_score": read["detection_score"]}


@pytest.mark.parametrize("method", ["pixelate", "fill"])
async def test_nobody_reads_a_blurred_plate(service: httpx.AsyncClient, scene: Scene, method: str) -> None:
    image, (x_min, y_min, x_max, y_max) = scene
    response = await service.post(f"/blur?method={method}&quality=100", files={"image": encode(image)})
    assert (response.status_code, response.headers["X-Plates-Hidden"]) == (200, "1")
    answer = await recognize(service, response.content)
    assert not [plate for plate in answer["plates"] if plate["text"]]
    hidden = cv2.imdecode(np.frombuffer(response.content, np.uint8), cv2.IMREAD_COLOR)
    width = round((x_max - x_min) / 4)
    # Beside the plate all is as it was, but for the JPEG.
    beside = np.s_[round(y_min) : round(y_max), round(x_max) + width : round(x_max) + 2 * width]
    assert np.abs(hidden[beside].astype(int) - image[beside]).mean() < 3


async def test_the_drawn_picture_is_the_picture_with_the_plate_marked(service: httpx.AsyncClient, scene: Scene) -> None:
    image, box = scene
    response = await service.post("/recognize", files={"image": encode(image)}, headers={"Accept": "image/jpeg"})
    assert response.headers["Content-Type"] == "image/jpeg"
    drawn = cv2.imdecode(np.frombuffer(response.content, np.uint8), cv2.IMREAD_COLOR)
    changed = np.argwhere(np.abs(drawn.astype(int) - image).max(axis=2) > 80)
    (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0)
    assert left < box[0] < box[2] < right
    assert top < box[1] < box[3] < bottom + 5


async def test_a_batch_is_read_as_its_pictures_are(service: httpx.AsyncClient) -> None:
    pictures = [encode(render_scene(f"A{index}23BC77", index, 960, 540, 150)[0], ".jpg") for index in range(1, 7)]
    single = [(await recognize(service, picture))["plates"] for picture in pictures]
    files = [("image", (f"{index}.jpg", picture)) for index, picture in enumerate(pictures)]
    response = await service.post("/recognize/batch", files=files)
    assert response.status_code == 200, response.text
    results = response.json()["results"]
    assert [entry["result"]["plates"] for entry in results] == single

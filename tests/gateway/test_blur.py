"""Plates made unreadable."""

import asyncio
import io
from collections.abc import Callable

import cv2
import httpx
import numpy as np
import pytest
from PIL import Image as PillowImage

from gateway import images, rendering
from gateway.blur import MARGIN, Method, hide
from gateway.errors import DeadlineExceeded
from gateway.fake import FakeRecognizer
from gateway.images import Image
from gateway.recognizer import Box, Plate
from gateway.rendering import Renderer
from tests.gateway.support import assert_problem

Encode = Callable[..., bytes]


def stripes(height: int, width: int) -> Image:
    """A picture whose every detail is a pixel wide."""
    image = np.zeros((height, width, 3), np.uint8)
    image[:, ::2] = 255
    return image


@pytest.mark.parametrize("method", list(Method))
def test_no_detail_of_a_plate_is_left_and_all_else_stays(method: Method) -> None:
    before = stripes(200, 300)
    after = before.copy()
    hide(after, [Box(100, 50, 190, 70)], method)
    margin = round(MARGIN * 20)
    plate = (slice(50 - margin, 70 + margin), slice(100 - margin, 190 + margin))
    changed = (after != before).any(axis=2)
    assert changed[plate].all()
    changed[plate] = False
    assert not changed.any()
    assert after[plate].astype(int).ptp() < 10


def test_pixelated_characters_become_squares_of_about_two() -> None:
    image = np.zeros((100, 300, 3), np.uint8)
    cv2.putText(image, "B840OK197", (55, 70), cv2.FONT_HERSHEY_DUPLEX, 1.2, (255, 255, 255), 2)
    hide(image, [Box(50, 40, 250, 80)], Method.PIXELATE)
    assert 3 <= len(np.unique(image[60, 60:240], axis=0)) <= 5


@pytest.mark.parametrize("box", [Box(-5, -5, 20, 5), Box(290, 190, 310, 220), Box(400, 50, 500, 60), Box(5, 5, 5, 5)])
@pytest.mark.parametrize("method", list(Method))
def test_a_box_may_reach_over_the_border(box: Box, method: Method) -> None:
    hide(stripes(200, 300), [box], method)


async def test_the_answer_is_upright_and_without_metadata(client: httpx.AsyncClient, encode: Encode) -> None:
    data = encode("JPEG", orientation=6, quality=95, comment=b"taken by Smith")
    assert b"Smith" in data
    response = await client.post("/blur", files={"image": data})
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["X-Plates-Hidden"] == "1"
    answer = PillowImage.open(io.BytesIO(response.content))
    assert answer.size == (48, 80)
    assert answer.getexif() == {}
    assert answer.info.keys() <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert b"Smith" not in response.content


@pytest.mark.parametrize("query", ["", "?method=fill"])
async def test_plates_are_hidden_where_they_are_found(
    client: httpx.AsyncClient, fake: FakeRecognizer, encode: Encode, query: str
) -> None:
    fake.plates = [Plate(Box(10, 20, 40, 32), "B840OK197", 0.97, 0.93), Plate(Box(50, 2, 70, 8), "", 0.1, 0.3)]
    responses = {
        score: await client.post(
            f"/blur{query}{'&' if query else '?'}min_score={score}&quality=100", files={"image": encode("PNG")}
        )
        for score in (0, 0.5, 1)
    }
    assert [response.headers["X-Plates-Hidden"] for response in responses.values()] == ["2", "1", "0"]
    both, one, none = (
        np.asarray(PillowImage.open(io.BytesIO(response.content))).astype(int) for response in responses.values()
    )
    first, second = (slice(20, 32), slice(10, 40)), (slice(2, 8), slice(50, 70))
    assert np.abs(none - one)[first].mean() > 8
    assert np.abs(none - one)[second].mean() < 1
    assert np.abs(both - one)[second].mean() > 4


async def test_a_lower_quality_makes_a_smaller_file(client: httpx.AsyncClient, encode: Encode) -> None:
    sizes = [
        len((await client.post(f"/blur?quality={quality}", files={"image": encode("PNG")})).content)
        for quality in (10, 90, 100)
    ]
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("path", ["/blur", "/recognize?format=jpeg"])
async def test_a_picture_that_no_jpeg_can_hold_is_refused(
    client: httpx.AsyncClient, jpeg: bytes, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "MAX_SIDE", 79)
    assert_problem(await client.post(path, files={"image": jpeg}), 422, "79 pixels at most a side")


async def test_a_picture_that_is_not_done_before_the_deadline_is_not_waited_for(jpeg: bytes) -> None:
    renderer = Renderer()
    over = asyncio.get_running_loop().time() - 1
    with pytest.raises(DeadlineExceeded, match="takes too long"):
        await renderer.render(images.inspect(jpeg, 10**6), lambda _: None, quality=90, deadline=over)
    renderer.close()

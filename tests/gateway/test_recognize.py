"""POST /recognize: the answer and every way to say no."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from gateway import errors
from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.images import EncodedImage
from gateway.settings import Settings

Encode = Callable[..., bytes]


async def send(client: httpx.AsyncClient, data: bytes, name: str = "car.jpg") -> httpx.Response:
    return await client.post("/recognize", files={"image": (name, data)})


def assert_problem(response: httpx.Response, status: int, detail: str) -> None:
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body.keys() == {"type", "title", "status", "detail"}
    assert body["status"] == status
    assert detail in body["detail"]


async def test_answers_with_the_plates(client: httpx.AsyncClient, jpeg: bytes) -> None:
    response = await send(client, jpeg)
    assert response.status_code == 200
    assert response.json() == {
        "image": {"width": 80, "height": 48},
        "plates": [
            {
                "box": {"x_min": 232.4, "y_min": 331.0, "x_max": 324.6, "y_max": 342.3},
                "text": "B840OK197",
                "text_cyrillic": "В840ОК197",
                "score": 0.9712,
                "detection_score": 0.93,
            }
        ],
    }
    assert "В840ОК197" in response.text  # not escaped: people read it


async def test_a_picture_without_plates_has_an_empty_list(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    fake.plates = []
    assert (await send(client, jpeg)).json()["plates"] == []


async def test_width_and_height_are_those_that_a_viewer_sees(client: httpx.AsyncClient, encode: Encode) -> None:
    response = await send(client, encode("JPEG", orientation=6))
    assert response.json()["image"] == {"width": 48, "height": 80}


async def test_other_fields_of_the_form_are_ignored(client: httpx.AsyncClient, jpeg: bytes) -> None:
    response = await client.post("/recognize", files={"image": jpeg}, data={"camera": "gate 3"})
    assert response.status_code == 200


async def test_an_empty_file_is_a_bad_request(client: httpx.AsyncClient) -> None:
    assert_problem(await send(client, b""), 400, "empty")


@pytest.mark.parametrize(
    ("request_body", "detail"),
    [
        ({"files": {"picture": b"x"}}, "`image` is missing"),
        ({"files": {"picture": b"x"}, "data": {"image": "car.jpg"}}, "holds text, not a file"),
        ({"files": [("image", b"x"), ("image", b"y")]}, "Too many files"),
        ({"files": {"image": b"x"}, "data": {str(i): "" for i in range(99)}}, "Too many fields"),
        ({"files": {"image": b"x"}, "data": {"note": "n" * 10_000}}, "exceeded maximum size"),
        ({"data": {"image": "car.jpg"}}, "not a multipart form"),
        ({"content": b"\xff\xd8\xff", "headers": {"Content-Type": "image/jpeg"}}, "not a multipart form"),
        ({}, "not a multipart form"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, "boundary"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, "can't be read"),
    ],
)
async def test_a_form_without_the_file_is_told_how_to_send_it(
    client: httpx.AsyncClient, request_body: dict[str, Any], detail: str
) -> None:
    response = await client.post("/recognize", **request_body)
    assert_problem(response, 400, detail)
    assert "curl -F image=@car.jpg" in response.json()["detail"]


async def test_what_is_no_image_is_an_unsupported_media_type(client: httpx.AsyncClient) -> None:
    assert_problem(await send(client, b"%PDF-1.7 ..."), 415, "JPEG, PNG, WebP or BMP")


async def test_a_broken_header_is_unprocessable(client: httpx.AsyncClient, jpeg: bytes) -> None:
    assert_problem(await send(client, jpeg[:20]), 422, "no size")


async def test_broken_pixels_are_unprocessable(client: httpx.AsyncClient, jpeg: bytes) -> None:
    assert_problem(await send(client, jpeg[: len(jpeg) // 2]), 422, "cut short")


async def test_too_many_pixels_are_too_large(fake: FakeRecognizer, jpeg: bytes) -> None:
    app = create_app(Settings(max_pixels=1000), fake)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client:
        assert_problem(await send(client, jpeg), 413, "80 x 48")
    assert fake.received == 0


async def test_a_body_over_the_limit_is_too_large(client: httpx.AsyncClient) -> None:
    assert_problem(await send(client, bytes(300_000)), 413, "MiB")


@pytest.mark.parametrize(
    ("error", "retry_after"),
    [(errors.Unavailable("Triton is away."), "2"), (errors.DeadlineExceeded("Too slow."), "2")],
)
async def test_what_passes_by_itself_says_when_to_come_back(
    client: httpx.AsyncClient,
    fake: FakeRecognizer,
    jpeg: bytes,
    error: errors.GatewayError,
    retry_after: str,
) -> None:
    fake.error = error
    response = await send(client, jpeg)
    assert_problem(response, error.status, error.detail)
    assert response.headers["Retry-After"] == retry_after


async def test_an_unforeseen_error_tells_no_internals(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    fake.error = KeyError("/secret/path")
    response = await send(client, jpeg)
    assert_problem(response, 500, "Something went wrong")
    assert "secret" not in response.text
    assert "X-Request-ID" in response.headers
    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], KeyError)


async def test_an_unknown_path_and_a_wrong_method_are_problems_too(client: httpx.AsyncClient) -> None:
    assert_problem(await client.get("/nothing"), 404, "/nothing")
    response = await client.get("/recognize")
    assert_problem(response, 405, "GET")
    assert response.headers["Allow"] == "POST"


async def test_the_request_id_is_echoed_or_made(client: httpx.AsyncClient) -> None:
    response = await client.get("/health/live", headers={"X-Request-ID": "gate-3.0017"})
    assert response.headers["X-Request-ID"] == "gate-3.0017"
    for dangerous in ("a b", "x" * 200, "\u00e9"):
        response = await client.get("/health/live", headers=[(b"X-Request-ID", dangerous.encode())])
        assert response.headers["X-Request-ID"] != dangerous
        assert len(response.headers["X-Request-ID"]) == 32


async def test_browsers_are_told_not_to_guess(client: httpx.AsyncClient) -> None:
    assert (await client.get("/nothing")).headers["X-Content-Type-Options"] == "nosniff"


async def test_nothing_is_decoded_on_the_event_loop(
    client: httpx.AsyncClient, jpeg: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    decode = EncodedImage.decode

    def watched(self: EncodedImage, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        threads.append(threading.current_thread())
        return decode(self, out)

    monkeypatch.setattr(EncodedImage, "decode", watched)
    assert (await send(client, jpeg)).status_code == 200
    assert threads
    assert threading.main_thread() not in threads


async def test_uploads_are_not_written_to_disk(
    fake: FakeRecognizer, encode: Encode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(*args: object, **kwargs: object) -> None:
        raise AssertionError("a temporary file was made")

    monkeypatch.setattr("tempfile.TemporaryFile", no_disk)
    data = encode("BMP") + bytes(3 * 2**20)
    transport = httpx.ASGITransport(create_app(Settings(), fake))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        assert (await send(client, data)).status_code == 200


async def test_recognition_is_cancelled_when_the_client_goes_away(
    settings: Settings, fake: FakeRecognizer, jpeg: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    request = httpx.Request("POST", "http://gateway/recognize", files={"image": jpeg})
    body = request.read()
    gone = asyncio.Event()
    fake.gate.clear()
    messages: Iterator[dict[str, Any]] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        assert message.get("status", 499) == 499

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/recognize",
        "raw_path": b"/recognize",
        "query_string": b"",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
    }
    answering = asyncio.create_task(create_app(settings, fake)(scope, receive, send))
    await fake.entered.wait()
    gone.set()
    await answering
    assert fake.waiting == 0
    assert "recognize 499" in caplog.text


async def test_no_log_line_holds_a_text_or_a_file_name(
    client: httpx.AsyncClient, jpeg: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await client.post("/recognize?owner=smith", files={"image": ("smith-car.jpg", jpeg)})
    assert "POST /recognize 200" in caplog.text
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name != "httpx")
    for private in ("B840OK197", "В840ОК197", "smith"):
        assert private not in ours


async def test_concurrent_requests_do_not_wait_for_each_other(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    fake.gate.clear()
    waiting = asyncio.create_task(send(client, jpeg))
    await fake.entered.wait()
    assert (await client.get("/health/live")).status_code == 200
    fake.gate.set()
    assert (await waiting).status_code == 200

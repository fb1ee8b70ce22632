"""POST /recognize: the answer and every way to say no."""

import asyncio
import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from gateway import errors, images
from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.images import EncodedImage
from gateway.recognizer import Box, Plate
from gateway.settings import Settings
from tests.gateway.support import assert_problem

Encode = Callable[..., bytes]


async def send(client: httpx.AsyncClient, data: bytes, name: str = "car.jpg") -> httpx.Response:
    return await client.post("/recognize", files={"image": (name, data)})


async def test_answers_with_the_plates(client: httpx.AsyncClient, jpeg: bytes) -> None:
    response = await send(client, jpeg)
    assert response.status_code == 200
    answer = response.json()
    total = answer["milliseconds"].pop("total")
    assert 0 < total < 60_000
    assert answer == {
        "image": {"width": 80, "height": 48},
        "plates": [
            {
                "box": {"x_min": 10.4, "y_min": 20.0, "x_max": 40.6, "y_max": 32.3},
                "text": "B840OK197",
                "text_cyrillic": "В840ОК197",
                "score": 0.9712,
                "detection_score": 0.93,
                "format": "civil",
                "region": {"code": "197", "name": "Moscow", "name_ru": "Москва"},
                "lines": 1,
                "character_scores": [0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.9877],
                "candidates": [
                    {"text": "B840OK197", "score": 0.9712},
                    {"text": "B840OK797", "score": 0.02},
                    {"text": "B340OK197", "score": 0.001},
                ],
            }
        ],
        "id": response.headers["X-Request-ID"],
        "transport": "fake",
        "milliseconds": {"queue": 0.0, "decode": 1.0, "triton": 20.0, "detect": 15.0, "read": 4.0},
    }
    assert "В840ОК197" in response.text  # not escaped: people read it


async def test_plates_that_are_told_to_be_equally_sure_come_from_left_to_right(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    """What is behind the last decimal place that is told decides nothing that a client could understand."""
    places = {40: 0.99999, 5: 0.99996, 60: 0.99991, 20: 0.9}
    fake.plates = [Plate(Box(x, 2, x + 10, 12), "B840OK197", score, score) for x, score in places.items()]
    for path in ("/recognize", "/detect"):
        plates = (await client.post(path, files={"image": jpeg})).json()["plates"]
        assert [plate["box"]["x_min"] for plate in plates] == [5, 40, 60, 20], path


async def test_a_plate_without_a_region_has_none(client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes) -> None:
    fake.plates = [Plate(Box(1, 2, 3, 4), "", 0.1, 0.5), Plate(Box(1, 2, 3, 4), "A000AA00", 0.1, 0.5, region="00")]
    unread, unknown = (await send(client, jpeg)).json()["plates"]
    assert (unread["text"], unread["format"], unread["region"]) == ("", "unknown", None)
    assert unknown["region"] == {"code": "00", "name": None, "name_ru": None}


@pytest.mark.parametrize(
    ("query", "count"), [("", 3), ("?candidates=0", 0), ("?candidates=1", 1), ("?candidates=10", 3)]
)
async def test_as_many_candidates_are_told_as_are_asked_for(
    client: httpx.AsyncClient, jpeg: bytes, query: str, count: int
) -> None:
    response = await client.post(f"/recognize{query}", files={"image": jpeg})
    assert len(response.json()["plates"][0]["candidates"]) == count


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("", ["LEFT", "RIGHT"]),
        ("?min_score=0.7", ["LEFT"]),
        ("?roi=0,0,0.5,1", ["LEFT"]),
        ("?roi=.5,0,1,1", ["RIGHT"]),
        ("?roi=0,0,0.5,1&roi=0.5,0,1,1", ["LEFT", "RIGHT"]),
        ("?roi=0,0,1,0,1,0.1,0,0.1", []),
        # A triangle whose bounding rectangle holds the left plate, and which doesn't.
        ("?roi=0,0,0.6,0,0,0.6", []),
        ("?roi=0,0,0.5,1&min_score=0.9", []),
    ],
)
async def test_only_the_wanted_plates_are_told(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes, query: str, texts: list[str]
) -> None:
    fake.plates = [
        Plate(Box(20, 20, 32, 28), "LEFT", 0.8, 0.9),
        Plate(Box(50, 20, 62, 28), "RIGHT", 0.6, 0.9),
    ]
    answer = (await client.post(f"/recognize{query}", files={"image": jpeg})).json()
    assert [plate["text"] for plate in answer["plates"]] == texts


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("candidates=11", "candidates: Input should be less than or equal to 10."),
        ("min_score=high", "min_score: Input should be a valid number"),
        ("format=pdf", "format: Input should be 'json' or 'jpeg'."),
        ("roi=0,0,1", "roi.0: Give x,y,x,y,... of 2 to 64 corners"),
        ("roi=0,0,1,1.5", "shares from 0 to 1"),
        ("roi=0,0", "2 to 64 corners"),
        ("&".join(["roi=0,0,1,1"] * 17), "at most 16 items"),
    ],
)
async def test_a_wrong_parameter_is_a_bad_request_that_says_what_is_right(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes, query: str, detail: str
) -> None:
    assert_problem(await client.post(f"/recognize?{query}", files={"image": jpeg}), 400, detail)
    assert fake.received == 0


@pytest.mark.parametrize(
    ("query", "accept", "media_type"),
    [
        ("", "*/*", "application/json"),
        ("", "image/jpeg", "image/jpeg"),
        ("", "application/json;q=0.5, image/*", "image/jpeg"),
        ("", "text/html", "application/json"),
        ("?format=jpeg", "application/json", "image/jpeg"),
        ("?format=json", "image/jpeg", "application/json"),
    ],
)
async def test_the_answer_is_a_picture_where_one_is_asked_for(
    client: httpx.AsyncClient, jpeg: bytes, query: str, accept: str, media_type: str
) -> None:
    response = await client.post(f"/recognize{query}", files={"image": jpeg}, headers={"Accept": accept})
    assert (response.status_code, response.headers["Content-Type"]) == (200, media_type)


async def test_the_picture_is_upright_and_the_wanted_plates_are_drawn_into_it(
    client: httpx.AsyncClient, encode: Encode
) -> None:
    data = encode("JPEG", orientation=6, quality=95)
    without = await client.post("/recognize?format=jpeg&min_score=1", files={"image": data})
    drawn = await client.post("/recognize?format=jpeg", files={"image": data})
    plain, painted = (np.asarray(Image.open(io.BytesIO(each.content))) for each in (without, drawn))
    assert plain.shape == painted.shape == (80, 48, 3)
    assert np.abs(plain.astype(int) - images.inspect(data, 10**6).decode()[..., ::-1]).mean() < 3
    assert np.abs(plain.astype(int) - painted).max() > 100


async def test_a_picture_without_plates_has_an_empty_list(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    fake.plates = []
    assert (await send(client, jpeg)).json()["plates"] == []


async def test_width_and_height_are_those_that_a_viewer_sees(client: httpx.AsyncClient, encode: Encode) -> None:
    response = await send(client, encode("JPEG", orientation=6))
    assert response.json()["image"] == {"width": 48, "height": 80}


async def test_an_empty_file_is_a_bad_request(client: httpx.AsyncClient) -> None:
    assert_problem(await send(client, b""), 400, "empty")


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
    [
        (errors.TooManyRequests("Too many at once."), "1"),
        (errors.Unavailable("Triton is away."), "2"),
        (errors.DeadlineExceeded("Too slow."), "2"),
    ],
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


@pytest.mark.parametrize("query", ["", "?format=jpeg"])
async def test_nothing_is_decoded_on_the_event_loop(
    client: httpx.AsyncClient, jpeg: bytes, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    threads = []
    decode = EncodedImage.decode

    def watched(self: EncodedImage) -> NDArray[np.uint8]:
        threads.append(threading.current_thread())
        return decode(self)

    monkeypatch.setattr(EncodedImage, "decode", watched)
    assert (await client.post(f"/recognize{query}", files={"image": jpeg})).status_code == 200
    assert threads
    assert threading.main_thread() not in threads


async def test_the_answer_is_due_a_while_after_the_last_byte_has_arrived(
    client: httpx.AsyncClient, fake: FakeRecognizer, settings: Settings, jpeg: bytes
) -> None:
    before = asyncio.get_running_loop().time()
    await send(client, jpeg)
    after = asyncio.get_running_loop().time()
    assert before <= fake.deadlines[0] - settings.deadline_seconds <= after


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


@pytest.mark.parametrize("path", ["/recognize", "/detect", "/blur", "/v1/plate-reader/", "/v1/vision/alpr"])
async def test_the_work_is_cancelled_when_the_client_goes_away(
    settings: Settings, fake: FakeRecognizer, jpeg: bytes, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    caplog.set_level("INFO")
    request = httpx.Request("POST", f"http://gateway{path}", files={"image": jpeg})
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
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
    }
    answering = asyncio.create_task(create_app(settings, fake)(scope, receive, send))
    await fake.entered.wait()
    gone.set()
    await answering
    assert fake.waiting == 0
    assert f"{path} 499" in caplog.text


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

"""The ways to send a picture, to every route that takes one."""

import base64
import threading
import urllib.parse
from typing import Any

import httpx
import pytest

from gateway import encodings
from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.settings import Settings
from tests.gateway.support import assert_problem

ROUTES = {"/recognize": 200, "/detect": 200, "/blur": 200, "/v1/plate-reader/": 201, "/v1/vision/alpr": 200}


URL_ENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
"""What curl --data-binary sends where it isn't told a type."""


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("field", ["image", "file", "upload"])
@pytest.mark.parametrize("route", ROUTES)
async def test_a_file_in_a_form(client: httpx.AsyncClient, jpeg: bytes, route: str, field: str) -> None:
    response = await client.post(route, files={field: ("car.jpg", jpeg)}, data={"camera": "gate 3"})
    assert response.status_code == ROUTES[route], response.text


@pytest.mark.parametrize("content_type", ["image/jpeg", "image/png", "IMAGE/JPEG; x=1", "application/octet-stream"])
async def test_the_body_itself(client: httpx.AsyncClient, jpeg: bytes, content_type: str) -> None:
    response = await client.post("/recognize", content=jpeg, headers={"Content-Type": content_type})
    assert response.json()["image"] == {"width": 80, "height": 48}


@pytest.mark.parametrize("headers", [{}, URL_ENCODED], ids=["none", "curl's"])
@pytest.mark.parametrize("route", ROUTES)
async def test_the_body_itself_whose_type_nobody_told(
    client: httpx.AsyncClient, jpeg: bytes, route: str, headers: dict[str, str]
) -> None:
    response = await client.post(route, content=jpeg, headers=headers)
    assert response.status_code == ROUTES[route], response.text


@pytest.mark.parametrize("route", [*ROUTES, "/recognize/batch"])
async def test_a_path_with_or_without_a_slash_at_its_end(client: httpx.AsyncClient, jpeg: bytes, route: str) -> None:
    other = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    response = await client.post(other, files={"image": jpeg})
    assert response.status_code == ROUTES.get(route, 200), response.text


@pytest.mark.parametrize(
    "written",
    [
        in_base64,
        lambda data: base64.encodebytes(data).decode(),
        lambda data: in_base64(data).rstrip("="),
        lambda data: base64.urlsafe_b64encode(data).decode(),
        lambda data: f"data:image/jpeg;base64,{in_base64(data)}",
    ],
    ids=["plain", "in lines", "without padding", "URL-safe", "data URL"],
)
@pytest.mark.parametrize("way", ["json", "form", "URL-encoded"])
async def test_base64(client: httpx.AsyncClient, jpeg: bytes, way: str, written: Any) -> None:
    text = written(jpeg)
    request: dict[str, Any] = {
        "json": {"json": {"image": text, "camera": 3}},
        "form": {"files": {"image": (None, text)}},
        "URL-encoded": {"data": {"image": text}},
    }[way]
    response = await client.post("/recognize", **request)
    assert response.json()["image"] == {"width": 80, "height": 48}


@pytest.mark.parametrize("size", range(6))
def test_base64_of_any_length_is_decoded(size: int) -> None:
    data = bytes(range(250, 250 + size))
    assert encodings.decode_base64(in_base64(data)) == data


@pytest.mark.parametrize(
    ("request_body", "status", "detail"),
    [
        ({}, 400, "holds no image"),
        ({"files": {"image": (None, b"car.jpg")}}, 400, "with an @ before its name"),
        ({"content": b"x"}, 415, "JPEG, PNG, WebP or BMP"),
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, "type text/plain isn't read"),
        ({"files": {"picture": b"x"}}, 400, "holds no image"),
        ({"data": {"picture": "x"}}, 400, "holds no image"),
        ({"content": b"\xff\xd8", "headers": URL_ENCODED}, 415, "JPEG, PNG, WebP or BMP"),
        ({"content": b"text", "headers": URL_ENCODED}, 400, "holds no image"),
        ({"files": [("image", b"x"), ("file", b"y")]}, 400, "/recognize/batch"),
        ({"files": {"image": b"x"}, "data": {str(i): "" for i in range(99)}}, 400, "more than 64 parts"),
        ({"data": {str(i): "" for i in range(99)}}, 400, "more than 64 fields"),
        ({"json": {"image": "", **{str(i): "" for i in range(99)}}}, 400, "more than 64 fields"),
        ({"json": {"image": "", "note": list(range(99))}}, 400, "more than 64 fields"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "no boundary"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, 400, "told apart"),
        ({"json": {"picture": ""}}, 400, "no member `image`"),
        ({"json": ["x"]}, 400, "In the body: Input should be an object"),
        ({"json": {"image": 5}}, 400, "In image: Input should be a valid string"),
        ({"json": {"image": "?"}}, 400, "no valid base64"),
        ({"json": {"image": "\u043c"}}, 400, "no valid base64"),
        ({"json": {"image": "AAA=AAAA"}}, 400, "no valid base64"),
        ({"json": {"image": ""}}, 400, "has no bytes"),
        ({"json": {"url": "http://example.org/car.jpg"}}, 400, "fetches no URLs"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "Invalid JSON"),
        ({"content": b"", "headers": {"Content-Type": "image/jpeg"}}, 400, "has no bytes"),
        (
            {"content": b"x", "headers": {"Content-Type": "image/jpeg", "Content-Encoding": "GZip"}},
            415,
            "Content-Encoding: gzip isn't read",
        ),
        ({"files": {"image": (None, b"\xff\xd8\xff")}}, 400, "field `image` holds bytes and lacks a filename"),
        ({"content": b"GIF89a", "headers": {"Content-Type": "image/gif"}}, 415, "JPEG, PNG, WebP or BMP"),
    ],
)
async def test_a_request_without_a_picture_is_told_how_to_send_one(
    client: httpx.AsyncClient, fake: FakeRecognizer, request_body: dict[str, Any], status: int, detail: str
) -> None:
    assert_problem(await client.post("/recognize", **request_body), status, detail)
    assert fake.received == 0


async def test_the_name_of_the_file_stays_out_of_what_recognizes_it(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    await client.post("/recognize", files={"image": ("smith.jpg", jpeg)})
    assert fake.clients == ["127.0.0.1"]


async def test_a_large_text_is_not_decoded_on_the_event_loop(
    fake: FakeRecognizer, jpeg: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def watched(text: str) -> bytes:
        threads.append(threading.current_thread())
        return base64.b64decode(text)

    monkeypatch.setattr(encodings, "decode_base64", watched)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_app(Settings(), fake)), base_url="http://gateway"
    ) as client:
        body = urllib.parse.urlencode({"image": in_base64(jpeg)})
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await client.post("/recognize", content=body, headers=form)).status_code == 200
        assert (await client.post("/recognize", json={"image": in_base64(jpeg)})).status_code == 200
    assert len(threads) == 2
    assert threading.main_thread() not in threads


async def test_a_compressed_batch_is_told(client: httpx.AsyncClient, jpeg: bytes) -> None:
    files = {"image": ("car.jpg", jpeg)}
    response = await client.post("/recognize/batch", files=files, headers={"Content-Encoding": "br"})
    assert_problem(response, 415, "Content-Encoding: br isn't read")


async def test_the_encoding_that_changes_nothing_is_taken(client: httpx.AsyncClient, jpeg: bytes) -> None:
    headers = {"Content-Type": "image/jpeg", "Content-Encoding": "identity"}
    assert (await client.post("/recognize", content=jpeg, headers=headers)).status_code == 200

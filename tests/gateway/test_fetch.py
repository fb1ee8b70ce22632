"""Pictures from URLs, and what must not be reached through them."""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest

from gateway.app import create_app
from gateway.errors import BadRequest, ContentTooLarge, GatewayError, UnreachableImage
from gateway.fake import FakeRecognizer
from gateway.fetch import MAX_REDIRECTS, UrlFetcher, is_public
from gateway.settings import Settings

PICTURE = b"\xff\xd8" + bytes(range(256)) * 500

Answer = Callable[[str], bytes]


def response(status: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Server:
    """A web server: a function says what it answers to a request's head, and `heads` holds those that came."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.heads: list[str] = []
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(self.answer(head))
        writer.close()


@asynccontextmanager
async def serving(answer: Answer, host: str = "127.0.0.1", **options: Any) -> AsyncIterator[Server]:
    server = Server(answer)
    async with await asyncio.start_server(server.handle, host, 0, **options) as listening:
        server.port = listening.sockets[0].getsockname()[1]
        yield server


def settings(**changes: Any) -> Settings:
    """Settings with which this machine's own servers are reached."""
    return Settings(**{"url_input": True, "url_networks": "127.0.0.0/24", "url_seconds": 5, **changes})


async def fetch(url: str, **changes: Any) -> bytes:
    async with aclosing(UrlFetcher(settings(**changes))) as fetcher:
        return await fetcher.fetch(url)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Make names resolve to the addresses that a test puts here.

    Each time that a name is asked for the last of its entries is taken away, but for the only one.
    """
    table: dict[str, list[str]] = {}
    original = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        if host not in table:
            return original(host, port, *args, **kwargs)
        addresses = table[host]
        found = addresses.pop() if len(addresses) > 1 else addresses[0]
        return [entry for address in found.split() for entry in original(address, port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return table


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - an address that must not be reached
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.9.9.9",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::808:808",
        "2001:0:7f00:1::1",
        "2002:7f00:1::1",
        "2002:c0a8:101::1",
        "2001:db8::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
    ],
)
def test_what_only_the_gateway_reaches_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "2a00:1450:4010::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_what_everybody_reaches_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


async def test_a_picture_is_fetched() -> None:
    async with serving(lambda head: response("200 OK", PICTURE)) as server:
        assert await fetch(f"http://127.0.0.1:{server.port}/cars/1.jpg?size=large#top") == PICTURE
    [head] = server.heads
    assert head.startswith("GET /cars/1.jpg?size=large HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{server.port}" in head.lower()


async def test_a_picture_is_fetched_over_ipv6(names: dict[str, list[str]]) -> None:
    names["car.example"] = ["::1"]
    try:
        async with serving(lambda head: response("200 OK", PICTURE), host="::1") as server:
            for host in ("[::1]", "car.example"):
                url = f"http://{host}:{server.port}/car.jpg"
                assert await fetch(url, url_networks="::1/128") == PICTURE
                assert f"host: {host}:{server.port}\r\n" in server.heads.pop().lower()
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f.1:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://localhost:{port}/",
        "http://public.example:{port}/",
        "http://mixed.example:{port}/",
        "http://nowhere.invalid:{port}/",
    ],
)
async def test_this_machine_is_not_reached(names: dict[str, list[str]], url: str) -> None:
    names["public.example"] = ["127.0.0.1"]
    names["mixed.example"] = ["8.8.8.8 127.0.0.1"]
    async with serving(lambda head: response("200 OK", PICTURE)) as server:
        with pytest.raises(BadRequest, match="doesn't exist or isn't on the public internet"):
            await fetch(url.format(port=server.port), url_networks="")
    assert server.heads == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "isn't one of http or https"),
        ("ftp://127.0.0.1/car.jpg", "isn't one of http or https"),
        ("//127.0.0.1/car.jpg", "isn't one of http or https"),
        ("http:///car.jpg", "isn't one of http or https"),
        ("http://user:secret@127.0.0.1/car.jpg", "user name"),
        ("http://127.0.0.1:99999/", "port is 99999"),
        ("http://\x00/", "can't be read"),
        ("http://xn--a/", "doesn't exist"),
        ("http://xn--/", "doesn't exist"),
        ("http://xn--\u0437/", "can't be read"),
        ("http://" + "a" * 70 + ".example/", "doesn't exist"),
        ("http://a..b/", "doesn't exist"),
        ("http://127.0.0.1/" + "a" * 3000, "longer than 2048"),
    ],
)
async def test_other_urls_are_refused(url: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        await fetch(url)


async def test_the_connection_goes_to_the_address_that_was_checked(names: dict[str, list[str]]) -> None:
    """A name that resolves to another address a moment later (DNS rebinding) gains nothing."""
    names["car.example"] = ["169.254.169.254", "127.0.0.1"]
    async with serving(lambda head: response("200 OK", PICTURE)) as server:
        assert await fetch(f"http://car.example:{server.port}/car.jpg") == PICTURE
        assert f"host: car.example:{server.port}\r\n" in server.heads[0].lower()
        with pytest.raises(BadRequest):
            await fetch(f"http://car.example:{server.port}/car.jpg")


async def test_the_name_and_not_the_address_is_what_tls_is_told(names: dict[str, list[str]]) -> None:
    names["car.example"] = ["127.0.0.1"]
    told: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _, name, __: told.append(name)
    async with serving(lambda head: response("200 OK"), ssl=context) as server:
        # It has no certificate.
        with pytest.raises(UnreachableImage):
            await fetch(f"https://car.example:{server.port}/car.jpg")
    assert told == ["car.example"]


async def test_redirects_are_followed_and_checked_one_by_one(names: dict[str, list[str]]) -> None:
    names["other.example"] = ["127.0.0.2"]
    names["private.example"] = ["127.0.1.1"]
    targets = {
        "/relative": "/car.jpg",
        "/other": "http://other.example:{port}/nothing",
        "/private": "http://private.example:{port}/car.jpg",
        "/file": "file:///etc/passwd",
        "/again": "/again",
    }

    def answer(head: str) -> bytes:
        path = head.split()[1]
        location = targets.get(path)
        return (
            response("302 Found", Location=location.format(port=server.port))
            if location
            else response("200 OK", PICTURE)
        )

    async with serving(answer) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert await fetch(f"{url}/relative") == PICTURE
        with pytest.raises(UnreachableImage, match="can't be reached"):
            await fetch(f"{url}/other")
        with pytest.raises(BadRequest, match="isn't on the public internet"):
            await fetch(f"{url}/private")
        with pytest.raises(BadRequest, match="http or https"):
            await fetch(f"{url}/file")
        server.heads.clear()
        with pytest.raises(UnreachableImage, match=f"more than {MAX_REDIRECTS} redirects"):
            await fetch(f"{url}/again")
        assert len(server.heads) == MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    ("location", "error", "reason"),
    [
        ("http://xn--a/", BadRequest, "doesn't exist"),
        ("//xn--/car.jpg", BadRequest, "doesn't exist"),
        ("http://[::1/", UnreachableImage, "redirects to a URL that can't be read"),
        ("http://127.0.0.1:port/", UnreachableImage, "redirects to a URL that can't be read"),
    ],
)
async def test_a_redirect_to_what_is_no_url_is_an_error(location: str, error: type[GatewayError], reason: str) -> None:
    async with serving(lambda head: response("302 Found", Location=location)) as server:
        with pytest.raises(error, match=reason):
            await fetch(f"http://127.0.0.1:{server.port}/")


async def test_an_international_name_is_resolved_and_asked_for_in_ascii(names: dict[str, list[str]]) -> None:
    names["xn--e1afmkfd.example"] = ["127.0.0.1"]
    async with serving(lambda head: response("200 OK", PICTURE)) as server:
        url = f"http://\u043f\u0440\u0438\u043c\u0435\u0440.example:{server.port}/"
        assert await fetch(url) == PICTURE
    assert f"host: xn--e1afmkfd.example:{server.port}\r\n" in server.heads[0].lower()


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (response("404 Not Found"), UnreachableImage, "answers with status 404"),
        (response("302 Found"), UnreachableImage, "answers with status 302"),
        (response("304 Not Modified", Location="/"), UnreachableImage, "answers with status 304"),
        (response("200 OK", PICTURE, Content_Encoding="gzip"), UnreachableImage, "compressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort", UnreachableImage, "breaks off"),
        (b"SSH-2.0-OpenSSH\r\n", UnreachableImage, "can't be reached"),
        (response("200 OK", bytes(2001)), ContentTooLarge, "larger than"),
        # Without a length.
        (b"HTTP/1.1 200 OK\r\n\r\n" + bytes(2001), ContentTooLarge, "larger than"),
    ],
)
async def test_what_is_no_file_is_an_error(answer: bytes, error: type[GatewayError], reason: str) -> None:
    async with serving(lambda head: answer) as server:
        with pytest.raises(error, match=reason):
            await fetch(f"http://127.0.0.1:{server.port}/", max_body_bytes=2000)


async def test_a_host_that_drips_is_left_when_the_time_is_over() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b".")
            await asyncio.sleep(0.01)

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(UnreachableImage, match=r"longer than 0\.2 s"):
            await fetch(f"http://127.0.0.1:{port}/", url_seconds=0.2)


@pytest.mark.parametrize("path", ["/recognize", "/detect", "/blur", "/v1/plate-reader/"])
async def test_routes_take_a_url(fake: FakeRecognizer, jpeg: bytes, path: str) -> None:
    transport = httpx.ASGITransport(create_app(settings(), fake))
    async with (
        serving(lambda head: response("200 OK", jpeg)) as server,
        httpx.AsyncClient(transport=transport, base_url="http://gateway") as client,
    ):
        member = "upload_url" if path.startswith("/v1") else "url"
        answer = await client.post(path, json={member: f"http://127.0.0.1:{server.port}/"})
        assert answer.status_code in (200, 201), answer.text
        description = (await client.get("/openapi.json")).json()
    bodies = description["paths"][path]["post"]["requestBody"]["content"].values()
    assert "uri" in [body["schema"].get("properties", {}).get(member, {}).get("format") for body in bodies]

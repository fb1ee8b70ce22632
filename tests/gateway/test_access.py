"""API keys, the rate limit, and what browsers of other origins may do."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from gateway.access import Keys, new_key, warn_if_open
from gateway.app import create_app
from gateway.commands.application import app as command
from gateway.fake import FakeRecognizer
from gateway.settings import Settings
from tests.gateway.support import assert_problem

KEY, ENTRY = new_key("gate-3")
OTHER_KEY, OTHER_ENTRY = new_key("office")

Gateway = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def gateway(fake: FakeRecognizer) -> Gateway:
    """A function from settings, and an address, to a client of a gateway with them."""

    @asynccontextmanager
    async def opened(address: str = "127.0.0.1", **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(create_app(Settings(**settings), fake), client=(address, 5))
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            yield client

    return opened


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": KEY},
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": f"bearer  {KEY}"},
        {"Authorization": f"Token {KEY}"},
    ],
)
async def test_a_key_admits_its_client_under_its_name(
    gateway: Gateway, fake: FakeRecognizer, jpeg: bytes, headers: dict[str, str]
) -> None:
    async with gateway(api_keys=f"{OTHER_ENTRY}, {ENTRY}") as client:
        assert (await client.post("/recognize", files={"image": jpeg}, headers=headers)).status_code == 200
    assert fake.clients == ["gate-3"]


@pytest.mark.parametrize(
    ("headers", "detail"),
    [
        ({}, "asks for an API key. Send it in the header X-API-Key"),
        ({"X-API-Key": ""}, "asks for an API key"),
        ({"Authorization": "Bearer"}, "asks for an API key"),
        ({"Authorization": f"Basic {KEY}"}, "asks for an API key"),
        ({"X-API-Key": KEY[:-1]}, "unknown here"),
        ({"X-API-Key": ENTRY.partition(":")[2]}, "unknown here"),
    ],
)
@pytest.mark.parametrize("path", ["/recognize", "/recognize/batch", "/v1/plate-reader/", "/nothing"])
async def test_without_a_known_key_nothing_is_answered(
    gateway: Gateway, fake: FakeRecognizer, jpeg: bytes, path: str, headers: dict[str, str], detail: str
) -> None:
    async with gateway(api_keys=ENTRY, compatible_endpoints=False) as client:
        response = await client.post(path, files={"image": jpeg}, headers=headers)
    if path != "/v1/plate-reader/":
        assert_problem(response, 401, detail)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert fake.received == 0


@pytest.mark.parametrize("path", ["/", "/docs", "/redoc", "/openapi.json", "/health/live", "/health/ready"])
async def test_pages_and_probes_need_no_key(gateway: Gateway, path: str) -> None:
    async with gateway(api_keys=ENTRY) as client:
        assert (await client.get(path)).status_code == 200


async def test_the_description_says_how_to_send_a_key_where_one_is_needed(gateway: Gateway) -> None:
    async with gateway(api_keys=ENTRY) as client:
        description = (await client.get("/openapi.json")).json()
    assert description["paths"]["/recognize"]["post"]["security"] == [{"ApiKey": []}, {"Bearer": []}]
    assert description["components"]["securitySchemes"].keys() == {"ApiKey", "Bearer"}
    assert "security" not in description["paths"]["/health/live"]["get"]
    async with gateway() as client:
        assert "securitySchemes" not in (await client.get("/openapi.json")).json()["components"]


async def test_the_log_names_the_key_by_its_id(gateway: Gateway, jpeg: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with gateway(api_keys=ENTRY) as client:
        await client.post("/recognize", files={"image": jpeg}, headers={"X-API-Key": KEY})
    [record] = [record for record in caplog.records if record.name == "gateway.access"]
    assert record.fields["key"] == "gate-3"  # type: ignore[attr-defined]
    assert record.getMessage().endswith("key gate-3")
    ours = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    )
    assert KEY not in ours


def test_every_known_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def watched(presented: str, known: str) -> bool:
        compared.append((presented, known))
        return presented == known

    monkeypatch.setattr("hmac.compare_digest", watched)
    assert Keys([ENTRY, OTHER_ENTRY]).identify(httpx_headers(KEY)) == "gate-3"
    assert [known for _, known in compared] == [entry.partition(":")[2] for entry in (ENTRY, OTHER_ENTRY)]


def httpx_headers(key: str) -> Any:
    return httpx.Headers({"X-API-Key": key})


@pytest.mark.parametrize("entry", ["plain", "gate:abc", "ga te:" + "0" * 64, ":" + "0" * 64, "gate:" + "G" * 64])
def test_a_setting_that_is_no_hashed_key_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="api_keys"):
        Settings(api_keys=(entry,))


def test_the_command_makes_a_key_and_what_the_gateway_is_told() -> None:
    result = CliRunner().invoke(command, ["key", "gate-3"])
    assert result.exit_code == 0
    key = re.search(r"X-API-Key: (\S{43})$", result.output, re.MULTILINE)
    entry = re.search(r"GATEWAY_API_KEYS=(\S+)$", result.output, re.MULTILINE)
    assert key is not None
    assert entry is not None
    assert Keys(Settings(api_keys=entry[1]).api_keys).identify(httpx_headers(key[1])) == "gate-3"
    assert CliRunner().invoke(command, ["key", "gate 3"]).exit_code == 2


async def test_too_many_pictures_have_to_wait(gateway: Gateway, fake: FakeRecognizer, jpeg: bytes) -> None:
    async with gateway(rate_limit="2/hour") as client:
        responses = [await client.post("/recognize", files={"image": jpeg}) for _ in range(3)]
        assert [response.status_code for response in responses] == [200, 200, 429]
        assert [response.headers["RateLimit"].partition(";t=")[0] for response in responses] == [
            '"pictures";r=1',
            '"pictures";r=0',
            '"pictures";r=0',
        ]
        assert responses[0].headers["RateLimit-Policy"] == '"pictures";q=2;w=3600'
        assert_problem(responses[2], 429, "More than 2 per 3600 s pictures. Try again in")
        assert 0 < int(responses[2].headers["Retry-After"]) <= 3600
        assert (await client.get("/health/live")).status_code == 200
        assert "RateLimit" not in (await client.get("/docs")).headers
    assert fake.received == 2


async def test_the_files_of_a_batch_count_one_by_one(gateway: Gateway, jpeg: bytes) -> None:
    async with gateway(rate_limit="2/hour") as client:
        response = await client.post("/recognize/batch", files=[("image", jpeg)] * 4)
        errors = [entry["error"] for entry in response.json()["results"]]
    assert [error and error["status"] for error in errors] == [None, None, 429, 429]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::2:3", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ],
)
async def test_each_address_has_its_own_limit(
    fake: FakeRecognizer, jpeg: bytes, one: str, other: str, same: bool
) -> None:
    app = create_app(Settings(rate_limit="1/hour"), fake)
    statuses = []
    for address in (one, other):
        transport = httpx.ASGITransport(app, client=(address, 5))
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            statuses.append((await client.post("/recognize", files={"image": jpeg})).status_code)
    assert statuses == [200, 429 if same else 200]


async def test_each_key_has_its_own_limit(gateway: Gateway, jpeg: bytes) -> None:
    async with gateway(rate_limit="1/hour", api_keys=f"{ENTRY},{OTHER_ENTRY}") as client:
        statuses = [
            (await client.post("/recognize", files={"image": jpeg}, headers={"X-API-Key": key})).status_code
            for key in (KEY, OTHER_KEY, KEY)
        ]
    assert statuses == [200, 200, 429]


async def test_requests_at_once_do_not_slip_through(gateway: Gateway, fake: FakeRecognizer, jpeg: bytes) -> None:
    async with gateway(rate_limit="3/hour") as client:
        responses = await asyncio.gather(*(client.post("/recognize", files={"image": jpeg}) for _ in range(9)))
    assert sorted(response.status_code for response in responses) == [200] * 3 + [429] * 6
    assert fake.received == 3


async def test_other_origins_are_let_in_only_where_the_setting_names_them(gateway: Gateway, jpeg: bytes) -> None:
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    async with gateway() as client:
        response = await client.post("/recognize", files={"image": jpeg}, headers=asked)
        assert "Access-Control-Allow-Origin" not in response.headers
        assert (await client.options("/recognize", headers=asked)).status_code == 405
    async with gateway(cors_origins="https://example.org", api_keys=ENTRY) as client:
        preflight = await client.options("/recognize", headers=asked)
        assert preflight.status_code == 200
        assert preflight.headers["Access-Control-Allow-Origin"] == "https://example.org"
        refused = await client.post("/recognize", files={"image": jpeg}, headers={"Origin": "https://example.org"})
        assert refused.status_code == 401
        assert refused.headers["Access-Control-Allow-Origin"] == "https://example.org"
        other = await client.options("/recognize", headers=asked | {"Origin": "https://example.com"})
        assert "Access-Control-Allow-Origin" not in other.headers
        assert "Origin" in other.headers["Vary"]
        assert_problem(other, 400, "GATEWAY_CORS_ORIGINS")


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "::1"}, False),
        ({"host": "0.0.0.0"}, True),  # noqa: S104 - that is what the warning is about
        ({"host": "gateway.example.org"}, True),
        ({"host": "0.0.0.0", "api_keys": ENTRY}, False),  # noqa: S104
    ],
)
def test_an_open_door_is_warned_of(caplog: pytest.LogCaptureFixture, settings: dict[str, Any], warned: bool) -> None:
    warn_if_open(Settings(**settings))
    assert ("set GATEWAY_API_KEYS" in caplog.text) == warned

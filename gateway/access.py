"""Who may call the API, and how often: API keys and a rate limit.

A key is random and long, so a plain SHA-256 hides it: nobody can try out what it may be, as with a password.
"""

import hashlib
import hmac
import ipaddress
import logging
import math
import re
import secrets
import time
from collections.abc import Iterable
from typing import Final

from limits import RateLimitItem
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import problems
from gateway.errors import GatewayError, TooManyRequests, Unauthorized
from gateway.settings import KEY_ID, ApiKey, Settings, parse_rate

logger = logging.getLogger(__name__)

KEY_HEADER: Final = "X-API-Key"
_SCHEMES: Final = frozenset({"bearer", "token"})
"""Of the header Authorization; Plate Recognizer's clients say "Token"."""

_PUBLIC: Final = frozenset({"/", "/docs", "/redoc", "/openapi.json"})
_PUBLIC_FOLDERS: Final = ("/assets/", "/health/")
"""Pages, what they load, and probes: everything else needs a key, where there are keys."""

_NETWORK_BITS: Final = {4: 32, 6: 64}
"""What of an address tells clients apart: one IPv6 customer has a /64 at least."""


class Keys:
    """The API keys that admit clients."""

    def __init__(self, entries: Iterable[ApiKey]) -> None:
        self._digests = dict(entry.split(":") for entry in entries)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def identify(self, headers: Headers) -> str:
        """Return the id of the key that a request brings.

        Raises:
            Unauthorized: it brings none, or an unknown one.
        """
        key = _presented(headers)
        if key is None:
            raise Unauthorized(f"This gateway asks for an API key. Send it in the header {KEY_HEADER}.")
        digest = hashlib.sha256(key.encode()).hexdigest()
        # All of them, so that the time doesn't tell which one it is.
        matches = [identity for identity, known in self._digests.items() if hmac.compare_digest(digest, known)]
        if not matches:
            raise Unauthorized("This API key is unknown here. Ask whoever runs the gateway for one.")
        return matches[0]


def _presented(headers: Headers) -> str | None:
    if key := headers.get(KEY_HEADER):
        return key
    scheme, _, value = headers.get("Authorization", "").partition(" ")
    return value.strip() or None if scheme.lower() in _SCHEMES else None


class RateLimit:
    """Counts the pictures of each client over a sliding window, in this process."""

    def __init__(self, rate: RateLimitItem) -> None:
        self._rate = rate
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def spend(self, client: str) -> None:
        """Count one picture.

        Raises:
            TooManyRequests: it is one too many.
        """
        if not await self._limiter.hit(self._rate, client):
            _, reset = await self._left(client)
            rate = f"{self._rate.amount} per {self._rate.get_expiry()} s"
            raise TooManyRequests(f"More than {rate} pictures. Try again in {reset} s.", retry_after=reset)

    async def headers(self, client: str) -> dict[str, str]:
        """Return what tells a client how much it has left (draft-ietf-httpapi-ratelimit-headers-10)."""
        remaining, reset = await self._left(client)
        return {
            "RateLimit-Policy": f'"pictures";q={self._rate.amount};w={self._rate.get_expiry()}',
            "RateLimit": f'"pictures";r={remaining};t={reset}',
        }

    async def _left(self, client: str) -> tuple[int, int]:
        """Return how many pictures are left, and after how many seconds there will be more."""
        stats = await self._limiter.get_window_stats(self._rate, client)
        return stats.remaining, max(1, math.ceil(stats.reset_time - time.time()))


class Access:
    """Decides whether a request is let in, and names its client."""

    def __init__(self, settings: Settings) -> None:
        self.keys = Keys(settings.api_keys)
        self._rate_limit = RateLimit(parse_rate(settings.rate_limit)) if settings.rate_limit else None

    def name(self, scope: Scope) -> str:
        """Return what tells a request's client apart: its key's id or, without keys, its address.

        Raises:
            Unauthorized: it needs a key, and has none that is known.
        """
        if self.keys:
            return self.keys.identify(Headers(scope=scope))
        return _network(scope["client"][0]) if scope.get("client") else ""

    async def spend(self, client: str) -> None:
        """Count one picture of a client.

        Raises:
            TooManyRequests: it is one too many.
        """
        if self._rate_limit is not None:
            await self._rate_limit.spend(client)

    async def headers(self, client: str) -> dict[str, str]:
        """Return the headers that tell a client how much it has left."""
        return {} if self._rate_limit is None else await self._rate_limit.headers(client)


def warn_if_open(settings: Settings) -> None:
    """Log a warning where strangers can send pictures: an address that others reach, and no keys."""
    if not settings.api_keys and not _is_loopback(settings.host):
        logger.warning(
            "Whoever reaches %s may send pictures: set GATEWAY_API_KEYS (plate-gateway key makes one), or "
            "GATEWAY_HOST to 127.0.0.1",
            settings.host,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    network = ipaddress.ip_network((parsed, _NETWORK_BITS[parsed.version]), strict=False)
    return str(network.network_address)


class AccessControl:
    """ASGI middleware: lets in who may, names the client for those behind it, and counts its requests."""

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        client = ""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and client:
                MutableHeaders(scope=message).update(await self._access.headers(client))
            await send(message)

        try:
            client = self._access.name(scope)
            state = scope.setdefault("state", {})
            state["client"] = client
            if self._access.keys:
                # For the access log.
                state["key"] = client
            if scope["method"] == "POST":
                await self._access.spend(client)
        except GatewayError as error:
            await problems.from_error(error, scope["path"])(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def is_public(path: str) -> bool:
    """Say whether everybody may ask for a path."""
    return path in _PUBLIC or path.startswith(_PUBLIC_FOLDERS)


def openapi_schemes(settings: Settings) -> dict[str, dict[str, str]]:
    """Return the ways to send a key, for OpenAPI; none where no key is needed."""
    if not settings.api_keys:
        return {}
    return {
        "ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER},
        "Bearer": {"type": "http", "scheme": "bearer"},
    }


def client_of(request: Request) -> str:
    """Return the name of a request's client: its key's id or its address."""
    name: str = getattr(request.state, "client", "")
    return name


def new_key(identity: str) -> tuple[str, str]:
    """Return a new key and its entry for the setting `api_keys`.

    Raises:
        ValueError: the id isn't made of letters, digits, "-" and "_".
    """
    if not re.fullmatch(KEY_ID, identity, re.ASCII):
        raise ValueError("the id may hold 1 to 64 letters, digits, - and _")
    key = secrets.token_urlsafe(32)
    return key, f"{identity}:{hashlib.sha256(key.encode()).hexdigest()}"

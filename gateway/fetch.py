"""Pictures from URLs that clients send, without letting clients reach what only the gateway can (SSRF).

A URL's host is resolved once and every address that comes out is checked; the connection goes to a checked address,
so that a name which resolves to another one a moment later gains nothing. Each redirect goes through the same checks.
"""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, Self

import httpx

from gateway.errors import BadRequest, ContentTooLarge, UnreachableImage
from gateway.settings import Settings

MAX_REDIRECTS: Final = 3
MAX_URL: Final = 2048
"""Characters."""
MAX_CONNECTIONS: Final = 32
"""Pictures that are fetched at once."""

_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65_535

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

_SPECIAL: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            # Global by their registration, and yet a cloud's own: Azure's and Oracle's metadata.
            "168.63.129.16/32",
            "192.0.0.0/24",
            # What stands for IPv4 addresses in ways that aren't looked through: IPv4-compatible, local-use NAT64 and
            # Teredo (RFC 4291, 8215, 4380).
            "::/96",
            "64:ff9b:1::/48",
            "2001::/32",
        ),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")

_NOT_PUBLIC: Final = "The URL's host doesn't exist or isn't on the public internet. Send the picture itself."

_HEADERS: Final = {
    "User-Agent": "plate-gateway",
    "Accept": "image/jpeg, image/png, image/webp, image/bmp, */*;q=0.1",
    # A small compressed answer may unfold to a very large one.
    "Accept-Encoding": "identity",
}

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def is_public(address: Address) -> bool:
    """Say whether an address is on the public internet, whichever way it is written."""
    if isinstance(address, IPv6Address):
        embedded = _embedded(address)
        if embedded is not None:
            return is_public(embedded)
    special = any(address.version == network.version and address in network for network in _SPECIAL)
    return address.is_global and not address.is_multicast and not address.is_reserved and not special


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to: mapped, NAT64 or 6to4 (RFC 4291, 6052, 3056)."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


@dataclass(frozen=True, slots=True)
class _Target:
    """A URL, and the address that it may be fetched from."""

    url: httpx.URL
    address: Address

    @classmethod
    async def of(cls, url: httpx.URL, networks: Iterable[Network]) -> Self:
        """Check a URL and resolve its host.

        Raises:
            BadRequest: it may not be fetched.
        """
        # As it goes over the wire: to decode a name that is no valid IDN fails, and the resolver and TLS want none.
        host = url.raw_host.decode("ascii")
        if url.scheme not in _PORTS or not host:
            raise BadRequest("The URL isn't one of http or https. Send one that is, or the picture itself.")
        port = url.port or _PORTS[url.scheme]
        if port > _MAX_PORT:
            raise BadRequest(f"The URL's port is {port}. Send one with a port up to {_MAX_PORT}.")
        if url.userinfo:
            raise BadRequest("The URL holds a user name. Send the picture itself.")
        addresses = await _resolve(host, port)
        for address in addresses:
            allowed = any(address.version == network.version and address in network for network in networks)
            if not allowed and not is_public(address):
                raise BadRequest(_NOT_PUBLIC)
        return cls(url, addresses[0])

    def request(self, timeout: httpx.Timeout) -> httpx.Request:
        """Return the request to the checked address, for the URL's host."""
        host = self.url.netloc.decode("ascii")
        extensions = {"sni_hostname": self.url.raw_host.decode("ascii"), "timeout": timeout.as_dict()}
        url = self.url.copy_with(host=str(self.address), fragment=None)
        return httpx.Request("GET", url, headers={**_HEADERS, "Host": host}, extensions=extensions)


async def _resolve(host: str, port: int) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadRequest(_NOT_PUBLIC) from None
    # Without the zone of a link-local address.
    return [ipaddress.ip_address(str(address[0]).partition("%")[0]) for *_, address in found]


def _join(url: httpx.URL, location: str) -> httpx.URL:
    try:
        return url.join(location)
    except (httpx.InvalidURL, ValueError):
        raise UnreachableImage("The URL's host redirects to a URL that can't be read.") from None


class NoFetcher:
    """Says no to every URL; see `gateway.uploads.Fetcher`."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def fetch(self, url: str) -> bytes:
        """Raise BadRequest."""
        raise BadRequest("This gateway fetches no URLs (GATEWAY_URL_INPUT). Send the picture itself.")


class UrlFetcher:
    """Fetches pictures over HTTP; see `gateway.uploads.Fetcher`."""

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.url_seconds
        self._max_bytes = settings.max_body_bytes
        self._networks = settings.url_networks
        self._timeout = httpx.Timeout(self._seconds)
        # A transport has no proxies, which would resolve the name again, no cookies, which hosts would fill, and looks
        # into no redirect.
        self._transport = httpx.AsyncHTTPTransport(
            trust_env=False,
            # A connection that is kept belongs to an address: another host there would get it, its certificate unseen.
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def fetch(self, url: str) -> bytes:
        """Return the bytes that a URL stands for.

        Raises:
            BadRequest: this URL isn't taken.
            ContentTooLarge: more bytes than an upload may have.
            UnreachableImage: the host doesn't answer in time, or not with a file.
        """
        if len(url) > MAX_URL:
            raise BadRequest(f"The URL is longer than {MAX_URL} characters. Send the picture itself.")
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(httpx.URL(url))
        except httpx.InvalidURL:
            raise BadRequest("The URL can't be read. Send one such as https://example.org/car.jpg.") from None
        except TimeoutError:
            raise UnreachableImage(f"The URL's host took longer than {self._seconds:g} s. Try again.") from None
        except (httpx.HTTPError, OSError):
            raise UnreachableImage("The URL's host can't be reached, or breaks off. Try again.") from None

    async def _follow(self, url: httpx.URL) -> bytes:
        for _ in range(MAX_REDIRECTS + 1):
            target = await _Target.of(url, self._networks)
            sent = await self._transport.handle_async_request(target.request(self._timeout))
            async with contextlib.aclosing(sent) as response:
                if response.status_code == httpx.codes.OK:
                    return await self._read(response)
                location = response.headers.get("Location")
                if response.status_code not in _REDIRECTS or location is None:
                    raise UnreachableImage(
                        f"The URL's host answers with status {response.status_code}, not with a file."
                    )
                url = _join(url, location)
        raise UnreachableImage(f"The URL leads through more than {MAX_REDIRECTS} redirects.")

    async def _read(self, response: httpx.Response) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise UnreachableImage("The URL's host sends the file compressed, though it wasn't asked to.")
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > self._max_bytes:
                raise ContentTooLarge(f"The file at the URL is larger than {self._max_bytes / 2**20:.3g} MiB.")
            chunks.append(chunk)
        return b"".join(chunks)

"""Where a gateway is."""

from typing import Final
from urllib.parse import urlsplit

import httpx

from gateway.settings import Settings

_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to look for who listens there
_SCHEMES: Final = frozenset({"http", "https"})
_MAX_PORT: Final = 2**16 - 1


def local_url(settings: Settings) -> str:
    """Return where a gateway with these settings is reached from this machine."""
    host = _WILDCARDS.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def is_url(text: str) -> bool:
    """Say whether a text is the URL of something that HTTP can reach: http://host:port, and a path where it has one."""
    try:
        urlsplit(text)  # knows of a bracket that isn't closed
        url = httpx.URL(text)
        # What getaddrinfo does with a name: a label that is empty or longer than 63 characters is an error.
        url.raw_host.decode("ascii").encode("idna")
    except (httpx.InvalidURL, ValueError):
        return False
    port_exists = url.port is None or 0 < url.port <= _MAX_PORT
    is_bare = not (url.query or url.fragment or any(character.isspace() for character in text))
    return url.scheme in _SCHEMES and bool(url.host) and port_exists and is_bare

"""Where the gateway of this machine is."""

from typing import Final

from gateway.settings import Settings

_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to look for who listens there


def local_url(settings: Settings) -> str:
    """Return where a gateway with these settings is reached from this machine."""
    host = _WILDCARDS.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"

"""A client of the gateway's HTTP API that gets every photo answered that can be."""

import asyncio
import http
from collections.abc import Mapping
from typing import Any, Final

import httpx

from gateway.client.errors import GatewayUnusable, KeyRefused, PhotoRefused
from gateway.client.pace import Pace

TIMEOUT: Final = httpx.Timeout(60.0, connect=5.0)
"""Seconds of silence; the gateway's own deadline ends a request long before."""

PATIENCE_SECONDS: Final = 60.0
"""How long photos are sent again and again while none is answered: a Triton that starts anew is back in less."""

_BACK_OFF_SECONDS: Final = (0.5, 5.0)
"""Pauses of a client that isn't told how long to wait."""

_LONGEST_WAIT_SECONDS: Final = 900.0
"""A gateway that asks for more, as one with a quota by the day may, isn't waited for."""

_TIMED_OUT_TRIES: Final = 3
"""A photo that exceeds the deadline so often is at fault itself."""

_BUSY: Final = frozenset({429, 502, 503})
"""Nothing is wrong with the photo; 502 is said by a proxy whose gateway starts anew."""
_UNUSABLE: Final = frozenset({403, 404, 405})


class GatewayClient:
    """Sends photos to a gateway; the methods may be called concurrently.

    Args:
        http: open client whose base URL is the gateway's.
        jobs: requests under way at most; fewer where the gateway refuses some (`Pace`).
        patience: seconds for which photos are tried again while none is answered.
    """

    def __init__(self, http: httpx.AsyncClient, jobs: int, patience: float = PATIENCE_SECONDS) -> None:
        self._http = http
        self._pace = Pace(jobs)
        self._patience = patience
        self._alive_at = 0.0

    async def recognize(self, photo: bytes, parameters: Mapping[str, str | float] | None = None) -> dict[str, Any]:
        """Return the JSON answer to one photo: `gateway.schemas.RecognizeResponse`.

        A full gateway, one that starts anew and a broken connection are tried again, at the pace that it asks for.

        Raises:
            PhotoRefused: this photo can't be answered.
            GatewayUnusable: no photo can be.
        """
        loop = asyncio.get_running_loop()
        begin = loop.time()
        pause, longest = _BACK_OFF_SECONDS
        timed_out = 0
        while True:
            async with self._pace.turn() as epoch:
                response = await self._send(photo, parameters)
                if isinstance(response, httpx.Response):
                    if response.is_success:
                        self._take_answer()
                        return _object(response)
                    if response.status_code == http.HTTPStatus.UNAUTHORIZED:
                        raise KeyRefused(detail_of(response))
                    if response.status_code in _UNUSABLE:
                        raise GatewayUnusable(detail_of(response))
                    timed_out += response.status_code == http.HTTPStatus.GATEWAY_TIMEOUT
                    again = response.status_code in _BUSY or 0 < timed_out < _TIMED_OUT_TRIES
                    if not again:
                        self._take_answer()
                        raise PhotoRefused(detail_of(response), response.status_code)
                wait = _retry_after(response)
                if wait is None:
                    wait, pause = pause, min(2 * pause, longest)
                now = loop.time()
                if _is_limited(response):
                    # Nothing is wrong with a gateway that says when to come back.
                    self._alive_at = now + wait
                if wait > _LONGEST_WAIT_SECONDS or now + wait > max(begin, self._alive_at) + self._patience:
                    raise GatewayUnusable(detail_of(response))
                self._pace.refused(epoch, wait)

    def _take_answer(self) -> None:
        self._pace.answered()
        self._alive_at = asyncio.get_running_loop().time()

    async def _send(
        self, photo: bytes, parameters: Mapping[str, str | float] | None
    ) -> httpx.Response | httpx.TransportError:
        try:
            return await self._http.post(
                "/recognize", content=photo, headers={"Content-Type": "application/octet-stream"}, params=parameters
            )
        except httpx.TransportError as error:
            return error


def _object(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "plates" not in answer:
        raise GatewayUnusable(f"{response.url.host} is no plate gateway: its answer to /recognize holds no plates.")
    return answer


def detail_of(response: httpx.Response | httpx.TransportError) -> str:
    """Return why a request had no answer, in the gateway's own words where it gives them."""
    if isinstance(response, httpx.TransportError):
        return f"The gateway can't be reached: {response or type(response).__name__}."
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        detail = f"The answer is {response.status_code} {response.reason_phrase}."
    return str(detail)


def _is_limited(response: httpx.Response | httpx.TransportError) -> bool:
    return isinstance(response, httpx.Response) and response.status_code == http.HTTPStatus.TOO_MANY_REQUESTS


def _retry_after(response: httpx.Response | httpx.TransportError) -> float | None:
    """Return the seconds that the gateway asks to wait; a date, which only proxies send, is not read."""
    if isinstance(response, httpx.TransportError):
        return None
    try:
        return max(float(response.headers["Retry-After"]), 0.0)
    except (KeyError, ValueError):
        return None

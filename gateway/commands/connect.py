"""Which gateway a command talks to: one that runs, or one that it starts inside itself."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

import httpx

from gateway.access import KEY_HEADER
from gateway.app import create_app
from gateway.client.address import local_url
from gateway.client.errors import GatewayUnusable
from gateway.client.http import TIMEOUT, detail_of
from gateway.commands.common import running_triton
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer

READY_SECONDS: Final = 120.0
"""How long a gateway that runs may take until its models are ready."""

_POLL_SECONDS: Final = 0.2
_PROBE_SECONDS: Final = 3.0

Tell = Callable[[str], None]
"""Takes a sentence about what is being done."""


@contextlib.asynccontextmanager
async def connect(
    url: str | None, key: str | None, settings: Settings, jobs: int, tell: Tell
) -> AsyncIterator[httpx.AsyncClient]:
    """Give an HTTP client of a gateway that is ready.

    Args:
        url: address of the gateway; None takes the one of the settings where something answers there, and otherwise
            runs the gateway and its Triton in this process.
        key: API key, where the gateway asks for one.
        settings: the environment's.
        jobs: connections at most.
        tell: is told what is waited for.

    Raises:
        GatewayUnusable: nothing answers at the URL, or it doesn't become ready.
        EmbeddedTritonError: no Triton can be started here.
    """
    headers = {} if key is None else {KEY_HEADER: key}
    limits = httpx.Limits(max_connections=jobs, max_keepalive_connections=jobs)
    async with httpx.AsyncClient(
        base_url=url or local_url(settings),
        headers=headers,
        limits=limits,
        timeout=TIMEOUT,
        # No proxy leads to this machine.
        trust_env=url is not None,
    ) as client:
        if await _answers(client):
            await _until_ready(client, tell)
            yield client
            return
    if url is not None:
        raise GatewayUnusable(f"No gateway answers at {url}: start one with `plate-gateway serve`, or leave --url out.")
    tell(f"No gateway answers at {local_url(settings)}: its models are started in this process.")
    async with _in_process(settings, jobs) as client:
        yield client


async def _answers(client: httpx.AsyncClient) -> bool:
    """Say whether a gateway listens there; something else that does is none."""
    try:
        answer = (await client.get("/health/live", timeout=_PROBE_SECONDS)).json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return False
    return isinstance(answer, dict) and answer.get("status") == "live"


async def _until_ready(client: httpx.AsyncClient, tell: Tell) -> None:
    told = ""
    try:
        async with asyncio.timeout(READY_SECONDS):
            while (response := await client.get("/health/ready")).status_code != httpx.codes.OK:
                if (detail := detail_of(response)) != told:
                    tell(f"The gateway at {client.base_url} isn't ready: {detail}")
                    told = detail
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise GatewayUnusable(f"The gateway isn't ready after {READY_SECONDS:g} s: {told}") from None
    except httpx.HTTPError as error:
        raise GatewayUnusable(f"The gateway at {client.base_url} went away: {error}") from error


@contextlib.asynccontextmanager
async def _in_process(settings: Settings, jobs: int) -> AsyncIterator[httpx.AsyncClient]:
    """Run the gateway here and call it without a network: what the API promises holds for the command as well."""
    # Whoever starts this process is admitted; every job has a slot, so that none is refused.
    own = {"api_keys": (), "rate_limit": None, "slots": max(jobs, settings.slots)}
    local = settings.model_copy(update=own)
    async with running_triton(local) as endpoint:
        recognizer = TritonRecognizer(local, endpoint)
        app = create_app(local, recognizer)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=TIMEOUT
            ) as client,
        ):
            await _until_ready(client, lambda _: None)
            yield client

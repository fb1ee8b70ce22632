"""What the tests with a browser share."""

import asyncio
import contextlib
import io
import mimetypes
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI
from PIL import Image
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    FilePayload,
    Page,
    Playwright,
    Route,
    expect,
)

from gateway.app import create_app
from gateway.recognizer import Box, Candidate, Plate
from gateway.settings import Settings
from gateway.triton.client import TritonRecognizer
from gateway.triton.endpoint import Endpoint
from tests.triton.support import FREE_PORTS, until_ready

CHROMIUM: Final = shutil.which("chromium") or shutil.which("google-chrome")

PATIENCE_MILLISECONDS: Final = 60_000
"""How long an expectation waits: a machine that does much else may be slow."""

EXAMPLE: Final = Path(__file__).parents[2] / "docs" / "example.jpg"
"""A drawn car, 1280 x 720, whose plate says B840OK197."""

PLATE: Final = Plate(
    box=Box(381.0, 371.1, 581.2, 414.9),
    text="B840OK197",
    score=0.9954,
    detection_score=0.8723,
    character_scores=(0.99, 0.99, 0.98, 0.99, 0.61, 0.97, 0.99, 0.99, 0.99),
    candidates=(Candidate("B840OK197", 0.9954), Candidate("B840OK157", 0.0031), Candidate("B848OK197", 0.0009)),
    format="civil",
    region="197",
)
"""Where and what it is."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to pytest."""
        yield


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    """Serve an application on a free port of the loopback; gives its URL, without a slash at its end."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = _Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        # The socket listens already: who comes before the server is served when it is there.
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


@contextlib.asynccontextmanager
async def serving_triton(endpoint: Endpoint) -> AsyncIterator[str]:
    """Serve a gateway in front of a Triton, once it is ready; gives its URL."""
    # A machine that does much else may be slow.
    settings = Settings(**FREE_PORTS, deadline_seconds=60)
    recognizer = TritonRecognizer(settings, endpoint)
    async with serving(create_app(settings, recognizer)) as url:
        await until_ready(recognizer)
        yield url


async def launch(playwright: Playwright) -> Browser:
    """Start a headless Chromium."""
    return await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


class Visit:
    """A browser's page, the requests that it tried to send elsewhere, and what its console said was wrong."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.context = context
        self.page = page
        self.foreign: list[str] = []
        self.errors: list[str] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def starting(cls, browser: Browser, **options: Any) -> AsyncIterator["Visit"]:
        """Open a page in a context of its own; the options are Playwright's for a new context."""
        defaults = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB"}
        context = await browser.new_context(**{**defaults, **options})
        try:
            visit = cls(context, await context.new_page())
            await context.route("**/*", visit._only_this_machine)
            visit.page.on("console", visit._on_console)
            # With a listener from the start on, no file chooser opens on the screen before one is expected.
            visit.page.on("filechooser", lambda _: None)
            visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
            yield visit
        finally:
            await context.close()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    async def _only_this_machine(self, route: Route) -> None:
        target = urlsplit(route.request.url)
        if target.scheme in ("http", "https") and target.hostname != "127.0.0.1":
            self.foreign.append(route.request.url)
            await route.abort()
        else:
            await route.continue_()

    def assert_clean(self, *, allowed: str | None = None) -> None:
        """Assert that no other machine was asked for anything and that no complaint lacks the allowed text."""
        complaints = [text for text in self.errors if allowed is None or allowed not in text]
        assert (self.foreign, complaints) == ([], [])

    async def open(self, url: str) -> Page:
        """Go to the gateway's page and wait until it is there."""
        await self.page.goto(f"{url}/")
        await expect(self.page.get_by_role("heading", level=1)).to_be_visible()
        return self.page

    async def send(self, *photos: FilePayload | Path) -> None:
        """Choose photos as a person does."""
        async with self.page.expect_file_chooser() as chooser:
            await self.page.locator("#choose").click()
        await (await chooser.value).set_files([payload(file) for file in photos])


def payload(file: FilePayload | Path) -> FilePayload:
    """Return a file with its content; Playwright doesn't take both kinds at once."""
    if not isinstance(file, Path):
        return file
    return {"name": file.name, "mimeType": mimetypes.guess_type(file)[0] or "", "buffer": file.read_bytes()}


def photo(
    name: str = "car.png", size: tuple[int, int] = (1280, 720), kind: str = "PNG", orientation: int | None = None
) -> FilePayload:
    """A picture that is dark in the first quarter that is stored and holds nothing else, as a file for the browser."""
    exif = Image.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    file = io.BytesIO()
    picture = Image.new("RGB", size, "slategrey")
    picture.paste("black", (0, 0, size[0] // 2, size[1] // 2))
    picture.save(file, kind, exif=exif)
    return {"name": name, "mimeType": f"image/{kind.lower()}", "buffer": file.getvalue()}


def text_file(name: str = "notes.txt") -> FilePayload:
    """What isn't a picture."""
    return {"name": name, "mimeType": "text/plain", "buffer": b"Not a picture."}

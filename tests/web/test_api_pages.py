"""/docs and /redoc in a headless Chromium that can reach nothing but this machine."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from PIL import Image

from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.recognizer import Plate
from gateway.settings import Settings

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A gateway with a fake recognizer, in a thread of its own: the browser's driver blocks this one."""
    fake = FakeRecognizer([Plate(10, 20, 30, 40, "B840OK197", 0.97, 0.93)])
    server = uvicorn.Server(uvicorn.Config(create_app(Settings(), fake), port=0, log_config=None))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page, the requests that it tried to send elsewhere, and what its console said was wrong."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.foreign: list[str] = []
        self.errors: list[str] = []
        page.route("**/*", self._only_this_machine)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _only_this_machine(self, route: Route) -> None:
        target = urlsplit(route.request.url)
        if target.scheme in ("http", "https") and target.hostname != "127.0.0.1":
            self.foreign.append(route.request.url)
            route.abort()
        else:
            route.continue_()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield Visit(page)
    page.close()


def test_swagger_ui_shows_the_api_and_sends_a_picture(url: str, visit: Visit, tmp_path: Path) -> None:
    picture = tmp_path / "car.png"
    Image.new("RGB", (64, 48)).save(picture)
    page = visit.page
    page.goto(f"{url}/")
    expect(page).to_have_url(f"{url}/docs")
    expect(page.get_by_role("heading", name="Plate gateway")).to_be_visible()
    page.get_by_text("Read the licence plates of a picture").click()
    page.locator("input[type=file]").set_input_files(picture)
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".responses-table.live-responses-table")).to_contain_text("В840ОК197")
    page.screenshot(path=tmp_path / "docs.png")
    assert (visit.foreign, visit.errors) == ([], [])


def test_redoc_shows_the_api(url: str, visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    page.goto(f"{url}/redoc")
    expect(page.get_by_role("heading", name="Plate gateway")).to_be_visible()
    expect(page.get_by_role("heading", name="Read the licence plates of a picture")).to_be_visible()
    # Its logo is the one thing that it would load from a CDN.
    expect(page.get_by_text("API docs by Redocly")).to_be_visible()
    page.get_by_role("textbox").first.fill("picture")
    expect(page.locator("[data-role='search:results']")).to_contain_text("Read the licence plates")
    page.screenshot(path=tmp_path / "redoc.png")
    assert (visit.foreign, visit.errors) == ([], [])

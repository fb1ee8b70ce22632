"""A browser and, for the page's own cases, a gateway with a fake recognizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.settings import Settings

if TYPE_CHECKING:
    # Playwright is there for these tests only: this file is read for all of them.
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser

    from tests.web.support import Visit


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One headless Chromium for all tests."""
    from playwright.async_api import async_playwright, expect

    from tests.web.support import CHROMIUM, PATIENCE_MILLISECONDS, launch

    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        yield browser
        await browser.close()


@pytest.fixture
async def visit(browser: Browser) -> AsyncIterator[Visit]:
    """An English visitor with a large screen."""
    from tests.web.support import Visit

    async with Visit.starting(browser) as visit:
        yield visit


@pytest.fixture
def settings() -> Settings:
    return Settings(max_body_bytes=2_000_000, deadline_seconds=5)


@pytest.fixture
async def fake() -> FakeRecognizer:
    from tests.web.support import PLATE

    return FakeRecognizer([PLATE])


@pytest.fixture
async def url(settings: Settings, fake: FakeRecognizer) -> AsyncIterator[str]:
    """A gateway that answers every picture with the plate of the example."""
    from tests.web.support import serving

    async with serving(create_app(settings, fake)) as url:
        yield url

"""/docs and /redoc in a headless Chromium that can reach nothing but this machine."""

import pytest

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from playwright.async_api import expect

from tests.web.support import Visit

pytestmark = pytest.mark.browser


async def test_redoc_shows_the_api(url: str, visit: Visit) -> None:
    page = visit.page
    await page.goto(f"{url}/redoc")
    await expect(page.get_by_role("heading", name="Plate gateway")).to_be_visible()
    await expect(page.get_by_role("heading", name="Read the licence plates of a picture")).to_be_visible()
    # Its logo is the one thing that it would load from a CDN.
    await expect(page.get_by_text("API docs by Redocly")).to_be_visible()
    await page.get_by_role("textbox").first.fill("picture")
    await expect(page.locator("[data-role='search:results']")).to_contain_text("Read the licence plates")
    visit.assert_clean()


async def test_the_page_leads_to_both(url: str, visit: Visit) -> None:
    page = await visit.open(url)
    await page.get_by_role("link", name="API", exact=True).click()
    await expect(page.get_by_role("heading", name="Plate gateway")).to_be_visible()
    await page.go_back()
    await page.get_by_role("link", name="ReDoc").click()
    await expect(page.get_by_text("API docs by Redocly")).to_be_visible()
    visit.assert_clean()

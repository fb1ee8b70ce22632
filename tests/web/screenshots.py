"""Take the screenshots in docs/screenshots: drawn pictures, the real service. `python -m tests.web.screenshots`."""

import asyncio
import io
from pathlib import Path
from typing import Any, Final

import cv2
from PIL import Image
from playwright.async_api import Browser, FilePayload, async_playwright, expect

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from nets.data.plates import render_scene
from tests.triton.support import FREE_PORTS
from tests.web.support import EXAMPLE, Visit, launch, payload, serving_triton

FOLDER: Final = Path(__file__).parents[2] / "docs" / "screenshots"

SCENES: Final = (("A123BC77", 5), ("M456OP178", 8), ("E077KX50", 11))
"""Texts and seeds of the other pictures."""

VIEWS: Final[dict[str, dict[str, Any]]] = {
    "desk": {"viewport": {"width": 1280, "height": 860}, "locale": "en-GB"},
    "desk-dark": {"viewport": {"width": 1280, "height": 860}, "locale": "ru-RU", "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "locale": "ru-RU",
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
}
"""Names of the files, and Playwright's options for a new context."""


def scenes() -> list[FilePayload]:
    """Draw cars with plates; the example of the README is the first."""
    drawn: list[FilePayload] = [payload(EXAMPLE)]
    for text, seed in SCENES:
        image, _, _ = render_scene(text, seed, 1280, 720, 200)
        drawn.append(
            {"name": f"gate-{seed}.jpg", "mimeType": "image/jpeg", "buffer": cv2.imencode(".jpg", image)[1].tobytes()}
        )
    return drawn


def save(picture: bytes, name: str) -> None:
    """Write a screenshot as WebP, which is a fraction of its PNG."""
    FOLDER.mkdir(exist_ok=True)
    Image.open(io.BytesIO(picture)).convert("RGB").save(FOLDER / f"{name}.webp", quality=82, method=6)


async def show(browser: Browser, url: str, name: str) -> None:
    """Take one view of the page, empty and with results."""
    async with Visit.starting(browser, **VIEWS[name]) as visit:
        page = await visit.open(url)
        save(await page.screenshot(), f"{name}-empty")
        await visit.send(*scenes())
        await expect(page.locator(".thumb[data-status=done]")).to_have_count(1 + len(SCENES), timeout=60_000)
        await page.locator("summary").first.click()
        await page.mouse.move(0, 0)
        await page.wait_for_function("document.querySelector('.stage img').complete")
        height = await page.evaluate("Math.max(innerHeight, document.getElementById('page').scrollHeight)")
        await page.set_viewport_size({"width": VIEWS[name]["viewport"]["width"], "height": height})
        save(await page.screenshot(), name)


async def main() -> None:
    """Take all of them."""
    async with (
        EmbeddedTriton(Settings(**FREE_PORTS)) as triton,
        serving_triton(triton.endpoint) as url,
        async_playwright() as playwright,
    ):
        browser = await launch(playwright)
        for name in VIEWS:
            await show(browser, url, name)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())

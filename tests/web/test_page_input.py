"""The page at `/`: the ways in, in a real browser."""

import base64
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from playwright.async_api import Browser, Page, expect

from gateway.fake import FakeRecognizer
from tests.web.support import EXAMPLE, Visit, photo

pytestmark = pytest.mark.browser


async def drag(page: Page, *paths: Path) -> None:
    """Drag files from outside over the page, as an operating system does."""
    session = await page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver"):
        await session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})
    await expect(page.get_by_text("Drop the photos")).to_be_visible()
    await session.send("Input.dispatchDragEvent", {"type": "drop", "x": 300, "y": 300, "data": data})


async def test_a_chosen_photo_is_read(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(photo())
    await expect(page.get_by_role("img", name="Plate В 840 ОК 197")).to_be_visible()
    await expect(page.get_by_role("tab", name="car.png 1 plate")).to_have_attribute("aria-selected", "true")
    visit.assert_clean()


async def test_dropped_photos_are_read(visit: Visit, url: str, tmp_path: Path) -> None:
    other = tmp_path / "other.png"
    other.write_bytes(photo()["buffer"])
    page = await visit.open(url)
    await drag(page, EXAMPLE, other)
    await expect(page.get_by_role("tab")).to_have_count(2)
    await expect(page.get_by_role("tab", name="1 plate")).to_have_count(2)
    await expect(page.get_by_text("Drop the photos")).to_be_hidden()
    visit.assert_clean()


async def test_a_dropped_folder_is_refused_in_words(visit: Visit, url: str, tmp_path: Path) -> None:
    page = await visit.open(url)
    await drag(page, tmp_path)
    await expect(page.get_by_role("alert")).to_have_text("A folder can't be taken: drop the photos in it.")
    await expect(page.get_by_role("tab")).to_have_count(0)


async def test_a_pasted_picture_is_read(visit: Visit, url: str) -> None:
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await visit.open(url)
    picture = base64.b64encode(photo()["buffer"]).decode()
    await page.evaluate(
        """async (picture) => {
            const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
            const blob = new Blob([bytes], { type: "image/png" });
            await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
        }""",
        picture,
    )
    await page.keyboard.press("Control+V")
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
    visit.assert_clean()


async def test_a_pasted_text_is_no_picture(visit: Visit, url: str) -> None:
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await visit.open(url)
    await page.evaluate("navigator.clipboard.writeText('a text')")
    await page.keyboard.press("Control+V")
    await expect(page.get_by_role("alert")).to_have_text("There is no picture on the clipboard.")


async def test_a_phone_offers_its_camera(browser: Browser, url: str) -> None:
    async with Visit.starting(browser, viewport={"width": 390, "height": 844}, has_touch=True) as phone:
        page = await phone.open(url)
        async with page.expect_file_chooser() as chooser:
            await page.get_by_role("button", name="Take a photo").tap()
        field = (await chooser.value).element
        assert await field.get_attribute("capture") == "environment"
        await (await chooser.value).set_files(photo())
        await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
        phone.assert_clean()


async def test_a_desk_offers_no_camera(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await expect(page.get_by_role("button", name="Take a photo")).to_be_hidden()


async def test_the_example_is_read(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await page.get_by_role("button", name="Try an example").click()
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
    visit.assert_clean()


async def test_the_same_photo_can_be_chosen_again(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    for count in (1, 2):
        await visit.send(EXAMPLE)
        await expect(page.get_by_role("tab", name="1 plate")).to_have_count(count)


async def test_many_photos_are_sent_a_few_at_a_time(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    page = await visit.open(url)
    fake.gate.clear()
    await visit.send(*(photo(f"car-{number}.png", (64, 48)) for number in range(8)))
    await expect(page.get_by_role("tab", name="Reading…")).to_have_count(3)
    await expect(page.get_by_role("tab", name="Queued")).to_have_count(5)
    fake.gate.set()
    await expect(page.get_by_role("tab", name="1 plate")).to_have_count(8)
    assert fake.received == 8
    visit.assert_clean()


async def test_a_removed_photo_is_not_sent(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    page = await visit.open(url)
    fake.gate.clear()
    await visit.send(*(photo(f"car-{number}.png", (64, 48)) for number in range(4)))
    await expect(page.get_by_role("tab", name="Reading…")).to_have_count(3)
    await page.get_by_role("tab", name="Queued").click()
    await page.get_by_role("button", name="Remove", exact=True).click()
    fake.gate.set()
    await expect(page.get_by_role("tab", name="1 plate")).to_have_count(3)
    assert fake.received == 3


async def test_removing_all_photos_leads_back_to_the_start(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(photo(), photo())
    await page.get_by_role("button", name="Remove all").click()
    await expect(page.get_by_role("tabpanel")).to_be_hidden()
    await expect(page.get_by_role("button", name="Choose photos")).to_be_focused()
    await expect(page.get_by_role("button", name="Try an example")).to_be_visible()


async def test_only_the_photo_that_is_looked_at_is_held(visit: Visit, url: str) -> None:
    await visit.page.add_init_script(
        """window.held = new Set();
        const [make, revoke] = [URL.createObjectURL.bind(URL), URL.revokeObjectURL.bind(URL)];
        URL.createObjectURL = (blob) => { const url = make(blob); held.add(url); return url; };
        URL.revokeObjectURL = (url) => { held.delete(url); revoke(url); };"""
    )
    page = await visit.open(url)
    await visit.send(*(photo(f"car-{number}.png") for number in range(4)))
    for number in (3, 0, 2, 1, 0):
        await page.get_by_role("tab", name=f"car-{number}.png").click()
        await expect(page.get_by_role("figure").get_by_role("img")).to_have_js_property("naturalWidth", 1280)
        assert await page.evaluate("held.size") == 1
    await page.get_by_role("button", name="Remove all").click()
    assert await page.evaluate("held.size") == 0

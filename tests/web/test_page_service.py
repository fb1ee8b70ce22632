"""The pages with the real service behind them: a real Triton, the real networks, the example picture."""

import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from PIL import Image
from playwright.async_api import Browser, FilePayload, Page, expect

from gateway.triton.embedded import EmbeddedTriton
from nets.data import index
from plates.alphabet import to_latin
from tests.web.support import EXAMPLE, PLATE, Visit, serving_triton, text_file

pytestmark = pytest.mark.browser

DRAWN = [("A123BC", "77"), ("E456HK", "99"), ("M780OP", "197"), ("T999TX", "50"), ("Y304XE", "178")]
"""Series and regions with each of the 22 characters."""
LARGE = 200
"""Width in pixels of a plate that anybody can read."""


def real_photo() -> tuple[Path, str]:
    """A photo that was never trained on, whose only plate is large, and the plate's text."""
    if not index.available():
        pytest.skip(f"there are no labelled photos in {index.ROOT}")
    for image in index.load():
        if image.kind == "scene" and image.fold == index.HELD_OUT_FOLD and image.complete and len(image.plates) == 1:
            (plate,) = image.plates
            if plate.text and plate.type == "standard" and plate.box[2] - plate.box[0] > LARGE:
                return image.path, plate.text
    pytest.skip(f"no photo in {index.ROOT} has a single large plate")


@pytest.fixture(scope="module")
async def service(triton: EmbeddedTriton) -> AsyncIterator[str]:
    async with serving_triton(triton.endpoint) as url:
        yield url


async def assert_read(page: Page) -> None:
    await expect(page.get_by_role("img", name="Plate В 840 ОК 197")).to_be_visible()


async def test_the_page_reads_the_example(visit: Visit, service: str) -> None:
    page = await visit.open(service)
    await visit.send(EXAMPLE)
    await assert_read(page)
    await expect(page.locator(".card-facts")).to_have_text("Civil · Moscow")
    await page.get_by_text("Other readings").click()
    await expect(page.locator(".candidates li").first).to_contain_text("B840OK197")
    await expect(page.locator(".character")).to_have_count(9)
    await page.get_by_text("Where the time went").click()
    await expect(page.locator(".timing-row")).to_have_count(6)
    visit.assert_clean()


async def test_the_page_reads_a_real_photo(visit: Visit, service: str) -> None:
    photo, text = real_photo()
    page = await visit.open(service)
    await visit.send(photo)
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
    shown = await page.locator(".card-text").text_content()
    assert shown is not None
    assert to_latin(shown.replace(" ", "")) == text
    visit.assert_clean()


async def test_the_box_lies_on_the_plate(visit: Visit, service: str) -> None:
    page = await visit.open(service)
    await visit.send(EXAMPLE)
    await assert_read(page)
    picture = await page.get_by_role("figure").get_by_role("img").bounding_box()
    box = await page.locator(".box").bounding_box()
    assert picture is not None
    assert box is not None
    scale = 1280 / picture["width"]
    left, top = (box["x"] - picture["x"]) * scale, (box["y"] - picture["y"]) * scale
    assert (left, top) == pytest.approx((PLATE.box.x_min, PLATE.box.y_min), abs=15)


async def test_the_pages_own_example_is_read(visit: Visit, service: str) -> None:
    page = await visit.open(service)
    await page.get_by_role("button", name="Try an example").click()
    await assert_read(page)
    visit.assert_clean()


async def test_a_phone_reads_several_photos(browser: Browser, service: str) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "locale": "ru-RU"}
    async with Visit.starting(browser, **options) as phone:
        page = await phone.open(service)
        await phone.send(*[EXAMPLE] * 5)
        await expect(page.get_by_role("tab", name="1 номер")).to_have_count(5)
        await expect(page.locator(".card-facts")).to_have_text("Гражданский · Москва")
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        phone.assert_clean()


async def test_a_text_file_gets_the_services_words(visit: Visit, service: str) -> None:
    page = await visit.open(service)
    await visit.send(text_file())
    await expect(page.get_by_role("heading", name="This isn't a picture that can be read here")).to_be_visible()
    await expect(page.locator(".failure-detail")).to_contain_text("JPEG")


async def test_swagger_ui_sends_a_picture_and_shows_its_plates(visit: Visit, service: str) -> None:
    page = visit.page
    await page.goto(f"{service}/docs")
    await expect(page.get_by_role("heading", name="Plate gateway")).to_be_visible()
    operation = page.locator(".opblock", has_text="Read the licence plates of a picture")
    await operation.locator(".opblock-summary-control").click()
    await operation.locator("input[type=file]").first.set_input_files(EXAMPLE)
    await operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table")
    await expect(answer).to_contain_text('"text": "B840OK197"')
    visit.assert_clean()


async def test_the_reader_reads_the_plates_that_the_page_draws(visit: Visit, service: str) -> None:
    """The drawings look like plates: put in place of the example's, each of them is found and read."""
    page = await visit.open(service)
    for series, region in DRAWN:
        text = series + region
        drawing = await drawn(page, text, region)
        await visit.send(with_plate(drawing, f"{text}.png"))
        await expect(page.get_by_role("tab", name=f"{text}.png 1 plate")).to_be_visible()
        answer = json.loads(await page.get_by_label("JSON", exact=True).text_content() or "")
        assert [plate["text"] for plate in answer["plates"]] == [text]


async def drawn(page: Page, text: str, region: str) -> Image.Image:
    """Return a drawing of the page, 520 pixels wide."""
    await page.evaluate(
        """async ([text, code]) => {
            const { drawPlate } = await import("/assets/page/js/plate.js");
            const drawing = drawPlate({ text, format: "civil", lines: 1, region: { code } });
            drawing.id = "drawn";
            drawing.style.cssText = "position: fixed; inset: 0 auto auto 0; width: 520px; z-index: 99";
            document.getElementById("drawn")?.remove();
            document.body.append(drawing);
        }""",
        [text, region],
    )
    drawing = await page.locator("#drawn").screenshot()
    await page.evaluate("document.getElementById('drawn').remove()")
    return Image.open(io.BytesIO(drawing)).convert("RGB")


def with_plate(drawing: Image.Image, name: str) -> FilePayload:
    """Return the example with a drawing where its plate is."""
    scene = Image.open(EXAMPLE)
    box = PLATE.box
    place = (round(box.x_min), round(box.y_min), round(box.x_max), round(box.y_max))
    scene.paste(drawing.resize((place[2] - place[0], place[3] - place[1]), Image.Resampling.LANCZOS), place)
    file = io.BytesIO()
    scene.save(file, "PNG")
    return {"name": name, "mimeType": "image/png", "buffer": file.getvalue()}

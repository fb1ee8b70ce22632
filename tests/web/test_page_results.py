"""The page at `/`: what it shows of an answer, and what it gives away."""

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from PIL import Image, ImageOps
from playwright.async_api import FilePayload, Locator, Page, expect

from gateway.fake import FakeRecognizer
from gateway.recognizer import Box
from tests.web.support import EXAMPLE, PLATE, Visit, photo

pytestmark = pytest.mark.browser

TAXI = replace(PLATE, box=Box(900, 500, 1100, 545), text="AB12377", score=0.93, format="taxi", region="77")
UNREADABLE = replace(PLATE, box=Box(40, 30, 240, 75), text="", score=0.2, format="unknown", region="", candidates=())


async def clipboard(page: Page) -> str:
    text: str = await page.evaluate("navigator.clipboard.readText()")
    return text


async def shown_json(page: Page) -> str:
    text = await page.get_by_label("JSON", exact=True).text_content()
    assert text is not None
    return text


async def shown_box(page: Page) -> tuple[float, float, float, float]:
    """Return the first box that is drawn over the photo, as shares of the photo's size."""
    picture = await page.get_by_role("figure").get_by_role("img").bounding_box()
    box = await page.locator(".box").first.bounding_box()
    assert picture is not None
    assert box is not None
    left = (box["x"] - picture["x"]) / picture["width"]
    top = (box["y"] - picture["y"]) / picture["height"]
    return left, top, left + box["width"] / picture["width"], top + box["height"] / picture["height"]


async def dark_corners(image: Locator) -> list[bool]:
    """Say of each corner of a picture on the page whether it is dark: the upper two, the lower two, left first."""
    corners: list[bool] = await image.evaluate(
        """(image) => {
            const canvas = document.createElement("canvas");
            const [width, height] = [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
            const context = canvas.getContext("2d", { willReadFrequently: true });
            context.drawImage(image, 0, 0);
            const isDark = (x, y) => context.getImageData(x * width, y * height, 1, 1).data[0] < 50;
            return [isDark(0.1, 0.1), isDark(0.9, 0.1), isDark(0.1, 0.9), isDark(0.9, 0.9)];
        }"""
    )
    return corners


def corners_meant_dark(file: FilePayload) -> list[bool]:
    """Say the same of a file, as Pillow turns it."""
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(file["buffer"]))).convert("L")
    columns, rows = ((round(size * 0.1), round(size * 0.9)) for size in picture.size)
    return [bool(np.asarray(picture)[y, x] < 50) for y in rows for x in columns]


async def test_a_card_tells_text_type_region_and_scores(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    card = page.get_by_role("listitem").filter(has=page.get_by_role("img", name="Plate В 840 ОК 197"))
    await expect(card).to_contain_text("Civil · Moscow")
    await expect(card).to_contain_text("Read99.5%")
    await expect(card).to_contain_text("Found87%")


async def test_readings_and_characters_come_on_demand(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await expect(page.get_by_text("B840OK157")).to_be_hidden()
    await page.get_by_text("Other readings").click()
    candidates = page.locator(".candidates li")
    await expect(candidates).to_have_text(["B840OK19799.5%", "B840OK1570.3%", "B848OK197< 0.1%"])
    await expect(page.locator(".character")).to_have_count(9)
    await expect(page.locator(".character-doubtful")).to_have_text("O61")


async def test_the_time_is_told_by_stage(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await expect(page.get_by_text("Answered in")).to_be_visible()
    await page.get_by_text("Where the time went").click()
    for stage, value in (("Decoding", "1 ms"), ("Finding plates", "15 ms"), ("Reading plates", "4 ms")):
        await expect(page.locator(".timing-row").filter(has_text=stage)).to_contain_text(value)
    await expect(page.get_by_text("Way to Triton: fake")).to_be_visible()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_boxes_lie_on_the_photo_whatever_its_orientation(
    visit: Visit, url: str, fake: FakeRecognizer, kind: str
) -> None:
    page = await visit.open(url)
    for orientation in range(1, 9):
        size = (600, 400) if orientation < 5 else (400, 600)
        fake.plates = [replace(PLATE, box=Box(150, 100, 300, 140))]
        # Stored on its side where its orientation is 5 or more: what the viewer sees is 600 x 400.
        file = photo(f"{orientation}.{kind}", size, kind, orientation)
        await visit.send(file)
        image = page.get_by_role("img", name=f"{orientation}.{kind}, plates: В840ОК197")
        await expect(image).to_have_js_property("naturalWidth", 600)
        assert await dark_corners(image) == corners_meant_dark(file)
        await expect(page.locator(".box")).to_have_count(1)
        assert await shown_box(page) == pytest.approx((0.25, 0.25, 0.5, 0.35), abs=0.01)
    visit.assert_clean()


async def test_pointing_at_a_plate_marks_it_in_picture_and_list(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.plates = [PLATE, TAXI]
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await page.locator(".box").nth(1).hover()
    await expect(page.locator(".card-active")).to_contain_text("АВ 123 77")
    await page.locator(".card").first.hover()
    await expect(page.locator(".box-active")).to_have_attribute("data-plate", "0")


async def test_each_type_of_plate_has_its_look(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.plates = [PLATE, TAXI, replace(PLATE, text="A123BC77", score=0.6, region="77", lines=2)]
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    plates = page.locator(".card .plate")
    await expect(plates).to_have_count(3)
    grounds = [await plates.nth(index).locator("rect").first.get_attribute("fill") for index in range(3)]
    assert grounds[0] == grounds[2] != grounds[1]
    views = [await plates.nth(index).get_attribute("viewBox") for index in range(3)]
    assert views == ["0 0 520 112", "0 0 520 112", "0 0 290 170"]


async def test_an_unreadable_plate_is_said_to_be(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.plates = [UNREADABLE]
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await expect(page.locator(".card")).to_contain_text("Unreadable")
    await expect(page.get_by_role("button", name="Copy", exact=True)).to_have_count(0)


async def test_a_photo_without_plates_is_no_failure(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.plates = []
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await expect(page.get_by_role("heading", name="No plates found")).to_be_visible()
    await expect(page.get_by_role("tab", name="No plates")).to_be_visible()


async def test_a_cut_out_of_the_photo_stands_beside_each_plate_in_both_languages(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    crop = page.get_by_role("img", name="The plate in the photo")
    await expect(crop).to_have_js_property("width", 440)
    await page.get_by_role("button", name="Русский").click()
    crop = page.get_by_role("img", name="Номер на фотографии")
    await expect(crop).to_have_js_property("width", 440)
    # Light in the middle, where the plate is; dark beside it, where the car is.
    lights = await crop.evaluate(
        """(canvas) => [0.02, 0.36].map((x) => {
            const { width, height } = canvas;
            const data = canvas.getContext("2d").getImageData(x * width, height / 2, 20, 1).data;
            return Math.max(...data.filter((_, index) => index % 4 === 1));
        })"""
    )
    assert lights[0] < 80 < 180 < lights[1]


async def test_a_picture_that_the_browser_cannot_show_has_its_plates_listed(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await page.route("blob:**", lambda route: route.abort())
    await page.evaluate("URL.createObjectURL = () => 'blob:nothing'")
    await visit.send(EXAMPLE)
    await expect(page.get_by_text("This browser can't show this file.")).to_be_visible()
    await expect(page.get_by_role("img", name="Plate В 840 ОК 197")).to_be_visible()


async def test_the_answer_is_copied_as_json(visit: Visit, url: str) -> None:
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await page.get_by_role("button", name="Copy JSON").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    answer = json.loads(await clipboard(page))
    assert answer["image"] == {"width": 1280, "height": 720}
    assert answer["plates"][0]["text"] == "B840OK197"
    assert await shown_json(page) == await clipboard(page)


async def test_all_answers_are_copied_with_the_names_of_their_files(visit: Visit, url: str) -> None:
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await visit.open(url)
    await visit.send(photo("a.png"))
    await expect(page.get_by_role("button", name="Copy all as JSON")).to_be_hidden()
    await visit.send(photo("b.png"))
    await page.get_by_role("button", name="Copy all as JSON").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    answers = json.loads(await clipboard(page))
    assert [(answer["file"], len(answer["plates"])) for answer in answers] == [("a.png", 1), ("b.png", 1)]


async def test_copying_works_without_the_clipboard_interface(visit: Visit, url: str) -> None:
    """Browsers offer it on https and localhost only."""
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await visit.open(url)
    await page.evaluate(
        """() => {
            window.hidden = navigator.clipboard;
            Object.defineProperty(navigator, "clipboard", { value: undefined });
        }"""
    )
    await visit.send(EXAMPLE)
    button = page.get_by_role("button", name="Copy", exact=True)
    await button.click()
    await expect(page.get_by_role("button", name="Copied")).to_be_focused()
    assert await page.evaluate("hidden.readText()") == "В840ОК197"


@pytest.mark.parametrize("name", ["car.png", "it's a; car, 2.png", 'a "b" $HOME `ls`.png'])
async def test_the_curl_command_runs_and_gives_the_same_answer(
    visit: Visit, url: str, tmp_path: Path, name: str
) -> None:
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    file = photo(name)
    (tmp_path / name).write_bytes(file["buffer"])
    page = await visit.open(url)
    await visit.send(file)
    await page.get_by_role("button", name="Copy curl").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    command = await clipboard(page)
    assert command.startswith("curl -F ")
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", f"{command} --silent --show-error", cwd=tmp_path, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert json.loads(output)["plates"] == json.loads(await shown_json(page))["plates"]

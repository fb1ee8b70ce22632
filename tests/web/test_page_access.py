"""The page at `/` for everybody: keyboard, screen reader, language, theme, sizes of screens."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from playwright.async_api import Browser, Page, expect

from gateway.access import new_key
from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.recognizer import Box
from gateway.settings import Settings
from tests.web import accessibility
from tests.web.support import PLATE, Visit, photo, serving, text_file

pytestmark = pytest.mark.browser

THEMES = ["light", "dark"]
SIZES = [(320, 568), (390, 844), (820, 1180), (1280, 800), (1920, 1080)]
LONG = photo("a-very-long-name-of-a-photo-that-some-camera-gave-it-" * 3 + ".png")


async def open_all_details(page: Page) -> None:
    for summary in await page.locator("summary").all():
        await summary.click()


@pytest.fixture(params=THEMES)
async def themed(request: pytest.FixtureRequest, browser: Browser) -> AsyncIterator[Visit]:
    async with Visit.starting(browser, color_scheme=request.param) as visit:
        yield visit


async def assert_accessible(page: Page) -> None:
    assert await accessibility.unnamed(page) == []
    assert await accessibility.faint(page) == []
    assert await accessibility.small_targets(page) == []


async def test_names_contrasts_and_targets_without_photos(themed: Visit, url: str) -> None:
    await assert_accessible(await themed.open(url))


async def test_names_contrasts_and_targets_of_results(themed: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.plates = [PLATE, replace(PLATE, text="", box=Box(40, 30, 240, 75))]
    page = await themed.open(url)
    await themed.send(photo(), photo())
    await expect(page.get_by_role("tab", name="2 plates")).to_have_count(2)
    await open_all_details(page)
    await assert_accessible(page)


async def test_names_contrasts_and_targets_of_a_failure(themed: Visit, url: str) -> None:
    page = await themed.open(url)
    await themed.send(text_file())
    await expect(page.get_by_role("tab", name="Failed")).to_be_visible()
    await assert_accessible(page)


async def test_names_contrasts_and_targets_while_waiting(themed: Visit, url: str) -> None:
    page = await themed.open(url)
    await themed.context.set_offline(True)
    await themed.send(photo())
    await expect(page.get_by_role("tab", name="No network")).to_be_visible()
    await assert_accessible(page)


async def test_names_contrasts_and_targets_of_the_key_dialog(themed: Visit) -> None:
    _, entry = new_key("page")
    async with serving(create_app(Settings(api_keys=(entry,)), FakeRecognizer())) as url:
        page = await themed.open(url)
        await themed.send(photo())
        await expect(page.get_by_role("dialog", name="API key")).to_be_visible()
        await assert_accessible(page)


async def test_everything_can_be_done_with_the_keyboard(visit: Visit, url: str) -> None:
    await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await visit.open(url)
    for name in ("API", "ReDoc"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
    for name in ("Русский", "English", "Dark theme", "Choose photos", "Try an example"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name=name)).to_be_focused()
    await page.keyboard.press("Shift+Tab")
    async with page.expect_file_chooser() as chooser:
        await page.keyboard.press("Enter")
    await (await chooser.value).set_files([photo("a.png"), photo("b.png"), photo("c.png")])
    await expect(page.get_by_role("tab", name="1 plate")).to_have_count(3)

    await page.keyboard.press("Tab")
    first, second, third = (page.get_by_role("tab", name=f"{name}.png") for name in "abc")
    await expect(first).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(second).to_be_focused()
    await expect(second).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("End")
    await expect(third).to_be_focused()
    await page.keyboard.press("Delete")
    await expect(third).to_have_count(0)
    await expect(second).to_be_focused()

    for name in ("Copy all as JSON", "Remove all"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name=name)).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("tabpanel", name="b.png")).to_be_focused()
    for name in ("Remove", "Copy"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()
    await expect(page.locator(".box-active")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "В840ОК197"
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("B840OK157", exact=True)).to_be_visible()
    for name in ("Copy JSON", "Copy curl"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()
    await page.get_by_role("button", name="Remove", exact=True).press("Enter")
    await expect(first).to_be_focused()
    await expect(page.get_by_role("tab")).to_have_count(1)
    visit.assert_clean()


async def test_the_results_can_be_skipped_to(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(photo())
    await page.reload()
    await visit.send(photo())
    await page.evaluate("document.activeElement.blur()")
    await page.keyboard.press("Tab")
    await page.get_by_role("link", name="Skip to the results").press("Enter")
    await expect(page.get_by_role("region", name="Results")).to_be_focused()


async def test_a_screen_reader_hears_what_was_read(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(photo())
    await expect(page.get_by_role("status")).to_have_text("car.png: 1 plate, В840ОК197")


async def test_a_focus_is_visible(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await page.keyboard.press("Tab")
    outline = await page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "solid 3px" in outline


@pytest.mark.parametrize(("locale", "title"), [("ru-RU", "Распознавание номеров"), ("de-DE", "Read licence plates")])
async def test_the_language_is_the_browsers(browser: Browser, url: str, locale: str, title: str) -> None:
    async with Visit.starting(browser, locale=locale) as visit:
        page = await visit.open(url)
        await expect(page.get_by_role("heading", level=1)).to_have_text(title)
        await expect(page.locator("html")).to_have_attribute("lang", locale[:2] if locale == "ru-RU" else "en")


async def test_a_chosen_language_holds_for_all_and_is_remembered(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(photo(), text_file())
    await expect(page.get_by_role("tab", name="Failed")).to_be_visible()
    await page.get_by_role("button", name="Русский").click()
    await expect(page.get_by_role("tab", name="1 номер")).to_be_visible()
    await expect(page.get_by_role("tab", name="Ошибка")).to_be_visible()
    await expect(page.locator(".card-facts")).to_have_text("Гражданский · Москва")
    await page.get_by_role("tab", name="Ошибка").click()
    await expect(page.get_by_role("heading", name="Это не картинка")).to_be_visible()
    # The server's own words stay what they are, and are marked as English.
    await expect(page.locator(".failure-detail")).to_have_attribute("lang", "en")
    await page.reload()
    await expect(page.get_by_role("heading", name="Распознавание номеров")).to_be_visible()


async def test_russian_counts_in_three_forms(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    page = await visit.open(url)
    await page.get_by_role("button", name="Русский").click()
    for count, words in ((1, "1 номер"), (2, "2 номера"), (5, "5 номеров"), (21, "21 номер"), (0, "Нет номеров")):
        fake.plates = [PLATE] * count
        await visit.send(photo(f"{count}.png"))
        await expect(page.get_by_role("tab", name=f"{count}.png {words}", exact=True)).to_be_visible()


async def test_both_languages_have_the_same_messages(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    english, russian = await page.evaluate(
        """async () => {
            const locales = ["en", "ru"].map((name) => import(`/assets/page/locales/${name}.js`));
            return (await Promise.all(locales)).map(({ default: messages }) =>
                Object.entries(messages).map(([key, message]) => `${key}: ${typeof message}`).sort());
        }"""
    )
    assert english == russian
    assert len(english) > 60


@pytest.mark.parametrize("scheme", THEMES)
async def test_the_theme_is_the_systems_until_another_is_chosen(browser: Browser, url: str, scheme: str) -> None:
    other = "dark" if scheme == "light" else "light"
    async with Visit.starting(browser, color_scheme=scheme) as visit:
        page = await visit.open(url)
        root, button = page.locator("html"), page.get_by_role("button", name="Dark theme")
        await expect(root).to_have_attribute("data-theme", scheme)
        await button.click()
        await expect(root).to_have_attribute("data-theme", other)
        await expect(button).to_have_attribute("aria-pressed", str(other == "dark").lower())
        await page.reload()
        await expect(root).to_have_attribute("data-theme", other)
        await button.click()
        await page.emulate_media(color_scheme="dark" if other == "dark" else "light")
        await expect(root).to_have_attribute("data-theme", other)
        visit.assert_clean()


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("locale", ["en", "ru"])
async def test_nothing_is_wider_than_the_screen(
    browser: Browser, url: str, fake: FakeRecognizer, width: int, height: int, locale: str
) -> None:
    fake.plates = [PLATE, replace(PLATE, box=Box(1180, 20, 1275, 45)), replace(PLATE, text="A123BC77", lines=2)]
    options = {"viewport": {"width": width, "height": height}, "locale": locale, "has_touch": width < 900}
    async with Visit.starting(browser, **options) as visit:
        page = await visit.open(url)
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        await visit.send(LONG, *[photo()] * 8, text_file())
        await expect(page.locator(".card")).to_have_count(3)
        await open_all_details(page)
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        await page.get_by_role("tab", name="notes.txt").click()
        await expect(page.locator(".failure")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") == width

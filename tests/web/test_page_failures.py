"""The page at `/`: what it says and does when something goes wrong."""

import pytest
from fastapi import FastAPI, Response

pytest.importorskip("playwright", reason="make test-browser installs Playwright")
from playwright.async_api import Page, Route, expect

from gateway.access import new_key
from gateway.app import create_app
from gateway.errors import DeadlineExceeded, GatewayError, TooManyRequests, Unavailable
from gateway.fake import FakeRecognizer
from gateway.settings import Settings
from tests.web.support import EXAMPLE, PLATE, Visit, photo, serving, text_file

pytestmark = pytest.mark.browser

LOADING = "Failed to load resource"
"""What Chromium's console says of any answer that isn't a success."""


async def assert_fails(page: Page, title: str, detail: str | None = None) -> None:
    await expect(page.get_by_role("heading", name=title)).to_be_visible()
    await expect(page.get_by_role("tab", name="Failed")).to_be_visible()
    if detail is not None:
        await expect(page.locator(".failure-detail")).to_contain_text(detail)


async def test_a_text_file_is_refused_in_readable_words(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(text_file())
    await assert_fails(page, "This isn't a picture that can be read here", "JPEG")
    await expect(page.get_by_role("status")).to_have_text("notes.txt: This isn't a picture that can be read here")
    visit.assert_clean(allowed=LOADING)


async def test_a_broken_picture_is_said_to_be(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    whole = photo()
    await visit.send({**whole, "buffer": whole["buffer"][:-500]})
    await assert_fails(page, "This picture is broken")


async def test_a_picture_over_the_limit_is_too_large(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send({**photo(), "buffer": bytes(3_000_000)})
    await assert_fails(page, "This photo is too large", "MiB")


async def test_one_failure_leaves_the_other_photos_alone(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.send(photo("a.png"), text_file(), photo("b.png"))
    await expect(page.get_by_role("tab", name="1 plate")).to_have_count(2)
    await expect(page.get_by_role("tab", name="Failed")).to_have_count(1)


@pytest.mark.parametrize("error", [Unavailable("Triton is starting."), TooManyRequests("Too much.")])
async def test_a_busy_server_is_asked_again_after_the_time_it_names(
    visit: Visit, url: str, fake: FakeRecognizer, error: GatewayError
) -> None:
    fake.error = error
    page = await visit.open(url)
    await page.clock.install()
    await visit.send(EXAMPLE)
    await expect(page.get_by_role("tab", name="The server is busy")).to_be_visible()
    assert fake.received == 1
    fake.error = None
    await page.clock.run_for(1000 * (error.retry_after or 0))
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
    assert fake.received == 2
    visit.assert_clean(allowed=LOADING)


async def test_a_server_that_stays_busy_is_given_up_and_can_be_asked_again(
    visit: Visit, url: str, fake: FakeRecognizer
) -> None:
    fake.error = Unavailable("Every place is taken.")
    page = await visit.open(url)
    await page.clock.install()
    await visit.send(EXAMPLE)
    for tries in (1, 2, 3):
        await expect(page.get_by_role("tab", name="The server is busy; next try in 2 s")).to_be_visible()
        assert fake.received == tries
        await page.clock.run_for(1000)
        await expect(page.get_by_role("tab", name="next try in 1 s")).to_be_visible()
        await page.clock.run_for(1000)
    await assert_fails(page, "The server can't answer now", "Every place is taken.")
    assert fake.received == 4
    fake.error = None
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
    await expect(page.get_by_role("tabpanel")).to_be_focused()


async def test_a_deadline_is_said_to_have_passed(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.error = DeadlineExceeded("No answer within 5 s.")
    page = await visit.open(url)
    await visit.send(EXAMPLE)
    await assert_fails(page, "The server took too long", "No answer within 5 s.")


async def test_a_removed_photo_is_not_asked_about_again(visit: Visit, url: str, fake: FakeRecognizer) -> None:
    fake.error = Unavailable("Every place is taken.")
    page = await visit.open(url)
    await page.clock.install()
    await visit.send(EXAMPLE)
    await expect(page.get_by_role("tab", name="The server is busy")).to_be_visible()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await page.clock.run_for(10_000)
    fake.error = None
    await visit.send(photo())
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
    assert fake.received == 2


async def test_a_server_that_is_gone_is_said_to_be(visit: Visit, fake: FakeRecognizer) -> None:
    async with serving(create_app(Settings(), fake)) as url:
        page = await visit.open(url)
    await visit.send(photo())
    await assert_fails(page, "No answer came from the server")


async def test_a_photo_waits_for_the_network(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await visit.context.set_offline(True)
    await visit.send(photo())
    await expect(page.get_by_role("tab", name="No network; goes on when it is back")).to_be_visible()
    await visit.context.set_offline(False)
    await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()


async def test_a_photo_that_is_gone_from_its_place_is_said_to_be(
    visit: Visit, url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("gone") / "car.png"
    path.write_bytes(photo()["buffer"])
    page = await visit.open(url)
    fail = True

    async def fail_once(route: Route) -> None:
        await (route.abort() if fail else route.continue_())

    await page.route("**/recognize*", fail_once)
    await page.locator("#files").set_input_files(path)
    await assert_fails(page, "No answer came from the server")
    path.unlink()
    fail = False
    await page.get_by_role("button", name="Try again").click()
    await assert_fails(page, "This file can't be read: it was moved or changed")


async def test_what_a_proxy_answers_is_said_too(visit: Visit, url: str) -> None:
    page = await visit.open(url)
    await page.route("**/recognize*", lambda route: route.fulfill(status=502, body="<html>Bad gateway</html>"))
    await visit.send(photo())
    await assert_fails(page, "The server answered with status 502")


async def test_an_answer_that_is_cut_off_is_a_failure(visit: Visit, fake: FakeRecognizer) -> None:
    app = create_app(Settings(), fake)
    other = FastAPI()
    other.add_api_route("/recognize", lambda: Response('{"plates": [', media_type="application/json"), methods=["POST"])
    other.mount("/", app)
    async with serving(other) as url:
        page = await visit.open(url)
        await visit.send(photo())
        await assert_fails(page, "No answer came from the server")


async def test_a_key_is_asked_for_once_and_kept_in_this_tab_only(visit: Visit) -> None:
    key, entry = new_key("page")
    fake = FakeRecognizer([PLATE])
    async with serving(create_app(Settings(api_keys=(entry,)), fake)) as url:
        page = await visit.open(url)
        await visit.send(photo("a.png"), photo("b.png"))
        dialog = page.get_by_role("dialog", name="API key")
        await expect(page.get_by_label("Key", exact=True)).to_be_focused()
        await page.keyboard.type("not the key")
        await page.keyboard.press("Enter")
        await expect(dialog).to_contain_text("The server refused this key.")
        await page.get_by_label("Key", exact=True).fill(key)
        await dialog.get_by_role("button", name="Use the key").click()
        await expect(page.get_by_role("tab", name="1 plate")).to_have_count(2)
        await expect(dialog).to_be_hidden()
        assert await page.evaluate("Object.values(localStorage)") == []
        command = await page.get_by_label("curl", exact=True).text_content()
        assert command is not None
        assert '-H "X-API-Key: $GATEWAY_API_KEY"' in command
        assert key not in await page.content()
        await page.reload()
        await visit.send(photo())
        await expect(page.get_by_role("tab", name="1 plate")).to_be_visible()
        visit.assert_clean(allowed=LOADING)


async def test_without_a_key_the_photo_fails_and_says_why(visit: Visit) -> None:
    _, entry = new_key("page")
    async with serving(create_app(Settings(api_keys=(entry,)), FakeRecognizer([PLATE]))) as url:
        page = await visit.open(url)
        await visit.send(photo())
        await expect(page.get_by_role("dialog", name="API key")).to_be_visible()
        await page.keyboard.press("Escape")
        await assert_fails(page, "The server wants an API key")

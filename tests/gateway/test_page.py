"""The page at `/` and its files, as they are served."""

import re

import httpx
import pytest

from gateway.routes.docs import WEB

PAGE = WEB / "page"
FILES = sorted(path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.is_file())
IMPORT = re.compile(r'from "(\.[^"]+)"')


async def test_the_root_is_the_page(client: httpx.AsyncClient) -> None:
    response = await client.get("/")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")
    assert response.content == (PAGE / "index.html").read_bytes()


async def test_the_root_answers_head(client: httpx.AsyncClient) -> None:
    response = await client.head("/")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("path", ["/", *(f"/assets/page/{name}" for name in FILES)])
async def test_a_browser_asks_again_and_gets_304(client: httpx.AsyncClient, path: str) -> None:
    first = await client.get(path)
    assert first.status_code == 200
    assert first.headers["Cache-Control"] == "no-cache"
    second = await client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (second.status_code, second.content) == (304, b"")


async def test_the_policy_lets_nothing_in_from_elsewhere_and_nothing_inline(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/")).headers["Content-Security-Policy"]
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == directives["connect-src"] == "'self'"
    assert directives["img-src"] == "'self' blob:"
    assert directives["frame-ancestors"] == "'none'"
    assert not re.search(r"https?:|\*|unsafe|data:", policy)


def test_the_page_has_nothing_inline() -> None:
    html = (PAGE / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|javascript:", html) == []


def test_every_link_of_the_page_leads_to_a_file() -> None:
    links = re.findall(r'(?:src|href)="assets/page/([^"]+)"', (PAGE / "index.html").read_text())
    assert len(links) > 5
    assert set(links) <= set(FILES)


def test_every_module_is_used_and_every_import_is_there() -> None:
    modules = {path.resolve() for path in PAGE.rglob("*.js")}
    imported = {(path.parent / name).resolve() for path in modules for name in IMPORT.findall(path.read_text())}
    assert imported <= modules
    assert {path.name for path in modules - imported} == {"boot.js", "main.js"}


async def test_what_is_missing_is_a_problem(client: httpx.AsyncClient) -> None:
    for path in ("/assets/page/missing.js", "/assets/page/", "/assets/page/../../settings.py"):
        response = await client.get(path)
        assert response.status_code == 404
        assert response.headers["Content-Type"] == "application/problem+json"


async def test_the_root_takes_no_posts(client: httpx.AsyncClient) -> None:
    response = await client.post("/")
    assert response.status_code == 405
    assert response.headers["Content-Type"] == "application/problem+json"

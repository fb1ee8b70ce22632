"""The API pages and what they load come from here."""

import re

import httpx
import pytest

from gateway.routes.docs import WEB


@pytest.mark.parametrize("page", ["docs", "redoc"])
async def test_every_file_of_a_page_is_served_here(client: httpx.AsyncClient, page: str) -> None:
    response = await client.get(f"/{page}")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")
    links = re.findall(r'(?:src|href)="([^"]+)"', response.text)
    assert len(links) >= 3
    for link in links:
        assert (await client.get(f"/{link}")).status_code == 200, link


@pytest.mark.parametrize("page", ["docs", "redoc"])
async def test_pages_may_load_nothing_from_elsewhere(client: httpx.AsyncClient, page: str) -> None:
    policy = (await client.get(f"/{page}")).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:|\*|unsafe-eval", policy)
    assert "script-src 'self';" in policy


async def test_nothing_beside_the_web_folder_is_served(client: httpx.AsyncClient) -> None:
    assert (WEB.parent / "settings.py").exists()
    for path in ("../settings.py", "%2e%2e/settings.py", "..%2fsettings.py"):
        assert (await client.get(f"/assets/{path}")).status_code == 404


def test_vendored_files_have_their_licences() -> None:
    for folder in (WEB / "vendor").iterdir():
        if folder.is_dir():
            assert (folder / "LICENSE").stat().st_size > 1000
            assert folder.name in (WEB / "vendor" / "README.md").read_text()

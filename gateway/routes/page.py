"""The page at `/`: photos in, plates out, in a browser. Its files are in `gateway/web/page`."""

import os
from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from gateway.routes.docs import WEB

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # Photos are shown from object URLs: they never leave the browser for it.
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # Nothing here makes HTML from a string, so nothing may.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # A browser asks each time and mostly gets 304: modules of two versions must not mix.
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


class _PageFiles(StaticFiles):
    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return the file, or 304 where the browser has it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS)
        return response


def router() -> APIRouter:
    """Return the router; none of it is part of the API's description.

    It has to come before that of `gateway.routes.docs`, whose `/assets` would answer for the page's files too.
    """
    routes = APIRouter(include_in_schema=False)
    files = _PageFiles(directory=WEB / "page")

    @routes.api_route("/", methods=["GET", "HEAD"])
    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    routes.mount("/assets/page", files, name="page")
    return routes

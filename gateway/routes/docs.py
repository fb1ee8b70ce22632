"""The pages that show the API: Swagger UI and ReDoc, served from here alone."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

WEB: Final = Path(__file__).resolve().parents[1] / "web"

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # Both pages style themselves from JavaScript.
        "style-src 'self' 'unsafe-inline'",
        # Swagger UI shows a picture that was answered from a blob.
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        # ReDoc's search runs in a worker that it makes from a blob.
        "worker-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def router() -> APIRouter:
    """Return the router; none of it is part of the API's description."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/docs", methods=["GET", "HEAD"])
    async def docs() -> FileResponse:
        return _page("docs.html")

    @routes.api_route("/redoc", methods=["GET", "HEAD"])
    async def redoc() -> FileResponse:
        return _page("redoc.html")

    routes.mount("/assets", StaticFiles(directory=WEB), name="assets")
    return routes


def _page(name: str) -> FileResponse:
    return FileResponse(WEB / name, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})

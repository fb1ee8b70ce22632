"""The FastAPI application: wiring and nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from gateway import problems
from gateway.middleware import BodyLimit, SecurityHeaders
from gateway.recognizer import Recognizer
from gateway.routes import docs, health, recognize
from gateway.schemas import Problem
from gateway.settings import Settings
from gateway.telemetry import AccessLog

DESCRIPTION = """
Reads the licence plates of photographs. The plates are Russian (GOST R 50577).

    curl -F image=@car.jpg http://localhost:8080/recognize

Every error is `application/problem+json` (RFC 9457); its `detail` says what to do.
"""


def create_app(settings: Settings, recognizer: Recognizer) -> FastAPI:
    """Return the application; the recognizer is entered when it starts and left when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with recognizer:
            yield

    app = _Gateway(
        title="Plate gateway",
        version=version("plate-gateway"),
        description=DESCRIPTION,
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    problems.add_handlers(app)
    app.include_router(recognize.router(settings, recognizer))
    app.include_router(health.router(recognizer))
    app.include_router(docs.router())
    # The last one added is the outermost.
    app.add_middleware(problems.InternalErrors)
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes, seconds=settings.upload_seconds)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(AccessLog)
    return app


class _Gateway(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the API's description, with the one schema that no route returns by itself."""
        description = super().openapi()
        description["components"]["schemas"].setdefault("Problem", Problem.model_json_schema())
        return description

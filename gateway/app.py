"""The FastAPI application: wiring and nothing else."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, closing
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from gateway import problems
from gateway.access import Access, AccessControl, is_public, openapi_schemes
from gateway.fetch import NoFetcher, UrlFetcher
from gateway.middleware import BodyLimit, Cors, SecurityHeaders, Spellings
from gateway.recognizer import Recognizer
from gateway.rendering import Renderer
from gateway.routes import batch, blur, codeproject, detect, docs, health, page, plate_recognizer, recognize
from gateway.schemas import Problem
from gateway.settings import Settings
from gateway.telemetry import AccessLog
from gateway.uploads import Uploads

DESCRIPTION = """
Reads the licence plates of photographs. The plates are Russian (GOST R 50577).

    curl -F image=@car.jpg http://localhost:8080/recognize

Every error is `application/problem+json` (RFC 9457); its `detail` says what to do.
"""


def create_app(settings: Settings, recognizer: Recognizer) -> FastAPI:
    """Return the application; the recognizer is entered when it starts and left when it stops."""
    access = Access(settings)
    renderer = Renderer()
    fetcher = UrlFetcher(settings) if settings.url_input else NoFetcher()
    uploads = Uploads(settings, fetcher)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with closing(renderer):
            async with aclosing(fetcher), recognizer:
                yield

    app = _Gateway(
        openapi_schemes(settings),
        title="Plate gateway",
        version=version("plate-gateway"),
        description=DESCRIPTION,
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
        lifespan=lifespan,
        # Client generators name their functions after it.
        generate_unique_id_function=lambda route: route.name,
        docs_url=None,
        redoc_url=None,
    )
    problems.add_handlers(app)
    app.include_router(recognize.router(settings, uploads, recognizer, renderer))
    app.include_router(batch.router(settings, access, uploads, recognizer))
    app.include_router(detect.router(settings, uploads, recognizer))
    app.include_router(blur.router(settings, uploads, recognizer, renderer))
    if settings.compatible_endpoints:
        app.include_router(plate_recognizer.router(settings, uploads, recognizer))
        app.include_router(codeproject.router(uploads, recognizer))
    app.include_router(health.router(recognizer))
    app.include_router(page.router())
    app.include_router(docs.router())
    # The last one added is the outermost.
    app.add_middleware(problems.InternalErrors)
    app.add_middleware(AccessControl, access=access)
    app.add_middleware(
        BodyLimit,
        max_bytes=settings.max_body_bytes,
        seconds=settings.upload_seconds,
        max_bytes_of={batch.PATH: settings.max_batch_bytes},
    )
    app.add_middleware(SecurityHeaders)
    if settings.cors_origins:
        app.add_middleware(
            Cors,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["X-Request-ID", "Retry-After", "RateLimit", "RateLimit-Policy", blur.COUNT_HEADER],
        )
    app.add_middleware(AccessLog)
    app.add_middleware(Spellings, paths=_spellings(settings))
    return app


def _spellings(settings: Settings) -> dict[str, str]:
    """Return the other spellings of the paths that take pictures, each with its path."""
    paths = [recognize.PATH, batch.PATH, detect.PATH, blur.PATH]
    legacy = {}
    if settings.compatible_endpoints:
        paths += [plate_recognizer.PATH, codeproject.PATH]
        legacy[codeproject.LEGACY_PATH] = codeproject.PATH
    return legacy | {path[:-1] if path.endswith("/") else f"{path}/": path for path in paths}


class _Gateway(FastAPI):
    def __init__(self, security_schemes: Mapping[str, dict[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self._security_schemes = security_schemes

    def openapi(self) -> dict[str, Any]:
        """Return the API's description, with what no route tells by itself: problems, and who is let in."""
        if self.openapi_schema is None:
            description = super().openapi()
            description["components"]["schemas"].setdefault("Problem", Problem.model_json_schema())
            if self._security_schemes:
                description["components"]["securitySchemes"] = self._security_schemes
                for path, operations in description["paths"].items():
                    for operation in operations.values():
                        if not is_public(path):
                            operation["security"] = [{name: []} for name in self._security_schemes]
        assert self.openapi_schema is not None  # noqa: S101 - it is what was made
        return self.openapi_schema

"""Every error as application/problem+json (RFC 9457), and their description for OpenAPI."""

import http
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import BadRequest, GatewayError
from gateway.schemas import Problem

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

CLIENT_CLOSED_REQUEST: Final = 499
"""What nginx logs for a client that went away; nobody is left to receive it."""

_UNFORESEEN: Final = "Something went wrong here; the log says what."


_EXTENSIONS: Final[dict[str, Callable[[Problem], dict[str, Any]]]] = {
    "/v1/plate-reader/": lambda problem: {"status_code": problem.status},
    "/v1/vision/alpr": lambda problem: {"success": False, "error": problem.detail, "code": problem.status},
}
"""Further members (RFC 9457, 3.2) of the problems of a path: what the clients that it is for look at."""


def response(problem: Problem, path: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the HTTP response that tells a problem.

    `type` is about:blank: the status says what kind of problem it is, the detail what to do.
    """
    if extensions := _EXTENSIONS.get(path):
        problem = Problem(**problem.model_dump(), **extensions(problem))
    return Response(problem.model_dump_json(), problem.status, headers, media_type=MEDIA_TYPE)


def of(error: GatewayError) -> Problem:
    """Return the problem that an error of ours stands for."""
    return Problem(title=error.title, status=error.status, detail=error.detail)


def from_error(error: GatewayError, path: str) -> Response:
    """Return the response that an error of ours stands for."""
    return response(of(error), path, error.headers())


def openapi_responses(errors: Iterable[type[GatewayError]]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the responses that these errors, and unforeseen ones, stand for."""
    responses: dict[int | str, dict[str, Any]] = {GatewayError.status: _openapi_response(GatewayError, _UNFORESEEN)}
    for error in errors:
        description = (error.__doc__ or "").splitlines()[0]
        if error.status in responses:
            responses[error.status]["description"] += f" Or: {description}"
        else:
            responses[error.status] = _openapi_response(error, description)
    return responses


def _openapi_response(error: type[GatewayError], description: str) -> dict[str, Any]:
    example = Problem(title=error.title, status=error.status, detail=description).model_dump()
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}}
    described: dict[str, Any] = {"description": description, "content": content}
    if error.retry_after is not None:
        described["headers"] = {
            "Retry-After": {
                "description": "Seconds after which trying again makes sense.",
                "schema": {"type": "integer"},
            }
        }
    return described


def add_handlers(app: FastAPI) -> None:
    """Make the application answer every error that a route raises with a problem."""
    app.add_exception_handler(GatewayError, _on_gateway_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)


class InternalErrors:
    """ASGI middleware that logs what nobody foresaw and answers with a problem that tells no internals.

    It stands inside the others, so that this answer too has their headers and their access line.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched_send)
        except Exception:
            if started or scope["type"] != "http":
                raise
            logger.exception("Unexpected error in %s", scope["path"])
            answer = from_error(GatewayError(_UNFORESEEN), scope["path"])
            await answer(scope, receive, send)


async def _on_gateway_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)  # noqa: S101 - it is registered for this class
    return from_error(error, request.url.path)


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    faults = (f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}." for fault in error.errors())
    detail = f"{' '.join(faults)} The parameters are described at /docs."
    return from_error(BadRequest(detail), request.url.path)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    path = request.url.path
    status = http.HTTPStatus(error.status_code)
    match status:
        case http.HTTPStatus.NOT_FOUND:
            detail = f"There is nothing at {path}. The API is described at /docs."
        case http.HTTPStatus.METHOD_NOT_ALLOWED:
            detail = f"{path} doesn't take {request.method}. The API is described at /docs."
        case _:
            detail = error.detail
    return response(Problem(title=status.phrase, status=status, detail=detail), path, error.headers)


async def _on_disconnect(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_CLOSED_REQUEST)

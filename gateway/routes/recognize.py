"""POST /recognize: an image in, its plates out."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect

from gateway import errors, images, problems, uploads
from gateway.recognizer import Recognizer
from gateway.schemas import RecognizeResponse
from gateway.settings import Settings

_ERRORS: Final = (
    errors.BadRequest,
    errors.RequestTimeout,
    errors.ContentTooLarge,
    errors.UnsupportedImage,
    errors.UnprocessableImage,
    errors.Unavailable,
    errors.DeadlineExceeded,
)

Result = TypeVar("Result")


def router(settings: Settings, recognizer: Recognizer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["recognition"])

    @routes.post(
        "/recognize",
        summary="Read the licence plates of a picture",
        response_description="The plates, best detection first.",
        responses=problems.openapi_responses(_ERRORS),
        openapi_extra={"requestBody": uploads.REQUEST_BODY},
    )
    async def recognize(request: Request) -> RecognizeResponse:
        """Find and read Russian licence plates.

        Boxes are in pixels of the picture as its viewer sees it, with its EXIF orientation applied.
        """
        image = images.inspect(await uploads.read_image(request), settings.max_pixels)
        deadline = asyncio.get_running_loop().time() + settings.deadline_seconds
        recognition = await _while_connected(request, recognizer.recognize(image, deadline=deadline))
        return RecognizeResponse.of(image, recognition.plates)

    return routes


async def _while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Return what the work returns; cancel it when the client goes away, which FastAPI doesn't do.

    Raises:
        ClientDisconnect: the client went away.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

"""POST /recognize: a picture in, its plates out."""

import asyncio
import functools
from enum import StrEnum
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from gateway import drawing, errors, parameters, problems, telemetry
from gateway.access import client_of
from gateway.connection import while_connected
from gateway.negotiation import preferred
from gateway.openapi import request_body
from gateway.recognizer import Recognizer
from gateway.rendering import DEFAULT_QUALITY, Renderer
from gateway.schemas import RecognizeResponse
from gateway.selection import Selection
from gateway.settings import Settings
from gateway.uploads import Uploads

PATH: Final = "/recognize"

JSON: Final = "application/json"
JPEG: Final = "image/jpeg"


class AnswerFormat(StrEnum):
    """What an answer is."""

    JSON = "json"
    JPEG = "jpeg"


AnswerFormatParameter = Annotated[
    AnswerFormat | None,
    Query(
        alias="format",
        description="`jpeg` answers with the picture, boxes and texts drawn into it; without this parameter the header "
        "Accept decides.",
    ),
]


def router(settings: Settings, uploads: Uploads, recognizer: Recognizer, renderer: Renderer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["recognition"])
    described: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The plates, best score first.",
            "content": {JPEG: {"schema": {"type": "string", "format": "binary"}}},
        },
        **problems.openapi_responses(errors.OF_A_PICTURE),
    }

    @routes.post(
        PATH,
        summary="Read the licence plates of a picture",
        response_model=RecognizeResponse,
        responses=described,
        openapi_extra={"requestBody": request_body(settings)},
    )
    async def recognize(
        request: Request,
        roi: parameters.Roi = (),
        min_score: parameters.MinScore = 0.0,
        candidates: parameters.Candidates = parameters.DEFAULT_CANDIDATES,
        answer_format: AnswerFormatParameter = None,
    ) -> RecognizeResponse | Response:
        """Find and read Russian licence plates.

        Boxes are in pixels of the picture as its viewer sees it, with its EXIF orientation applied. `min_score` is
        compared with a plate's `score`.
        """
        selection = Selection.of(min_score, roi)
        upload = await uploads.read(request)
        image, deadline = upload.image, upload.deadline
        recognition = await while_connected(
            request, recognizer.recognize(image, deadline=deadline, client=client_of(request))
        )
        plates = selection.of_plates(recognition.plates, image)
        if _wants_picture(request, answer_format):
            paint = functools.partial(drawing.annotate, plates=plates)
            rendering = renderer.render(image, paint, quality=DEFAULT_QUALITY, deadline=deadline)
            return Response(await while_connected(request, rendering), media_type=JPEG)
        return RecognizeResponse.of(
            image,
            plates,
            recognition.timing,
            candidates=candidates,
            total=asyncio.get_running_loop().time() - upload.arrived,
            identity=telemetry.request_id.get() or "",
        )

    return routes


def _wants_picture(request: Request, answer_format: AnswerFormat | None) -> bool:
    if answer_format is not None:
        return answer_format is AnswerFormat.JPEG
    return preferred(request.headers.get("Accept", ""), (JSON, JPEG)) == JPEG

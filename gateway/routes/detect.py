"""POST /detect: a picture in, the places of its plates out."""

import asyncio
from typing import Final

from fastapi import APIRouter, Request

from gateway import errors, parameters, problems, telemetry
from gateway.access import client_of
from gateway.connection import while_connected
from gateway.openapi import request_body
from gateway.recognizer import Recognizer
from gateway.schemas import DetectResponse
from gateway.selection import Selection
from gateway.settings import Settings
from gateway.uploads import Uploads

PATH: Final = "/detect"


def router(settings: Settings, uploads: Uploads, recognizer: Recognizer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["recognition"])

    @routes.post(
        PATH,
        summary="Find the licence plates of a picture",
        response_description="Where the plates are, best score first.",
        responses=problems.openapi_responses(errors.OF_A_PICTURE),
        openapi_extra={"requestBody": request_body(settings)},
    )
    async def detect(
        request: Request, roi: parameters.Roi = (), min_score: parameters.MinScore = 0.0
    ) -> DetectResponse:
        """Find plates without reading them, which takes less time.

        Boxes are in pixels of the picture as its viewer sees it. `min_score` is compared with a plate's
        `detection_score`.
        """
        selection = Selection.of(min_score, roi)
        upload = await uploads.read(request)
        image, deadline = upload.image, upload.deadline
        found = await while_connected(request, recognizer.detect(image, deadline=deadline, client=client_of(request)))
        return DetectResponse.of(
            image,
            selection.of_plates(found.detections, image),
            found.timing,
            total=asyncio.get_running_loop().time() - upload.arrived,
            identity=telemetry.request_id.get() or "",
        )

    return routes

"""POST /blur: a picture in, the same picture with unreadable plates out."""

import functools
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from gateway import blur, errors, parameters, problems
from gateway.access import client_of
from gateway.connection import while_connected
from gateway.openapi import request_body
from gateway.recognizer import Recognizer
from gateway.rendering import DEFAULT_QUALITY, Renderer
from gateway.selection import Selection
from gateway.settings import Settings
from gateway.uploads import Uploads

PATH: Final = "/blur"

JPEG: Final = "image/jpeg"

COUNT_HEADER: Final = "X-Plates-Hidden"

_DESCRIBED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The picture, upright, without the file's metadata.",
        "content": {JPEG: {"schema": {"type": "string", "format": "binary"}}},
        "headers": {COUNT_HEADER: {"description": "How many plates were hidden.", "schema": {"type": "integer"}}},
    },
    **problems.openapi_responses(errors.OF_A_PICTURE),
}

Method = Annotated[
    blur.Method, Query(description="`pixelate` leaves a plate's colours as squares, `fill` leaves a grey rectangle.")
]


def router(settings: Settings, uploads: Uploads, recognizer: Recognizer, renderer: Renderer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["recognition"])

    @routes.post(
        PATH,
        name="blur",
        summary="Make the licence plates of a picture unreadable",
        response_class=Response,
        responses=_DESCRIBED,
        openapi_extra={"requestBody": request_body(settings)},
    )
    async def hide(
        request: Request,
        method: Method = blur.Method.PIXELATE,
        min_score: parameters.MinScore = 0.0,
        quality: parameters.Quality = DEFAULT_QUALITY,
    ) -> Response:
        """Hide every plate that is found, for publishing a photo.

        The answer is a JPEG that looks as the picture does, turned upright by its EXIF orientation, without EXIF, GPS
        position, thumbnail or any other metadata. Plates that aren't found stay as they are: `X-Plates-Hidden` says
        how many there were. `min_score` is compared with a plate's `detection_score`.
        """
        selection = Selection.of(min_score, ())
        upload = await uploads.read(request)
        image, deadline = upload.image, upload.deadline
        found = await while_connected(request, recognizer.detect(image, deadline=deadline, client=client_of(request)))
        boxes = [detection.box for detection in selection.of_plates(found.detections, image)]
        paint = functools.partial(blur.hide, boxes=boxes, method=method)
        rendering = renderer.render(image, paint, quality=quality, deadline=deadline)
        return Response(
            await while_connected(request, rendering), media_type=JPEG, headers={COUNT_HEADER: str(len(boxes))}
        )

    return routes

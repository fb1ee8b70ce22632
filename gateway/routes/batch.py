"""POST /recognize/batch: many pictures in, the plates of each out."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from gateway import errors, multipart, parameters, problems, telemetry
from gateway.access import Access, client_of
from gateway.batch import Batch
from gateway.connection import disconnected
from gateway.errors import GatewayError, UnsupportedImage
from gateway.multipart import Part
from gateway.negotiation import preferred
from gateway.recognizer import Recognizer
from gateway.schemas import BatchEntry, BatchResponse, RecognizeResponse
from gateway.selection import Selection
from gateway.settings import Settings
from gateway.uploads import Uploads, check_encoding

PATH: Final = "/recognize/batch"

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"

_FORM: Final = "multipart/form-data"
_MAX_FIELDS: Final = 16
"""Parts of the form that aren't files."""

_REQUEST_BODY: Final[dict[str, Any]] = {
    "description": "The pictures: files in a form, whatever their fields are called.",
    "required": True,
    "content": {
        _FORM: {
            "schema": {
                "type": "object",
                "required": ["image"],
                "properties": {
                    "image": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
                },
            }
        }
    },
}

_DESCRIBED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "One entry per file, in the order of the form. As `application/x-ndjson`: one entry a line, the "
        "first ones while later files are still being sent; where the form breaks, the last line says why.",
        "content": {NDJSON: {"schema": {"$ref": "#/components/schemas/BatchEntry"}}},
    },
    **problems.openapi_responses(errors.OF_A_PICTURE),
}


def router(settings: Settings, access: Access, uploads: Uploads, recognizer: Recognizer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["recognition"])

    @routes.post(
        PATH,
        summary="Read the licence plates of many pictures",
        response_model=BatchResponse,
        responses=_DESCRIBED,
        openapi_extra={"requestBody": _REQUEST_BODY},
    )
    async def recognize_batch(
        request: Request,
        roi: parameters.Roi = (),
        min_score: parameters.MinScore = 0.0,
        candidates: parameters.Candidates = parameters.DEFAULT_CANDIDATES,
    ) -> BatchResponse | Response:
        """Read several pictures; the parameters are those of `/recognize` and hold for each of them.

        A picture that can't be read is an entry with an error, and the others are answered all the same. Ask for
        `application/x-ndjson` to get each answer as soon as it is there.
        """
        check_encoding(request)
        content_type = request.headers.get("Content-Type", "")
        if not content_type.lower().startswith(_FORM):
            raise UnsupportedImage("Send the pictures as files in a form: curl -F image=@one.jpg -F image=@two.jpg URL")
        selection = Selection.of(min_score, roi)
        client = client_of(request)

        async def read(index: int, part: Part) -> RecognizeResponse:
            upload = uploads.admit(part.data, asyncio.get_running_loop().time())
            # The first one was counted when the request came in.
            if index > 0:
                await access.spend(client)
            recognition = await recognizer.recognize(upload.image, deadline=upload.deadline, client=client)
            return RecognizeResponse.of(
                upload.image,
                selection.of_plates(recognition.plates, upload.image),
                recognition.timing,
                candidates=candidates,
                total=asyncio.get_running_loop().time() - upload.arrived,
                identity=identity,
            )

        identity = telemetry.request_id.get() or ""
        parts = multipart.parts(
            content_type,
            request.stream(),
            max_parts=settings.max_batch_files + _MAX_FIELDS,
            max_part_bytes=settings.max_body_bytes,
        )
        # Half of the places: the others are for those who send one picture.
        places = max(1, settings.slots // 2)
        batch = Batch(
            parts,
            read,
            until_gone=lambda: disconnected(request),
            places=places,
            max_files=settings.max_batch_files,
            max_file_bytes=settings.max_body_bytes,
        )
        if preferred(request.headers.get("Accept", ""), (JSON, NDJSON)) == JSON:
            async with aclosing(batch.entries()) as entries:
                return BatchResponse(results=[entry async for entry in entries], id=identity)
        entries = batch.entries()
        # What goes wrong until then has a status of its own.
        first = await anext(entries)
        return _Lines(_chained(first, entries))

    return routes


async def _chained(first: BatchEntry, rest: AsyncGenerator[BatchEntry, None]) -> AsyncGenerator[BatchEntry, None]:
    """Yield the entries, and, where they break off, one that says why."""
    index = first.index
    async with aclosing(rest):
        yield first
        try:
            async for entry in rest:
                index = entry.index
                yield entry
        except GatewayError as error:
            yield BatchEntry(index=index + 1, filename=None, result=None, error=problems.of(error))


class _Lines(Response):
    """One JSON object a line, sent while the request's body may still be arriving.

    Starlette's StreamingResponse would take messages of that body to find out whether the client goes away.
    """

    media_type = NDJSON

    def __init__(self, models: AsyncGenerator[BatchEntry, None]) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers()
        self._models = models

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines as they come; stop when the client goes away."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async with aclosing(self._models) as models:
                async for model in models:
                    line = model.model_dump_json().encode() + b"\n"
                    await send({"type": "http.response.body", "body": line, "more_body": True})
        except ClientDisconnect:
            return
        await send({"type": "http.response.body", "body": b""})

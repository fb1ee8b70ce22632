"""POST /v1/vision/alpr: for clients of CodeProject.AI Server's licence plate reader, Blue Iris among them.

Written from its public documentation (codeproject.com/ai/docs/api/api_reference.html).
"""

import asyncio
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from gateway import errors, problems
from gateway.access import client_of
from gateway.connection import while_connected
from gateway.errors import BadRequest
from gateway.openapi import FILE
from gateway.recognizer import Plate, Recognition, Recognizer
from gateway.schemas import Probability
from gateway.uploads import Upload, Uploads

PATH: Final = "/v1/vision/alpr"
LEGACY_PATH: Final = "/v1/image/alpr"
"""Its name in earlier versions, which many clients still use."""

_SCORE_DECIMALS: Final = 4


class Prediction(BaseModel):
    """One plate."""

    plate: str = Field(description="Latin look-alikes.", examples=["B840OK197"])
    label: str = Field(description="The same in words.", examples=["Plate: B840OK197"])
    confidence: Probability = Field(description="Of the text.")
    x_min: int = Field(description="Left edge, pixels.", ge=0)
    y_min: int = Field(description="Top edge, pixels.", ge=0)
    x_max: int = Field(description="Right edge, pixels.", ge=0)
    y_max: int = Field(description="Bottom edge, pixels.", ge=0)

    @classmethod
    def of(cls, plate: Plate) -> Self:
        """Return the prediction that a plate is."""
        return cls(
            plate=plate.text,
            label=f"Plate: {plate.text}",
            confidence=round(plate.score, _SCORE_DECIMALS),
            x_min=round(plate.box.x_min),
            y_min=round(plate.box.y_min),
            x_max=round(plate.box.x_max),
            y_max=round(plate.box.y_max),
        )


class AlprResponse(BaseModel):
    """The plates of one picture, as CodeProject.AI tells them."""

    success: bool = Field(True, description="False in errors alone.")
    message: str = Field(description="The same for people.", examples=["Found Plate: B840OK197"])
    predictions: list[Prediction] = Field(description="Plates that were read, best confidence first.")
    count: int = Field(description="Number of predictions.")
    inferenceMs: int = Field(description="Time of the networks, ms.")  # noqa: N815 - theirs
    processMs: int = Field(description="Time from the picture's arrival to the answer, ms.")  # noqa: N815
    analysisRoundTripMs: int = Field(description="The same.")  # noqa: N815
    code: int = Field(200, description="The HTTP status.")
    command: str = Field("alpr", description="What was done.")
    moduleId: str = Field("ALPR", description="Who did it.")  # noqa: N815
    moduleName: str = Field("License Plate Reader", description="Who did it, in words.")  # noqa: N815
    timestampUTC: str = Field(description="Now.", examples=["Sat, 31 Jan 2026 12:00:00 GMT"])  # noqa: N815

    @classmethod
    def of(cls, recognition: Recognition, min_confidence: float, milliseconds: float) -> Self:
        """Return the answer that these plates are."""
        plates = [plate for plate in recognition.plates if plate.text and plate.score >= min_confidence]
        predictions = [Prediction.of(plate) for plate in plates]
        found = ", ".join(prediction.label for prediction in predictions)
        return cls(
            message=f"Found {found}" if found else "No plates found",
            predictions=predictions,
            count=len(predictions),
            inferenceMs=round(recognition.timing.milliseconds.get("triton", 0.0)),
            processMs=round(milliseconds),
            analysisRoundTripMs=round(milliseconds),
            timestampUTC=format_datetime(datetime.now(UTC), usegmt=True),
        )


_REQUEST_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["upload"],
                "properties": {
                    "upload": FILE,
                    "min_confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
                },
            }
        }
    },
}


def router(uploads: Uploads, recognizer: Recognizer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["compatible"])

    @routes.post(
        PATH,
        summary="Read plates, for clients of CodeProject.AI",
        response_description="The plates that were read.",
        responses=problems.openapi_responses(errors.OF_A_PICTURE),
        openapi_extra={"requestBody": _REQUEST_BODY},
    )
    async def alpr(request: Request) -> AlprResponse:
        """Answer as CodeProject.AI Server's licence plate reader does."""
        upload = await uploads.read(request)
        min_confidence = _min_confidence(upload)
        recognition = await while_connected(
            request, recognizer.recognize(upload.image, deadline=upload.deadline, client=client_of(request))
        )
        seconds = asyncio.get_running_loop().time() - upload.arrived
        return AlprResponse.of(recognition, min_confidence, 1000 * seconds)

    return routes


def _min_confidence(upload: Upload) -> float:
    sent = upload.fields.get("min_confidence", ["0"])[-1]
    try:
        value = float(sent)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadRequest("min_confidence: not a number from 0 to 1. Send one, or leave it out.")
    return value

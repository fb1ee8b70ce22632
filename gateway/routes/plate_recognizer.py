"""POST /v1/plate-reader/: for clients of Plate Recognizer's Snapshot API.

Written from its public documentation (guides.platerecognizer.com/docs/snapshot/api-reference). What that service
knows of vehicles isn't known here: a vehicle is told as one that wasn't found.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway import errors, problems
from gateway.access import client_of
from gateway.connection import while_connected
from gateway.errors import BadRequest
from gateway.openapi import BASE64, FILE, URL
from gateway.recognizer import Plate, Recognition, Recognizer
from gateway.schemas import Probability
from gateway.settings import Settings
from gateway.uploads import Upload, Uploads
from plates.formats import Format

PATH: Final = "/v1/plate-reader/"

_COUNTRY: Final = "ru"
_SCORE_DECIMALS: Final = 3


class Config(BaseModel):
    """The engine configuration that a client may send; members that mean nothing here are let through."""

    model_config = ConfigDict(strict=True)

    threshold_d: Probability = Field(0.0, description="Least `dscore` of a result.")
    threshold_o: Probability = Field(0.0, description="Least `score` of a result.")
    region: str = Field("", description='"strict" leaves out plates of no known type.')
    detection_mode: Literal["plate"] = Field("plate", description="Vehicles without a plate aren't found here.")


class PixelBox(BaseModel):
    """A rectangle in whole pixels."""

    xmin: int = Field(description="Left edge, pixels.", ge=0)
    ymin: int = Field(description="Top edge, pixels.", ge=0)
    xmax: int = Field(description="Right edge, pixels.", ge=0)
    ymax: int = Field(description="Bottom edge, pixels.", ge=0)


class PlateRegion(BaseModel):
    """The country of a plate."""

    code: str = Field(description="Always Russia's.", examples=[_COUNTRY])
    score: Probability = Field(description="That of the text, where it fits a type of plate; otherwise 0.")


class Reading(BaseModel):
    """What a plate may say."""

    score: Probability = Field(description="Probability of the text.")
    plate: str = Field(description="Lower case, Latin look-alikes.", examples=["b840ok197"])


class Vehicle(BaseModel):
    """The vehicle of a plate, as one that wasn't found."""

    score: Probability = Field(0.0, description="0: not found.")
    type: str = Field("Unknown", description="Not known here.")
    box: PixelBox = Field(PixelBox(xmin=0, ymin=0, xmax=0, ymax=0), description="Zeros: not found.")


class Result(BaseModel):
    """One plate."""

    box: PixelBox
    plate: str = Field(description="Lower case, Latin look-alikes.", examples=["b840ok197"])
    region: PlateRegion
    score: Probability = Field(description="Of the text.")
    candidates: list[Reading] = Field(description="What the plate may say, most probable first.")
    dscore: Probability = Field(description="Of the detection.")
    vehicle: Vehicle = Field(Vehicle(), description="Not looked for.")

    @classmethod
    def of(cls, plate: Plate) -> Self:
        """Return the result that a plate is."""
        box = plate.box
        known = plate.format != Format.UNKNOWN
        return cls(
            box=PixelBox(xmin=round(box.x_min), ymin=round(box.y_min), xmax=round(box.x_max), ymax=round(box.y_max)),
            plate=plate.text.lower(),
            region=PlateRegion(code=_COUNTRY, score=_rounded(plate.score) if known else 0.0),
            score=_rounded(plate.score),
            candidates=[
                Reading(score=_rounded(candidate.score), plate=candidate.text.lower()) for candidate in plate.candidates
            ],
            dscore=_rounded(plate.detection_score),
        )


class PlateReaderResponse(BaseModel):
    """The plates of one picture, as Plate Recognizer tells them."""

    processing_time: float = Field(description="Milliseconds.", examples=[34.1])
    results: list[Result] = Field(description="Plates that were read, best score first.")
    filename: str = Field(description="As it was sent.", examples=["car.jpg"])
    version: int = Field(1, description="Of the answer's form.")
    camera_id: str | None = Field(description="As it was sent.")
    timestamp: str = Field(description="As it was sent, or now.", examples=["2026-01-31T12:00:00.000000Z"])
    image_width: int = Field(description="Pixels.")
    image_height: int = Field(description="Pixels.")

    @classmethod
    def of(cls, upload: Upload, recognition: Recognition, config: Config, milliseconds: float) -> Self:
        """Return the answer to a request with this picture."""
        plates = (plate for plate in recognition.plates if _wanted(plate, config))
        return cls(
            processing_time=round(milliseconds, _SCORE_DECIMALS),
            results=[Result.of(plate) for plate in plates],
            filename=upload.filename or "upload",
            camera_id=_last(upload.fields, "camera_id"),
            timestamp=_last(upload.fields, "timestamp") or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            image_width=upload.image.width,
            image_height=upload.image.height,
        )


_FIELDS: Final[dict[str, Any]] = {
    "regions": {
        "type": ["array", "string"],
        "items": {"type": "string"},
        "description": "Taken and not used: Russia's plates are read.",
    },
    "camera_id": {"type": "string", "description": "Comes back as it is."},
    "timestamp": {"type": "string", "description": "Comes back as it is."},
    "mmc": {"type": "string", "description": "Taken and not used."},
    "config": {**Config.model_json_schema(), "description": "JSON."},
}


def router(settings: Settings, uploads: Uploads, recognizer: Recognizer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(tags=["compatible"])

    @routes.post(
        PATH,
        status_code=201,
        summary="Read plates, for clients of Plate Recognizer",
        response_description="The plates that were read.",
        responses=problems.openapi_responses(errors.OF_A_PICTURE),
        openapi_extra={"requestBody": _request_body(settings)},
    )
    async def plate_reader(request: Request) -> PlateReaderResponse:
        """Answer as Plate Recognizer's Snapshot API does. An API key is taken as `Authorization: Token KEY` too."""
        upload = await uploads.read(request)
        config = _config(_last(upload.fields, "config"))
        recognition = await while_connected(
            request, recognizer.recognize(upload.image, deadline=upload.deadline, client=client_of(request))
        )
        seconds = asyncio.get_running_loop().time() - upload.arrived
        return PlateReaderResponse.of(upload, recognition, config, 1000 * seconds)

    return routes


def _request_body(settings: Settings) -> dict[str, Any]:
    url = {"upload_url": URL} if settings.url_input else {}
    file = {"type": "object", "required": ["upload"], "properties": {"upload": FILE, **_FIELDS}}
    text = {
        "type": "object",
        "properties": {"upload": BASE64, **url, **_FIELDS},
        "anyOf": [{"required": [name]} for name in ("upload", *url)],
    }
    return {
        "required": True,
        "content": {"multipart/form-data": {"schema": file}, "application/x-www-form-urlencoded": {"schema": text}},
    }


def _wanted(plate: Plate, config: Config) -> bool:
    return (
        plate.text != ""
        and plate.score >= config.threshold_o
        and plate.detection_score >= config.threshold_d
        and (config.region != "strict" or plate.format != Format.UNKNOWN)
    )


def _config(text: str | None) -> Config:
    try:
        return Config.model_validate_json(text) if text else Config()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(["config", *map(str, first["loc"])])
        raise BadRequest(f'{where}: {first["msg"]}. Send JSON such as {{"threshold_o": 0.6}}.') from None


def _last(fields: Mapping[str, Sequence[str]], name: str) -> str | None:
    values = fields.get(name)
    return values[-1] if values else None


def _rounded(score: float) -> float:
    return round(score, _SCORE_DECIMALS)

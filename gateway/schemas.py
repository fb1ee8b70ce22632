"""The public JSON."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gateway import recognizer
from gateway.images import EncodedImage
from plates import contract
from plates.alphabet import to_cyrillic
from plates.formats import Format, region_name

Probability = Annotated[float, Field(ge=0, le=1)]

_PIXEL_DECIMALS = 1
_SCORE_DECIMALS = 4
_MILLISECOND_DECIMALS = 1

MAX_CANDIDATES: Final = contract.CANDIDATES


class ImageSize(BaseModel):
    """Size of the picture as its viewer sees it: the EXIF orientation is applied."""

    width: int = Field(description="Pixels.", gt=0, examples=[1920])
    height: int = Field(description="Pixels.", gt=0, examples=[1080])

    @classmethod
    def of(cls, image: EncodedImage) -> Self:
        """Return the size of an image."""
        return cls(width=image.width, height=image.height)


class Box(BaseModel):
    """A rectangle in pixels of the picture as its viewer sees it; x goes right, y goes down, from the top left."""

    x_min: float = Field(description="Left edge.", ge=0, examples=[232.4])
    y_min: float = Field(description="Top edge.", ge=0, examples=[331.0])
    x_max: float = Field(description="Right edge.", ge=0, examples=[324.6])
    y_max: float = Field(description="Bottom edge.", ge=0, examples=[342.3])

    @classmethod
    def of(cls, box: recognizer.Box) -> Self:
        """Return the public form of a box."""
        edges = (round(edge, _PIXEL_DECIMALS) for edge in (box.x_min, box.y_min, box.x_max, box.y_max))
        return cls(**dict(zip(cls.model_fields, edges, strict=True)))


class Candidate(BaseModel):
    """What a plate may say."""

    text: str = Field(description="In Latin look-alikes.", examples=["B840OK197"])
    score: Probability = Field(description="Probability of the text.", examples=[0.97])


class Region(BaseModel):
    """Where a plate was issued."""

    code: str = Field(description="The digits of the plate that say so.", examples=["197"])
    name: str | None = Field(description="In English; null for an unknown code.", examples=["Moscow"])
    name_ru: str | None = Field(description="In Russian; null for an unknown code.", examples=["Москва"])

    @classmethod
    def of(cls, code: str) -> Self | None:
        """Return the region of a code, None for an empty one."""
        if not code:
            return None
        name = region_name(code)
        return cls(code=code, name=name and name.en, name_ru=name and name.ru)


class RecognizedPlate(BaseModel):
    """One licence plate."""

    box: Box
    text: str = Field(
        description="In Latin look-alikes of the Cyrillic letters; empty where the plate can't be read.",
        examples=["B840OK197"],
    )
    text_cyrillic: str = Field(description="The same text in Cyrillic.", examples=["В840ОК197"])
    score: Probability = Field(
        description="Probability of the text; of the best candidate where the text is empty.", examples=[0.97]
    )
    detection_score: Probability = Field(description="How sure it is that this is a plate.", examples=[0.93])
    format: Format = Field(description="Type of the plate, from its text (GOST R 50577).", examples=["civil"])
    region: Region | None = Field(description="Where it was issued; null where the text doesn't say so.")
    lines: int = Field(description="Lines of text on the plate.", ge=1, le=2, examples=[1])
    character_scores: list[Probability] = Field(
        description="Probability of each character of the best candidate, from left to right.",
        examples=[[0.99, 0.99, 0.98, 0.99, 0.99, 0.97, 0.99, 0.99, 0.99]],
    )
    candidates: list[Candidate] = Field(
        description="What the plate may say, most probable first: as many as the parameter `candidates` asks for."
    )

    @classmethod
    def of(cls, plate: recognizer.Plate, candidates: int) -> Self:
        """Return the public form of a plate, with so many candidates at most."""
        return cls(
            box=Box.of(plate.box),
            text=plate.text,
            text_cyrillic=to_cyrillic(plate.text),
            score=_probability(plate.score),
            detection_score=_probability(plate.detection_score),
            format=Format(plate.format),
            region=Region.of(plate.region),
            lines=plate.lines,
            character_scores=[_probability(score) for score in plate.character_scores],
            candidates=[
                Candidate(text=candidate.text, score=_probability(candidate.score))
                for candidate in plate.candidates[:candidates]
            ],
        )


class DetectedPlate(BaseModel):
    """One licence plate that was found and not read."""

    box: Box
    detection_score: Probability = Field(description="How sure it is that this is a plate.", examples=[0.93])

    @classmethod
    def of(cls, detection: recognizer.Detection) -> Self:
        """Return the public form of a detection."""
        return cls(box=Box.of(detection.box), detection_score=_probability(detection.score))


Identity = Annotated[
    str,
    Field(
        description="Names this request in the logs; the same as the header X-Request-ID.",
        examples=["0b1d6a0c5a0f4f0e8c8e1a8f2f4b7c11"],
    ),
]
Transport = Annotated[
    str,
    Field(
        description='How the picture reached Triton: "cuda" or "system" (shared memory), "grpc" (in the request).',
        examples=["system"],
    ),
]
Milliseconds = Annotated[
    dict[str, float],
    Field(
        description="Time by stage. `queue`: waiting for a place; `decode`: file to pixels; `triton`: the request "
        "there, of which `detect` and `read` are the networks; `total`: from the last byte's arrival to this answer.",
        examples=[{"queue": 0.1, "decode": 5.2, "triton": 27.9, "detect": 20.4, "read": 5.0, "total": 34.1}],
    ),
]


class RecognizeResponse(BaseModel):
    """The plates of one picture."""

    image: ImageSize
    plates: list[RecognizedPlate] = Field(
        description="Best score first, equal ones from left to right; empty where there is no plate."
    )
    id: Identity
    transport: Transport
    milliseconds: Milliseconds

    @classmethod
    def of(
        cls,
        image: EncodedImage,
        plates: Iterable[recognizer.Plate],
        timing: recognizer.Timing,
        *,
        candidates: int,
        total: float,
        identity: str,
    ) -> Self:
        """Return the public form of an image's plates.

        Args:
            image: where they were read.
            plates: best score first.
            timing: how the image went through.
            candidates: how many of each plate's candidates are told.
            total: seconds from the last byte's arrival until now.
            identity: the request's id.
        """
        return cls(
            image=ImageSize.of(image),
            plates=[RecognizedPlate.of(plate, candidates) for plate in plates],
            id=identity,
            transport=timing.transport,
            milliseconds=_milliseconds(timing, total),
        )


class DetectResponse(BaseModel):
    """The plates found in one picture."""

    image: ImageSize
    plates: list[DetectedPlate] = Field(
        description="Best score first, equal ones from left to right; empty where there is no plate."
    )
    id: Identity
    transport: Transport
    milliseconds: Milliseconds

    @classmethod
    def of(
        cls,
        image: EncodedImage,
        detections: Iterable[recognizer.Detection],
        timing: recognizer.Timing,
        *,
        total: float,
        identity: str,
    ) -> Self:
        """Return the public form of what was found in an image; the arguments are those of `RecognizeResponse.of`."""
        return cls(
            image=ImageSize.of(image),
            plates=[DetectedPlate.of(detection) for detection in detections],
            id=identity,
            transport=timing.transport,
            milliseconds=_milliseconds(timing, total),
        )


class Problem(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(default="about:blank", description="The status says what kind of problem it is.")
    title: str = Field(description="The kind of problem in words.", examples=["Unsupported media type"])
    status: int = Field(description="The HTTP status.", ge=400, le=599, examples=[415])
    detail: str = Field(
        description="What was wrong with this request, and what to do.",
        examples=["The file is not an image that can be read here. Send JPEG, PNG, WebP or BMP."],
    )


class BatchEntry(BaseModel):
    """What came of one file of a batch: a result or an error."""

    index: int = Field(description="Which file of the form, from 0.", ge=0, examples=[0])
    filename: str | None = Field(description="The file's name in the form.", examples=["car.jpg"])
    result: RecognizeResponse | None = Field(description="What POST /recognize answers; null after an error.")
    error: Problem | None = Field(description="Why there is no result; null where there is one.")


class BatchResponse(BaseModel):
    """What came of the files of a batch."""

    results: list[BatchEntry] = Field(description="One entry per file, in the order of the form.")
    id: Identity


class Health(BaseModel):
    """Whether requests are answered."""

    status: Literal["live", "ready", "not ready"] = Field(examples=["ready"])
    detail: str = Field(description="Why not, where they aren't.", examples=["The models are loaded and warm."])
    transport: str | None = Field(
        default=None,
        description='How images reach Triton: "cuda", "system" or "grpc"; null while it is away.',
        examples=["system"],
    )
    refused: dict[str, str] = Field(
        default={},
        description="Why they don't travel in a faster way: the reason for each that was tried.",
        examples=[{"cuda": "cuda-python is missing: install plate-gateway[cuda]"}],
    )


def _probability(value: float) -> float:
    # Triton's numbers are FP32: the largest below 1 may be rounded above it on the way.
    return min(max(round(value, _SCORE_DECIMALS), 0.0), 1.0)


def _milliseconds(timing: recognizer.Timing, total: float) -> dict[str, float]:
    stages = {**timing.milliseconds, "total": 1000 * total}
    return {stage: round(value, _MILLISECOND_DECIMALS) for stage, value in stages.items()}

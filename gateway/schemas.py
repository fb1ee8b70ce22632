"""The public JSON."""

from collections.abc import Iterable
from typing import Annotated, Final, Generic, Literal, Self, TypeVar

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

    width: int = Field(description="Width, pixels.", gt=0, examples=[1920])
    height: int = Field(description="Height, pixels.", gt=0, examples=[1080])

    @classmethod
    def of(cls, image: EncodedImage) -> Self:
        """Return the size of an image."""
        return cls(width=image.width, height=image.height)


class Box(BaseModel):
    """A rectangle in pixels of the picture as its viewer sees it; x goes right, y goes down, from the top left."""

    x_min: float = Field(description="Left edge, pixels.", ge=0, examples=[232.4])
    y_min: float = Field(description="Top edge, pixels.", ge=0, examples=[331.0])
    x_max: float = Field(description="Right edge, pixels.", ge=0, examples=[324.6])
    y_max: float = Field(description="Bottom edge, pixels.", ge=0, examples=[342.3])

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

    def rank(self) -> tuple[float, float]:
        """Return what plates are ordered by: the best score first, as it is told, equal ones from left to right."""
        return -self.score, self.box.x_min


class DetectedPlate(BaseModel):
    """One licence plate that was found and not read."""

    box: Box
    detection_score: Probability = Field(description="How sure it is that this is a plate.", examples=[0.93])

    @classmethod
    def of(cls, detection: recognizer.Detection) -> Self:
        """Return the public form of a detection."""
        return cls(box=Box.of(detection.box), detection_score=_probability(detection.score))

    def rank(self) -> tuple[float, float]:
        """Return what plates are ordered by, as `RecognizedPlate.rank`."""
        return -self.detection_score, self.box.x_min


PlateT = TypeVar("PlateT", RecognizedPlate, DetectedPlate)


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


Total = Annotated[
    float, Field(description="From the arrival of the picture's last byte to this answer, ms.", ge=0, examples=[34.1])
]


class _Milliseconds(BaseModel):
    queue: float = Field(description="Waiting for a place, ms.", ge=0, examples=[0.1])
    decode: float = Field(description="From the file to pixels, ms.", ge=0, examples=[5.2])
    triton: float = Field(description="The request to Triton, ms.", ge=0, examples=[27.9])

    @classmethod
    def of(cls, timing: recognizer.Timing, total: float) -> Self:
        """Return the public form of an image's times; the total is in seconds."""
        told = {**timing.milliseconds, "total": 1000 * total}
        return cls(**{stage: round(told[stage], _MILLISECOND_DECIMALS) for stage in cls.model_fields})


class DetectMilliseconds(_Milliseconds):
    """Time by stage, in milliseconds."""

    total: Total


class RecognizeMilliseconds(_Milliseconds):
    """Time by stage, in milliseconds; `detect` and `read` are part of `triton`."""

    detect: float = Field(description="Finding plates, ms.", ge=0, examples=[20.4])
    read: float = Field(description="Reading them, ms.", ge=0, examples=[5.0])
    total: Total


MillisecondsT = TypeVar("MillisecondsT", DetectMilliseconds, RecognizeMilliseconds)


class _PictureResponse(BaseModel, Generic[PlateT, MillisecondsT]):
    image: ImageSize
    plates: list[PlateT] = Field(
        description="Best score first, equal ones from left to right; empty where there is no plate."
    )
    id: Identity
    transport: Transport
    milliseconds: MillisecondsT

    @classmethod
    def _of(
        cls, image: EncodedImage, plates: Iterable[PlateT], milliseconds: MillisecondsT, transport: str, identity: str
    ) -> Self:
        return cls(
            image=ImageSize.of(image),
            plates=sorted(plates, key=lambda plate: plate.rank()),
            id=identity,
            transport=transport,
            milliseconds=milliseconds,
        )


class RecognizeResponse(_PictureResponse[RecognizedPlate, RecognizeMilliseconds]):
    """The plates of one picture."""

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
            plates: in any order.
            timing: how the image went through.
            candidates: how many of each plate's candidates are told.
            total: seconds from the last byte's arrival until now.
            identity: the request's id.
        """
        told = (RecognizedPlate.of(plate, candidates) for plate in plates)
        return cls._of(image, told, RecognizeMilliseconds.of(timing, total), timing.transport, identity)


class DetectResponse(_PictureResponse[DetectedPlate, DetectMilliseconds]):
    """The plates found in one picture."""

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
        told = (DetectedPlate.of(detection) for detection in detections)
        return cls._of(image, told, DetectMilliseconds.of(timing, total), timing.transport, identity)


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

"""The public JSON."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field

from gateway.images import EncodedImage
from gateway.recognizer import Plate
from plates.alphabet import to_cyrillic

Probability = Annotated[float, Field(ge=0, le=1)]

_PIXEL_DECIMALS = 1
_SCORE_DECIMALS = 4


class ImageSize(BaseModel):
    """Size of the picture as its viewer sees it: the EXIF orientation is applied."""

    width: int = Field(description="Pixels.", gt=0, examples=[1920])
    height: int = Field(description="Pixels.", gt=0, examples=[1080])


class Box(BaseModel):
    """A rectangle in pixels of the picture as its viewer sees it; x goes right, y goes down, from the top left."""

    x_min: float = Field(description="Left edge.", ge=0, examples=[232.4])
    y_min: float = Field(description="Top edge.", ge=0, examples=[331.0])
    x_max: float = Field(description="Right edge.", ge=0, examples=[324.6])
    y_max: float = Field(description="Bottom edge.", ge=0, examples=[342.3])


class RecognizedPlate(BaseModel):
    """One licence plate."""

    box: Box
    text: str = Field(
        description="In Latin look-alikes of the Cyrillic letters; empty where the plate can't be read.",
        examples=["B840OK197"],
    )
    text_cyrillic: str = Field(description="The same text in Cyrillic.", examples=["В840ОК197"])
    score: Probability = Field(description="Probability of the text.", examples=[0.97])
    detection_score: Probability = Field(description="How sure it is that this is a plate.", examples=[0.93])

    @classmethod
    def of(cls, plate: Plate) -> Self:
        """Return the public form of a plate."""
        x_min, y_min, x_max, y_max = (
            round(value, _PIXEL_DECIMALS)
            for value in (plate.box.x_min, plate.box.y_min, plate.box.x_max, plate.box.y_max)
        )
        return cls(
            box=Box(x_min=x_min, y_min=y_min, x_max=x_max, y_max=y_max),
            text=plate.text,
            text_cyrillic=to_cyrillic(plate.text),
            score=round(plate.score, _SCORE_DECIMALS),
            detection_score=round(plate.detection_score, _SCORE_DECIMALS),
        )


class RecognizeResponse(BaseModel):
    """The plates of one picture."""

    image: ImageSize
    plates: list[RecognizedPlate] = Field(description="Best detection first; empty where there is no plate.")

    @classmethod
    def of(cls, image: EncodedImage, plates: list[Plate]) -> Self:
        """Return the public form of an image's plates."""
        return cls(
            image=ImageSize(width=image.width, height=image.height),
            plates=[RecognizedPlate.of(plate) for plate in plates],
        )


class Health(BaseModel):
    """Whether requests are answered."""

    status: Literal["live", "ready", "not ready"] = Field(examples=["ready"])
    detail: str = Field(description="Why not, where they aren't.", examples=["The models are loaded and warm."])
    transport: str | None = Field(
        default=None,
        description='How images reach Triton: "system" (shared memory) or "grpc"; null while it is away.',
        examples=["system"],
    )


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(default="about:blank", description="The status says what kind of problem it is.")
    title: str = Field(description="The kind of problem in words.")
    status: int = Field(description="The HTTP status.", ge=400, le=599)
    detail: str = Field(description="What was wrong with this request, and what to do.")

"""Which plates of a picture a client wants: a least score, and polygons that their centres lie in."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Self, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gateway.images import EncodedImage
from gateway.recognizer import Box, Detection, Plate

MAX_POLYGONS: Final = 16
MAX_CORNERS: Final = 64

_SHARE: Final = r"(?:0(?:\.[0-9]{0,9})?|1(?:\.0{0,9})?|\.[0-9]{1,9})"
_PATTERN: Final = rf"^{_SHARE},{_SHARE}(?:,{_SHARE},{_SHARE}){{1,{MAX_CORNERS - 1}}}$"


def _check_polygon(text: str) -> str:
    if not re.fullmatch(_PATTERN, text):
        raise PydanticCustomError(
            "polygon",
            "Give x,y,x,y,... of 2 to {corners} corners as shares from 0 to 1, such as 0,0.5,1,1",
            {"corners": MAX_CORNERS},
        )
    return text


PolygonText = Annotated[str, AfterValidator(_check_polygon), WithJsonSchema({"type": "string", "pattern": _PATTERN})]
"""x,y,x,y,... of a polygon's corners, as shares of the picture's width and height: 0,0 is its top left, 1,1 its bottom
right. Two corners stand for the rectangle between them."""

Found = TypeVar("Found", Plate, Detection)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted of the plates that were found."""

    min_score: float = 0.0
    polygons: tuple[NDArray[np.float32], ...] = ()
    """Corners (n, 2) as shares of width and height; a plate whose centre is in any of them is wanted, or, without
    polygons, every plate."""

    @classmethod
    def of(cls, min_score: float, polygons: Iterable[PolygonText]) -> Self:
        """Return the selection that these parameters ask for."""
        return cls(min_score, tuple(map(_corners, polygons)))

    def of_plates(self, plates: Iterable[Found], image: EncodedImage) -> list[Found]:
        """Return the wanted plates, in their order."""
        return [plate for plate in plates if plate.score >= self.min_score and self._holds(plate.box, image)]

    def _holds(self, box: Box, image: EncodedImage) -> bool:
        centre = (
            (box.x_min + box.x_max) / 2 / image.width,
            (box.y_min + box.y_max) / 2 / image.height,
        )
        return not self.polygons or any(
            cv2.pointPolygonTest(polygon, centre, measureDist=False) >= 0 for polygon in self.polygons
        )


def _corners(text: PolygonText) -> NDArray[np.float32]:
    shares = [float(share) for share in text.split(",")]
    corners = np.array(shares, np.float32).reshape(-1, 2)
    if len(corners) == 2:
        (left, top), (right, bottom) = corners
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)], np.float32)
    return corners

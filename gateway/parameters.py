"""The query parameters that several routes share."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from gateway.schemas import MAX_CANDIDATES
from gateway.selection import MAX_CORNERS, MAX_POLYGONS, PolygonText

MinScore = Annotated[float, Query(ge=0, le=1, description="Plates with a lower score are left out.", examples=[0.5])]

Candidates = Annotated[
    int, Query(ge=0, le=MAX_CANDIDATES, description="How many texts to tell for each plate, most probable first.")
]
DEFAULT_CANDIDATES = 3

Roi = Annotated[
    tuple[Annotated[PolygonText, Field(examples=["0,0.5,1,1"])], ...],
    Query(
        max_length=MAX_POLYGONS,
        description="Region of interest: plates whose centre lies outside are left out. x,y of the corners of a "
        f"polygon (at most {MAX_CORNERS}), one after the other, as shares of the picture's width and height from its "
        "top left; two corners stand for a rectangle. `roi=0,0.5,1,1` is the lower half. Give it again for another "
        "region; a plate in any of them counts.",
    ),
]

Quality = Annotated[
    int, Query(ge=1, le=100, description="Quality of the JPEG: smaller files below, fewer artefacts above.")
]

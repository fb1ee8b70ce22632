"""The wanted plates."""

import re
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from gateway.images import EncodedImage
from gateway.recognizer import Box, Detection
from gateway.selection import MAX_CORNERS, PolygonText, Selection

IMAGE = EncodedImage(b"", "JPEG", height=500, width=1000)

POLYGON: TypeAdapter[Any] = TypeAdapter(Annotated[PolygonText, "roi"])


def centred(x: float, y: float, score: float = 0.5) -> Detection:
    """A plate whose centre lies at these shares of the picture."""
    return Detection(Box(1000 * x - 50, 500 * y - 10, 1000 * x + 50, 500 * y + 10), score)


def wanted(plates: list[Detection], *polygons: str, min_score: float = 0.0) -> list[Detection]:
    return Selection.of(min_score, polygons).of_plates(plates, IMAGE)


def test_without_wishes_every_plate_is_wanted_in_its_order() -> None:
    plates = [centred(0.9, 0.9), centred(0.1, 0.1), centred(0.5, 0.5)]
    assert wanted(plates) == plates


def test_a_plate_with_the_least_score_is_wanted() -> None:
    plates = [centred(0.5, 0.5, 0.8), centred(0.5, 0.5, 0.5), centred(0.5, 0.5, 0.499)]
    assert wanted(plates, min_score=0.5) == plates[:2]


@pytest.mark.parametrize(
    ("polygon", "x", "y", "inside"),
    [
        ("0,0,1,1", 0.999, 0.001, True),
        # Corners in any order.
        ("1,1,0,0", 0.5, 0.5, True),
        ("1,0,0,1", 0.5, 0.5, True),
        ("0.2,0.2,0.4,0.6", 0.3, 0.5, True),
        ("0.2,0.2,0.4,0.6", 0.41, 0.5, False),
        # The picture is twice as wide as high; shares are of each side.
        ("0,0,1,0,0,1", 0.45, 0.45, True),
        ("0,0,1,0,0,1", 0.55, 0.55, False),
        # A dent: a U has nothing in its middle.
        ("0,0,.3,0,.3,.7,.7,.7,.7,0,1,0,1,1,0,1", 0.5, 0.5, False),
        ("0,0,.3,0,.3,.7,.7,.7,.7,0,1,0,1,1,0,1", 0.5, 0.8, True),
        # Without an area.
        ("0.5,0.5,0.5,0.5", 0.3, 0.3, False),
    ],
)
def test_a_plate_is_wanted_where_its_centre_is_inside(polygon: str, x: float, y: float, inside: bool) -> None:
    POLYGON.validate_python(polygon)
    assert bool(wanted([centred(x, y)], polygon)) == inside


def test_any_of_the_polygons_counts() -> None:
    plates = [centred(0.1, 0.1), centred(0.5, 0.5), centred(0.9, 0.9)]
    assert wanted(plates, "0,0,0.2,0.2", "0.8,0.8,1,1") == [plates[0], plates[2]]


@pytest.mark.parametrize("text", ["0,0,1,1", "0.,.5,1.0,1.000", ",".join(["0.25"] * 2 * MAX_CORNERS)])
def test_a_polygon_is_written_in_several_ways(text: str) -> None:
    assert POLYGON.validate_python(text) == text
    assert re.search(POLYGON.json_schema()["pattern"], text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0,0", "0,0,1", "0,0,1,1,", "0,0,1,1,0", "0 0 1 1", "0;0;1;1", "a,b,c,d", "0,0,1,2", "-0.1,0,1,1"),
        *("0,0,1,1.1", "nan,0,1,1", "1e-1,0,1,1", "0,0,1,1\n", ".,0,1,1", ",".join(["0"] * 2 * (MAX_CORNERS + 1))),
    ],
)
def test_what_is_no_polygon_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match=r"such as 0,0\.5,1,1"):
        POLYGON.validate_python(text)

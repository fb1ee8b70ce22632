"""Which answer a client prefers."""

import pytest

from gateway.negotiation import preferred

JSON, JPEG = "application/json", "image/jpeg"


@pytest.mark.parametrize(
    ("accept", "answer"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("image/jpeg", JPEG),
        ("IMAGE/JPEG", JPEG),
        ("image/*", JPEG),
        ("image/jpeg, application/json", JSON),
        ("image/jpeg, application/json;q=0.9", JPEG),
        ("image/jpeg;q=0.1, */*", JSON),
        ("image/jpeg;q=0.1, */*;q=0.01", JPEG),
        ("image/avif,image/webp,*/*;q=0.8", JSON),
        ("application/json;q=0, */*", JPEG),
        ("text/html", JSON),
        ("image/jpeg;q=high", JSON),
        (" , ,", JSON),
        ("image/jpeg; level=1 ; q=0.5", JPEG),
    ],
)
def test_the_header_decides(accept: str, answer: str) -> None:
    assert preferred(accept, (JSON, JPEG)) == answer

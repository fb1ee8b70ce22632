"""What schemathesis sends where the API's description asks for a picture: files of every kind that is read here."""

import base64
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import schemathesis
from hypothesis import strategies
from schemathesis.transport.serialization import Binary

EXAMPLE = Path(__file__).parents[2] / "docs" / "example.jpg"

_KINDS = ("jpeg", "png", "webp", "bmp")

_PIXELS = [
    cv2.resize(cv2.imread(str(EXAMPLE)), (640, 360)),
    np.full((1, 1, 3), 90, np.uint8),
    np.random.default_rng(0).integers(0, 255, (60, 90, 3), np.uint8),
]

PICTURES = {kind: [cv2.imencode(f".{kind}", pixels)[1].tobytes() for pixels in _PIXELS] for kind in _KINDS}

_any = strategies.sampled_from([picture for pictures in PICTURES.values() for picture in pictures])

schemathesis.openapi.format("binary", _any.map(Binary))
schemathesis.openapi.format("byte", _any.map(lambda picture: base64.b64encode(picture).decode()))
for _kind, _pictures in PICTURES.items():
    schemathesis.openapi.media_type(f"image/{_kind}", strategies.sampled_from(_pictures))


@schemathesis.deserializer("application/x-ndjson")
def first_line(ctx: schemathesis.DeserializationContext, response: schemathesis.Response) -> Any:
    """Return the first object: the description tells what each line is."""
    return json.loads(response.content.splitlines()[0])

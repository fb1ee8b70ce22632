"""Plates that the labelled photos show but don't label, found by a detector and looked at one by one.

Most photos have a label for the plate that matters, not for the blurred one behind it. Without these boxes a training
would teach that those are no plates, and an evaluation would take them for mistakes.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from nets.data.index import Box

_FILE: Final = Path(__file__).with_suffix(".json")


@cache
def unlabelled_plates() -> dict[str, tuple[Box, ...]]:
    """Return x_min, y_min, x_max, y_max in pixels of each further plate, by the name of the photo's file."""
    content: dict[str, list[list[float]]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: tuple((x_min, y_min, x_max, y_max) for x_min, y_min, x_max, y_max in boxes)
        for name, boxes in content.items()
    }

"""Labelled crops whose text is wrong, found where the reader disagreed and looked at one by one. Not trained on."""

import json
from functools import cache
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_suffix(".json")


@cache
def mislabelled() -> dict[str, str]:
    """Return what is wrong with a crop's text, by the name of its file."""
    reasons: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))
    return reasons

"""The labelled photos of ../shared/data: which there are, and which may be trained on.

The photos are not part of the project; without them `available()` is false and whoever needs them says so.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

ROOT: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
"""The photos lie beside the project."""

HELD_OUT_FOLD: Final = 4
"""Not trained on where anything is counted: what `make evaluate` counts."""

HELD_OUT_KEY: Final = "held_out_fold"
"""Under this name, weights and the models exported from them say which fold they haven't learnt from, -1: none."""

Box = tuple[float, float, float, float]
Quad = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class LabelledPlate:
    """One plate of a photo."""

    box: Box
    """x_min, y_min, x_max, y_max in pixels."""
    quad: Quad | None
    """Corners: top left, top right, bottom right, bottom left."""
    text: str | None
    """In Latin look-alikes; None where it is unreadable or unchecked."""
    type: str


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """One photo and the plates in it."""

    path: Path
    kind: Literal["scene", "crop"]
    source: str
    fold: int
    complete: bool
    """Whether every readable plate is boxed."""
    width: int
    height: int
    plates: tuple[LabelledPlate, ...]
    group: str = ""
    """Pictures of the same photo share it."""


def available(root: Path = ROOT) -> bool:
    """Say whether the photos are there."""
    return (root / "index.jsonl").is_file()


def load(root: Path = ROOT) -> list[LabelledImage]:
    """Read the index of scenes and crops.

    Raises:
        FileNotFoundError: the photos are not there.
    """
    with (root / "index.jsonl").open(encoding="utf-8") as lines:
        return [_image(root, json.loads(line)) for line in lines]


def negatives(root: Path = ROOT) -> list[Path]:
    """Return the photos that hold no plate which should be read."""
    with (root / "negatives" / "index.jsonl").open(encoding="utf-8") as lines:
        return [root / json.loads(line)["file"] for line in lines]


def _image(root: Path, row: dict[str, Any]) -> LabelledImage:
    plates = tuple(
        LabelledPlate(
            # A crop without a box is the plate and nothing else.
            box=tuple(plate["box"] or (0, 0, row["width"], row["height"])),
            quad=_quad(plate["quad"]) if plate.get("quad") else None,
            text=plate["text"],
            type=plate["type"],
        )
        for plate in row["plates"]
    )
    return LabelledImage(
        path=root / str(row["file"]),
        kind=row["kind"],
        source=str(row["source"]),
        fold=int(row["fold"]),
        complete=bool(row.get("complete")),
        width=int(row["width"]),
        height=int(row["height"]),
        plates=plates,
        group=str(row["group"]),
    )


def _quad(corners: list[list[float]]) -> Quad:
    top_left, top_right, bottom_right, bottom_left = ((x, y) for x, y in corners)
    return top_left, top_right, bottom_right, bottom_left

"""Count what is found of plates far away in large frames, by how closely the detector looks.

    python -m nets.evaluate_far [--repository DIR] [--docs]

The labelled photos hardly have such plates. So held-out scenes are reduced until their first plate is 16 to 64 pixels
wide, and laid into frames of 1920 x 1080 that are photos without plates. Processor time is that of a frame from the
pixels to the texts, on one thread.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import cv2
import numpy as np
from rich.progress import track

from nets import report, repository
from nets.given_boxes import load
from nets.held_out import Photo
from nets.metrics import match
from nets.tabulate import tabulate
from plates.geometry import Floats, Image
from plates.pipeline import DetectorNet, Options, ReaderNet, recognize

WIDTH: Final = 1920
HEIGHT: Final = 1080

WIDTHS: Final = (16, 24, 32, 48, 64)
"""Limits of the classes of plates, pixels."""

COLUMNS: Final = ("looks", *(f"{low}-{high} px" for low, high in pairwise(WIDTHS)), "CPU ms")


@dataclass(frozen=True, slots=True)
class Frame:
    """A large picture with a small plate."""

    image: Image
    box: Floats
    """(4,)."""


def variants(served: Options) -> dict[str, Options]:
    """Return what is compared."""
    sizes = {f"{served.input_size} px, then {size} px": replace(served, closer_look_size=size) for size in (960, 1920)}
    return {
        f"{served.input_size} px": replace(served, closer_look_size=0),
        f"{served.input_size} px, then {served.closer_look_size} px (served)": served,
        **sizes,
        f"{served.closer_look_size} px": replace(served, input_size=served.closer_look_size, closer_look_size=0),
    }


def frames(photos: Sequence[Photo], seed: int = 0) -> list[Frame]:
    """Make a frame of every photo with a plate that can be reduced to the widths that are counted."""
    rng = np.random.default_rng(seed)
    grounds = [load(photo) for photo in photos if photo.complete and not photo.labels]
    made = []
    for photo in photos:
        if not photo.labels:
            continue
        x_min, y_min, x_max, y_max = photo.labels[0].box
        scale = np.exp(rng.uniform(np.log(WIDTHS[0]), np.log(WIDTHS[-1]))) / (x_max - x_min)
        scene = load(photo)
        if scale > 1 or scale * scene.shape[0] > HEIGHT or scale * scene.shape[1] > WIDTH:
            continue
        scene = np.asarray(cv2.resize(scene, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
        height, width = scene.shape[:2]
        top, left = int(rng.integers(0, HEIGHT - height + 1)), int(rng.integers(0, WIDTH - width + 1))
        image = np.asarray(cv2.resize(grounds[rng.integers(len(grounds))], (WIDTH, HEIGHT)), np.uint8)
        image[top : top + height, left : left + width] = scene
        box = np.array([x_min, y_min, x_max, y_max]) * scale + (left, top, left, top)
        made.append(Frame(image, box.astype(np.float32)))
    return made


def count(
    seen: Sequence[Frame], detector: DetectorNet, reader: ReaderNet, compared: Mapping[str, Options]
) -> report.Grid:
    """Count what each variant finds, by the plates' widths."""
    widths = np.array([frame.box[2] - frame.box[0] for frame in seen])
    classes = [(widths >= low) & (widths < high) for low, high in pairwise(WIDTHS)]
    rows = []
    for name, options in track(compared.items(), "variants", transient=True):
        begin = time.process_time()
        found = np.array([_finds(frame, detector, reader, options) for frame in seen])
        milliseconds = 1000 * (time.process_time() - begin) / len(seen)
        shares = [f"{found[chosen].sum()} of {chosen.sum()}" for chosen in classes]
        rows.append((name, *shares, f"{milliseconds:.0f}"))
    return report.Grid(COLUMNS, rows)


def _finds(frame: Frame, detector: DetectorNet, reader: ReaderNet, options: Options) -> bool:
    given = recognize(frame.image, detector, reader, options)
    return bool(match(frame.box[None], given.detections.boxes))


def main(arguments: list[str] | None = None) -> int:
    """Count from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.evaluate_far", description="Count what is found of plates far away.")
    return tabulate(parser, arguments, "far", _count)


def _count(options: argparse.Namespace, photos: Sequence[Photo]) -> report.Grid:
    detector, reader = repository.detector(options.repository), repository.reader(options.repository)
    return count(frames(photos), detector, reader, variants(repository.options(options.repository)))


if __name__ == "__main__":
    sys.exit(main())

"""Count what the detector alone finds in the held-out photos, at several thresholds.

    python -m nets.evaluate_detector [--weights FILE]

It goes through the service's own letterbox, decoding and suppression (`plates.pipeline`), without a server.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm  # type: ignore[import-untyped]

from nets.data import index
from nets.data.photos import decode
from nets.data.unlabelled import unlabelled_plates
from nets.metrics import Answer, Label, Report
from nets.yolov5 import DetectorGraph, YOLOv5, load_detector
from plates.pipeline import DetectorNet, Options, detect

WEIGHTS: Final = Path(__file__).resolve().parent / "weights" / "detector.safetensors"

THRESHOLDS: Final = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Scores from which detections count."""


def held_out_photos(fold: int = index.HELD_OUT_FOLD) -> list[index.LabelledImage]:
    """Return the scenes of a fold that isn't trained on, and the photos without plates, which never are."""
    scenes = [photo for photo in index.load() if photo.kind == "scene" and photo.fold == fold]
    empty = [index.LabelledImage(path, "scene", "", fold, True, 0, 0, ()) for path in index.negatives()]
    return scenes + empty


def as_detector(network: YOLOv5) -> DetectorNet:
    """Return a network's deployed form as the pipeline calls it. The network is left as it is."""
    copy = YOLOv5(network.depth, network.width, network.classes)
    copy.load_state_dict(network.state_dict())
    graph = DetectorGraph(copy)

    @torch.inference_mode()
    def detector(images: NDArray[np.uint8]) -> NDArray[np.float32]:
        return cast("NDArray[np.float32]", graph(torch.from_numpy(images)).numpy())

    return detector


def evaluate(
    network: YOLOv5, photos: Sequence[index.LabelledImage], thresholds: Sequence[float] = THRESHOLDS
) -> dict[float, Report]:
    """Count what a network finds in photos, from several scores on."""
    detector = as_detector(network)
    reports = {threshold: Report() for threshold in thresholds}
    for photo in photos:
        image = decode(photo, longest_side=sys.maxsize).image
        found = detect(image, detector, Options(detection_threshold=min(thresholds)))
        ignored = unlabelled_plates().get(photo.path.name, ())
        labels = [Label(plate.box, plate.text) for plate in photo.plates]
        for threshold, report in reports.items():
            # Suppression compares with better ones only: dropping the others afterwards is the same as before.
            boxes = found.boxes[found.scores >= threshold].tolist()
            report.add(labels, [Answer(cast("index.Box", tuple(box))) for box in boxes], photo.complete, ignored)
    return reports


def summary(reports: dict[float, Report]) -> str:
    """Say how it went: a line per threshold."""
    return "\n".join(
        f"score >= {threshold:.2f}: recall {report.everything.recall:.3f}"
        f" (wide, with text: {report.headline.recall:.3f}), IoU {report.everything.mean_iou:.3f},"
        f" precision {report.precision:.3f} of {report.judged}"
        for threshold, report in reports.items()
    )


def main(arguments: list[str] | None = None) -> int:
    """Evaluate from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.evaluate_detector", description="Count what the detector finds.")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    options = parser.parse_args(arguments)
    if not index.available():
        sys.stderr.write(f"the labelled photos are not at {index.ROOT}\n")
        return 1
    torch.set_num_threads(options.threads)
    photos = held_out_photos()
    reports = evaluate(load_detector(options.weights), tqdm(photos, unit=" photos"))
    sys.stdout.write(summary(reports) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

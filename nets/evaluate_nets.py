"""Count what the networks find and read in the held-out photos, without the service: `plates.pipeline` on ONNX Runtime.

    python -m nets.evaluate_nets [--repository DIR] [--beside NAME=DIR ...] [--docs]

`--beside` reads the same boxes with the STN and LPRNet of another model repository. `--docs` writes the tables into the
model card and its figures beside it; the worst cases go to `runs/`, because they show real photos.
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from nets import given_boxes, goals, held_out, report_figures, report_sheet
from nets import report as reports
from nets import repository as repositories
from nets.confusion import NOTHING, commonest, confusion
from nets.data.index import HELD_OUT_FOLD
from nets.data.unlabelled import unlabelled_plates
from nets.evaluate import ROOT, precision_sentence, sections
from nets.given_boxes import Plate
from nets.held_out import Photo
from nets.metrics import HEADLINE_WIDTH, Answer, Box, Report, Sample, Tally
from nets.reliability import expected_calibration_error, log_loss, reliability, scored
from nets.repository import REPOSITORY
from plates.pipeline import DetectorNet, Options, ReaderNet, detect, recognize

OURS: Final = "ours"
SHEET: Final = ROOT / "runs" / "evaluation" / "worst-nets.jpg"

LEAST_SCORE: Final = 0.001
"""Detections from which average precision is counted."""


Reading = tuple[list[Plate], list[Plate]]
"""What a reader sees in the labelled boxes of the scenes and in those of the crops."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of all photos."""

    end_to_end: Report
    """Plates found and read as the service does it."""
    detections: Report
    """Plates found by the detector, from `LEAST_SCORE` on."""
    readers: dict[str, Reading]
    """What readers see in the labelled boxes; ours first."""
    options: Options
    """With which ours is served."""

    @property
    def scenes(self) -> list[Sample]:
        """Plates of the scenes, read by our reader in their labelled boxes."""
        return given_boxes.samples(self._ours[0], given_boxes.served(self.options))

    @property
    def crops(self) -> list[Sample]:
        """Plates of the crops, read by our reader in their labelled boxes."""
        return given_boxes.samples(self._ours[1], given_boxes.served(self.options))

    @property
    def _ours(self) -> Reading:
        return self.readers[OURS]


def end_to_end(photos: Iterable[Photo], detector: DetectorNet, reader: ReaderNet, options: Options) -> Report:
    """Find and read the plates of photos as the service does."""
    report = Report()
    for photo in photos:
        readings = recognize(given_boxes.load(photo), detector, reader, options)
        answers = [
            Answer(box, text, score, reading.score, reading.text)
            for box, score, text, reading in zip(
                given_boxes.as_boxes(readings.detections.boxes),
                readings.detections.scores.tolist(),
                readings.texts,
                readings.readings,
                strict=True,
            )
        ]
        report.add(photo.labels, answers, photo.complete, _ignored(photo), str(photo.path))
    return report


def detections(photos: Iterable[Photo], detector: DetectorNet, options: Options) -> Report:
    """Find the plates of photos with the detector alone, unsure ones included."""
    report = Report()
    unsure = dataclasses.replace(options, detection_threshold=LEAST_SCORE)
    for photo in photos:
        found = detect(given_boxes.load(photo), detector, unsure)
        answers = [
            Answer(box, detection_score=score)
            for box, score in zip(given_boxes.as_boxes(found.boxes), found.scores.tolist(), strict=True)
        ]
        report.add(photo.labels, answers, photo.complete, _ignored(photo), str(photo.path))
    return report


def _ignored(photo: Photo) -> Sequence[Box]:
    return unlabelled_plates().get(photo.path.name, ())


def figures(outcome: Outcome) -> dict[goals.Goal, float]:
    """Return what was measured of each goal."""
    wide = Tally.of(sample for sample in outcome.scenes if sample.label.width >= HEADLINE_WIDTH)
    given = {goals.EXACT_SCENES: wide.exact_of_all, goals.EXACT_CROPS: Tally.of(outcome.crops).exact_of_all}
    return goals.end_to_end(outcome.end_to_end) | given


def readers_grid(readers: Mapping[str, Reading], options: Options) -> reports.Grid:
    """Compare readers on the same labelled boxes, each with greedy decoding and with the grammar of plates."""
    decoders = (("greedy", given_boxes.greedy), ("grammar", given_boxes.served(options)))
    rows = []
    for name, reading in readers.items():
        for decoding, decoder in decoders:
            row = [f"{name}, {decoding}"]
            for plates in reading:
                tally = Tally.of(given_boxes.samples(plates, decoder))
                row += [f"{tally.exact} of {tally.texts}", reports.percent(tally.exact_of_all)]
                row.append(reports.percent(tally.character_error_rate))
            rows.append(tuple(row))
    return reports.Grid(("reader, decoding", "scenes", "exact", "CER", "crops", "exact", "CER"), rows)


def calibration_grid(named: Mapping[str, Iterable[Sample]]) -> reports.Grid:
    """Say how far scores are from the shares that are right."""
    rows = []
    for name, samples in named.items():
        texts = scored(samples)
        error, loss = expected_calibration_error(texts), log_loss(texts)
        rows.append((name, str(len(texts)), reports.number(error), reports.number(loss)))
    return reports.Grid(("texts", "number", "ECE", "log loss"), rows)


def mistakes_sentence(counts: NDArray[np.int64]) -> str:
    """Name the commonest mistakes of characters."""
    pairs = [f"{label} read as {text} ({count})" for label, text, count in commonest(counts)]
    return f"Commonest mistakes ({NOTHING}: no character): {', '.join(pairs) or 'none'}."


def characters(samples: Iterable[Sample]) -> NDArray[np.int64]:
    """Count which characters are taken for which, over plates on which something was read."""
    return confusion(
        (sample.label.text, sample.answer.candidate)
        for sample in samples
        if sample.label.text is not None and sample.answer is not None and sample.answer.candidate
    )


def document(outcome: Outcome) -> list[str | tuple[str, reports.Grid]]:
    """Return what there is to say: sentences, and tables with their headings."""
    average = reports.number(outcome.detections.average_precision)
    return [
        ("What must be", reports.goal_grid(figures(outcome))),
        *sections(outcome.end_to_end),
        precision_sentence(outcome.end_to_end),
        f"AP50 of the detector alone: {average}, if nothing unlabelled in any photo is a plate.",
        ("In the labelled boxes", readers_grid(outcome.readers, outcome.options)),
        (
            "Calibration",
            calibration_grid(
                {
                    "end to end": outcome.end_to_end.samples,
                    "labelled boxes, scenes": outcome.scenes,
                    "labelled boxes, crops": outcome.crops,
                }
            ),
        ),
        mistakes_sentence(characters(outcome.scenes + outcome.crops)),
    ]


def write_documents(outcome: Outcome, card: Path = reports.CARD) -> None:
    """Write the tables into the model card and the figures beside it."""
    parts = [part if isinstance(part, str) else f"{part[0]}:\n\n{part[1].markdown()}" for part in document(outcome)]
    reports.write_section(card, "nets", "\n\n".join(part.strip() for part in parts))
    given = outcome.scenes + outcome.crops
    curves = {
        "end to end": reliability(scored(outcome.end_to_end.samples)),
        "labelled boxes": reliability(scored(given)),
    }
    figures_of = {
        "reliability.svg": report_figures.reliability_svg(curves),
        "confusion.svg": report_figures.confusion_svg(characters(given)),
    }
    for name, svg in figures_of.items():
        (card.parent / name).write_text(svg, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Evaluate from the command line; return the exit status: 1 where --strict is given and a "must" not reached."""
    parser = argparse.ArgumentParser(prog="nets.evaluate_nets", description="Count found and read plates.")
    parser.add_argument("--repository", type=Path, default=REPOSITORY, help="model repository")
    parser.add_argument(
        "--beside", action="append", default=[], metavar="NAME=DIR", help="another reader's model repository"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of ONNX Runtime per network")
    parser.add_argument("--docs", action="store_true", help="write tables and figures into docs/")
    parser.add_argument("--sheet", type=Path, default=SHEET, metavar="FILE", help="picture of the worst cases")
    parser.add_argument("--strict", action="store_true", help='fail where a "must" is not reached')
    options = parser.parse_args(arguments)
    console = Console()
    others = {name: Path(folder) for name, _, folder in (named.partition("=") for named in options.beside)}
    try:
        held_out.check(options.repository, published=options.docs, say=console.print)
        scenes, crops = held_out.scenes(), held_out.crops()
    except held_out.NothingToEvaluateError as error:
        console.print(str(error), markup=False)
        return 1
    outcome = evaluate(scenes, crops, options.repository, others, options.threads)
    console.print(
        f"{len(scenes)} scenes, {len(crops)} crops of fold {HELD_OUT_FOLD}; {options.repository}", markup=False
    )
    for part in document(outcome):
        if isinstance(part, str):
            console.print(f"\n{part}", markup=False)
        else:
            console.print(f"\n{part[0]}")
            console.print(part[1].rich())
    report_sheet.save(report_sheet.worst(outcome.end_to_end), options.sheet)
    if options.docs:
        write_documents(outcome)
    return 1 if options.strict and goals.missed(figures(outcome)) else 0


def evaluate(
    scenes: Sequence[Photo], crops: Sequence[Photo], repository: Path, others: Mapping[str, Path], threads: int = 1
) -> Outcome:
    """Count what a model repository does with photos, and what other repositories' readers see in them."""
    detector, reader = repositories.detector(repository, threads), repositories.reader(repository, threads)
    options = repositories.options(repository)
    named = {OURS: reader} | {name: repositories.reader(folder, threads) for name, folder in others.items()}
    seen = {
        name: (given_boxes.see(scenes, net, options), given_boxes.see(crops, net, options))
        for name, net in named.items()
    }
    return Outcome(
        end_to_end(track(scenes, "end to end", transient=True), detector, reader, options),
        detections(track(scenes, "detector", transient=True), detector, options),
        seen,
        options,
    )


if __name__ == "__main__":
    sys.exit(main())

"""Fit the temperature that makes the scores of texts mean what they say, on photos that are never trained on.

    python -m nets.calibrate [--repository DIR] [--write] [--docs]

Logits are divided by the temperature before they are decoded (Guo et al., "On Calibration of Modern Neural Networks",
2017). The one is taken under which right and wrong readings are likeliest, given their scores. Plates are read in the
boxes that the detector gives, those of crops in the labelled ones. What is reported is counted honestly: the
temperature fitted on one half of the photos, counted on the other, and the other way round; no photo and no plate is in
both. What is written into config.pbtxt is fitted on all of them.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console

from nets import given_boxes, held_out, report, repository
from nets.given_boxes import Decoder, Plate, samples, served
from nets.metrics import Sample, ratio
from nets.reliability import Scored, expected_calibration_error, log_loss, scored
from plates.pipeline import Options

LOWEST: Final = 0.4
HIGHEST: Final = 4.0
"""Temperatures beyond these are no calibration any more."""

STEPS: Final = 11
"""Temperatures that are tried over that range, and again between the neighbours of the best one."""

ROUNDS: Final = 2

THRESHOLDS: Final = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class UncalibratedError(Exception):
    """No temperature fits."""


def at(options: Options, temperature: float) -> Decoder:
    """Read as with some options, at another temperature."""
    return served(replace(options, temperature=temperature))


def surprise(plates: Sequence[Plate], decoder: Decoder, readings: Sequence[Sample]) -> float:
    """Return the mean negative log-likelihood of right and wrong, given the scores that a decoder gives to readings.

    The readings stay as they are: a temperature that makes every one of them wrong and scores it zero would else be the
    best of all.
    """
    scores = (dict(candidates) for candidates in given_boxes.candidates(plates, decoder))
    return log_loss(
        [
            Scored(score.get(reading.answer.candidate, 0.0), reading.answer.candidate == reading.label.text)
            for score, reading in zip(scores, readings, strict=True)
            if reading.answer is not None
        ]
    )


def fit(plates: Sequence[Plate], options: Options) -> float:
    """Return the temperature under which it is likeliest which readings are right, other options being equal.

    Raises:
        UncalibratedError: there are no plates, or the best temperature lies outside of `LOWEST` to `HIGHEST`.
    """
    if not plates:
        raise UncalibratedError("There are no plates to fit a temperature on.")
    readings = samples(plates, at(options, 1))
    low, high = LOWEST, HIGHEST
    for _ in range(ROUNDS):
        tried: list[float] = np.geomspace(low, high, STEPS).tolist()
        surprises = [surprise(plates, at(options, temperature), readings) for temperature in tried]
        best = int(np.argmin(surprises))
        if best in (0, STEPS - 1):
            raise UncalibratedError(f"The best temperature is {tried[best]:g} or beyond: look at the logits.")
        low, high = tried[best - 1], tried[best + 1]
    return round(tried[best], 3)


def cross_fit(
    first: Sequence[Plate], second: Sequence[Plate], options: Options
) -> tuple[tuple[float, float], list[Sample]]:
    """Fit on each half; return both temperatures, and each half read with the other's."""
    on_first, on_second = fit(first, options), fit(second, options)
    read = samples(first, at(options, on_second)) + samples(second, at(options, on_first))
    return (on_first, on_second), read


def grid(rows: Iterable[tuple[str, str, list[Scored]]]) -> report.Grid:
    """Return a row of (what, temperature, texts) with how well calibrated it is."""
    return report.Grid(
        ("scores", "temperature", "texts", "ECE", "log loss"),
        [
            (
                name,
                temperature,
                str(len(texts)),
                report.number(expected_calibration_error(texts)),
                report.number(log_loss(texts)),
            )
            for name, temperature, texts in rows
        ],
    )


def threshold_grid(texts: list[Scored]) -> report.Grid:
    """Say what is given out at several thresholds: shares of all plates that were found."""
    rows = []
    for threshold in THRESHOLDS:
        given = [text for text in texts if text.score >= threshold]
        right = sum(text.right for text in given)
        shares = right, len(given) - right, len(texts) - len(given)
        rows.append((f"{threshold:.1f}", *(report.percent(ratio(share, len(texts))) for share in shares)))
    return report.Grid(("text_threshold", "right", "wrong", "held back"), rows)


def main(arguments: list[str] | None = None) -> int:
    """Calibrate from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.calibrate", description="Fit the temperature of the scores.")
    parser.add_argument("--repository", type=Path, default=repository.REPOSITORY, help="model repository")
    parser.add_argument("--threads", type=int, default=1, help="threads of ONNX Runtime per network")
    parser.add_argument("--write", action="store_true", help="write it into the repository's config.pbtxt")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/model-card.md")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        held_out.check(options.repository, published=options.docs or options.write, say=console.print)
        as_served = repository.options(options.repository)
        scenes, crops = held_out.scenes(), held_out.crops()
        reader = repository.reader(options.repository, options.threads)
        finds = given_boxes.detected_boxes(repository.detector(options.repository, options.threads), as_served)
        plates = given_boxes.see(scenes, reader, as_served, finds) + given_boxes.see(crops, reader, as_served)
        one, other = (given_boxes.of(plates, half) for half in held_out.halves(scenes + crops))
        (first, second), counted = cross_fit(one, other, as_served)
        temperature = fit(plates, as_served)
    except (held_out.NothingToEvaluateError, UncalibratedError) as error:
        console.print(str(error), markup=False)
        return 1
    fitted = scored(samples(plates, at(as_served, temperature)))
    tables = (
        grid(
            [
                ("as they are", "1", scored(samples(plates, at(as_served, 1)))),
                ("fitted on the other half", f"{first:g}, {second:g}", scored(counted)),
                ("fitted on all", f"{temperature:g}", fitted),
            ]
        ),
        threshold_grid(fitted),
    )
    for table in tables:
        console.print(table.rich())
    if options.docs:
        report.write_section(report.CARD, "calibration", "\n".join(table.markdown() for table in tables))
    if options.write:
        repository.set_parameter(repository.config(options.repository), "temperature", f"{temperature:g}")
    else:
        console.print(f'{{ key: "temperature" value: {{ string_value: "{temperature:g}" }} }}', markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())

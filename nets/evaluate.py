"""Count what the running service finds and reads in the held-out photos, through HTTP.

    python -m nets.evaluate [--url URL | --repository DIR] [--docs] [--json FILE] [--minimum-recall R] ...

Without `--url`, a service at its default address is asked, or one is started for the time being on a free port. The
photos are the scenes of the fold that is never trained on, and those without plates. `--docs` writes the tables into
the model card; the worst cases go to `runs/`, because they show real photos.
"""

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from rich.console import Console
from rich.progress import Progress

from nets import goals, held_out, report_sheet
from nets import report as reports
from nets.data.unlabelled import unlabelled_plates
from nets.held_out import Photo
from nets.metrics import BUCKETS, Answer, Report, Tally
from nets.reliability import expected_calibration_error, scored
from nets.repository import REPOSITORY
from nets.service import DEFAULT_URL, NoServiceError, service

CONCURRENT: Final = 4
TIMEOUT_SECONDS: Final = 60.0
ROOT: Final = Path(__file__).resolve().parents[1]
SHEET: Final = ROOT / "runs" / "evaluation" / "worst-service.jpg"


@dataclass(slots=True)
class Outcome:
    """What the service did with all photos."""

    report: Report = field(default_factory=Report)
    failures: list[str] = field(default_factory=list)
    """Photos that got no answer, and why; their plates count as not found."""


async def evaluate(
    client: httpx.AsyncClient, photos: Sequence[Photo], advance: Callable[[], None] = lambda: None
) -> Outcome:
    """Send photos, a few at once, and count the answers; `advance` is called after each."""
    limit = asyncio.Semaphore(CONCURRENT)

    async def ask(photo: Photo) -> list[Answer] | str:
        async with limit:
            try:
                return await recognize(client, photo.path)
            except httpx.HTTPError as error:
                return f"{photo.path.name}: {error!r}"
            finally:
                advance()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(photo)) for photo in photos]
    outcome = Outcome()
    for photo, task in zip(photos, tasks, strict=True):
        answers = task.result()
        if isinstance(answers, str):
            outcome.failures.append(answers)
            answers = []
        ignored = unlabelled_plates().get(photo.path.name, ())
        outcome.report.add(photo.labels, answers, photo.complete, ignored, str(photo.path))
    return outcome


async def recognize(client: httpx.AsyncClient, path: Path) -> list[Answer]:
    """Send one photo as it lies on the disk; return its plates, best detection first.

    Raises:
        httpx.HTTPError: no answer, or one that isn't 200.
    """
    content = await asyncio.to_thread(path.read_bytes)
    response = await client.post("/recognize", params={"candidates": 1}, files={"image": (path.name, content)})
    response.raise_for_status()
    answers = [_answer(plate) for plate in response.json()["plates"]]
    return sorted(answers, key=lambda answer: -answer.detection_score)


def _answer(plate: dict[str, Any]) -> Answer:
    box = plate["box"]
    candidates = [candidate["text"] for candidate in plate["candidates"]]
    return Answer(
        (box["x_min"], box["y_min"], box["x_max"], box["y_max"]),
        plate["text"],
        plate["detection_score"],
        plate["score"],
        candidates[0] if candidates else "",
    )


def figures(outcome: Outcome) -> dict[str, Any]:
    """Return the counts for machines; null where there was nothing to measure."""
    report = outcome.report
    tallies = {reports.bucket_name(*bucket): tally for bucket, tally in zip(BUCKETS, report.buckets, strict=True)}
    tallies |= {"all": report.everything, "findable": report.findable, "headline": report.headline}
    return {
        "photos": report.photos,
        "failures": outcome.failures,
        "precision": _null(report.precision),
        "precision_at_least": _null(report.precision_at_least),
        "judged": report.judged,
        "expected_calibration_error": _null(expected_calibration_error(scored(report.samples))),
        "plates": {name: _tally_figures(tally) for name, tally in tallies.items()},
    }


def _tally_figures(tally: Tally) -> dict[str, float | int | None]:
    return {
        "plates": tally.plates,
        "found": tally.found,
        "texts": tally.texts,
        "exact": tally.exact,
        "recall": _null(tally.recall),
        "mean_iou": _null(tally.mean_iou),
        "exact_of_all": _null(tally.exact_of_all),
        "exact_of_found": _null(tally.exact_of_found),
        "wrong_of_all": _null(tally.wrong_of_all),
        "character_error_rate": _null(tally.character_error_rate),
    }


def _null(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def shortfalls(
    report: Report, minimum_recall: float = 0.0, minimum_exact: float = 0.0, maximum_wrong: float = 1.0
) -> list[str]:
    """Say in which respects the plates that the service promises to read fall short."""
    headline = report.headline
    wanted = (("found", headline.recall, minimum_recall), ("read exactly", headline.exact_of_all, minimum_exact))
    sentences = [
        f"{reports.percent(value)} of the plates are {what}, less than {minimum:.1%}"
        for what, value, minimum in wanted
        # Negated so that "not measured" falls short of any minimum.
        if minimum > 0 and not value >= minimum
    ]
    wrong = report.everything.wrong_of_all
    if maximum_wrong < 1 and not wrong <= maximum_wrong:
        sentences.append(f"{reports.percent(wrong)} of the plates get a wrong text, more than {maximum_wrong:.1%}")
    return sentences


def sections(report: Report) -> list[tuple[str, reports.Grid]]:
    """Return the tables of a report by what the plates are like, each with its heading."""
    return [
        ("By width", reports.by_width(report)),
        ("By type", reports.by_label(report, "type", lambda label: label.type)),
        ("By source", reports.by_label(report, "source", lambda label: label.source)),
    ]


def precision_sentence(report: Report) -> str:
    """Say how precise the answers are, and of how many."""
    return (
        f"Precision {reports.percent(report.precision)} of {report.judged} answers where every plate is labelled; "
        f"{reports.percent(report.precision_at_least)} if nothing unlabelled in any photo is a plate."
    )


async def _evaluate_at(url: str, photos: Sequence[Photo], console: Console) -> Outcome:
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("photos", total=len(photos))
        async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_SECONDS) as client:
            return await evaluate(client, photos, lambda: progress.advance(task))


def main(arguments: list[str] | None = None) -> int:
    """Evaluate from the command line; return the exit status: 1 when the service falls short or can't be asked."""
    parser = argparse.ArgumentParser(prog="nets.evaluate", description="Count found and read plates via HTTP.")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", help=f"address of the service (default: {DEFAULT_URL}, or one is started)")
    where.add_argument("--repository", type=Path, help="start a service with this folder's models")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/model-card.md")
    parser.add_argument("--sheet", type=Path, default=SHEET, metavar="FILE", help="picture of the worst cases")
    parser.add_argument("--minimum-recall", type=float, default=0.0, help="least share found, 0 to 1")
    parser.add_argument("--minimum-exact", type=float, default=0.0, help="least share read exactly, 0 to 1")
    parser.add_argument("--maximum-wrong", type=float, default=1.0, help="largest share of wrong texts, 0 to 1")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        if not options.url:
            held_out.check(options.repository or REPOSITORY, published=options.docs, say=console.print)
        photos = held_out.scenes()
        with service(options.url, options.repository) as url:
            outcome = asyncio.run(_evaluate_at(url, photos, console))
    except (held_out.NothingToEvaluateError, NoServiceError) as error:
        console.print(str(error), markup=False)
        return 1
    report = outcome.report
    console.print(f"{report.photos} photos, {report.everything.plates} labelled plates")
    tables = [("What must be", reports.goal_grid(goals.end_to_end(report))), *sections(report)]
    for heading, grid in tables:
        console.print(f"\n{heading}")
        console.print(grid.rich())
    console.print(precision_sentence(report), markup=False)
    for failure in outcome.failures:
        console.print(f"no answer: {failure}", markup=False)
    report_sheet.save(report_sheet.worst(report), options.sheet)
    if options.json:
        options.json.write_text(json.dumps(figures(outcome), indent=2) + "\n", encoding="utf-8")
    if options.docs:
        text = "\n".join(f"{heading}:\n\n{grid.markdown()}" for heading, grid in tables)
        reports.write_section(reports.CARD, "service", f"{text}\n{precision_sentence(report)}")
    short = shortfalls(report, options.minimum_recall, options.minimum_exact, options.maximum_wrong)
    for sentence in short:
        console.print(sentence, markup=False)
    return 1 if short or outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""What was counted as tables: for a terminal and for the documents, where a command rewrites its own section."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.table import Column, Table

from nets.goals import Figures
from nets.metrics import BUCKETS, HEADLINE_WIDTH, Label, Report, Tally

CARD: Final = Path(__file__).resolve().parents[1] / "docs" / "model-card.md"
"""Where commands write what they counted."""

RARE: Final = 5
"""Fewer plates of a kind than this tell nothing alone."""

COUNTS: Final = ("plates", "found", "IoU", "texts", "exact", "of found", "wrong", "CER")
"""Columns of a table of tallies; "exact" and "wrong" are shares of the plates with a text."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: text in the first column, figures in the others."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def rich(self) -> Table:
        """Lay it out for a terminal: without lines, so that it fits the 80 characters of a log."""
        first, *others = self.columns
        columns = [Column(first, overflow="fold"), *(Column(name, justify="right", no_wrap=True) for name in others)]
        table = Table(*columns, box=None, padding=(0, 1, 0, 0))
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """Write it for a document."""
        rows = [self.columns, ("---", *("---:" for _ in self.columns[1:])), *self.rows]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def by_width(report: Report) -> Grid:
    """Return a row per width of the plates, then all of them, then those that the service promises to read."""
    tallies = {bucket_name(*bucket): tally for bucket, tally in zip(BUCKETS, report.buckets, strict=True)}
    tallies["all"] = report.everything
    tallies[f"{HEADLINE_WIDTH:.0f}+ px with text"] = report.headline
    return tally_grid("width", tallies)


def by_label(report: Report, name: str, key: Callable[[Label], str]) -> Grid:
    """Return a row per value of some property of the labels, the commonest first, rare ones together."""
    plates = Counter(key(sample.label) for sample in report.samples)
    rare = {value for value, count in plates.items() if count < RARE}
    others = f"{len(rare)} others" if len(rare) > 1 else None
    tallies = {value: Tally() for value, _ in plates.most_common() if others is None or value not in rare}
    if others:
        tallies[others] = Tally()
    for sample in report.samples:
        value = key(sample.label)
        tallies[others if others and value in rare else value].add(sample)
    return tally_grid(name, tallies)


def tally_grid(name: str, tallies: Mapping[str, Tally]) -> Grid:
    """Return a row of `COUNTS` per tally."""
    rows = [
        (
            row,
            str(tally.plates),
            percent(tally.recall),
            number(tally.mean_iou),
            str(tally.texts),
            percent(tally.exact_of_all),
            percent(tally.exact_of_found),
            percent(tally.wrong_of_all),
            percent(tally.character_error_rate),
        )
        for row, tally in tallies.items()
    ]
    return Grid((name, *COUNTS), rows)


def goal_grid(figures: Figures) -> Grid:
    """Return a row per goal: what was measured, what must be, whether it is."""
    rows = []
    for goal, value in figures.items():
        sign = "<=" if goal.at_most else ">="
        rows.append((goal.figure, number(value), f"{sign} {goal.must:g}", f"{sign} {goal.aim:g}", goal.verdict(value)))
    return Grid(("figure", "measured", "must", "aim", "verdict"), rows)


def bucket_name(low: float, high: float) -> str:
    """Name a range of widths."""
    return f"{low:.0f}-{high:.0f} px" if math.isfinite(high) else f"{low:.0f}+ px"


def percent(value: float) -> str:
    """Write a share; "-" for NaN."""
    return "-" if math.isnan(value) else f"{value:.1%}"


def number(value: float) -> str:
    """Write a figure with three decimals; "-" for NaN."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def write_section(path: Path, name: str, text: str) -> None:
    """Replace what stands between a document's `<!-- begin: NAME -->` and `<!-- end: NAME -->`.

    Raises:
        ValueError: the document has no such section.
    """
    document = path.read_text(encoding="utf-8")
    section = re.compile(
        rf"(?P<begin><!-- begin: {re.escape(name)} -->\n).*?(?P<end><!-- end: {re.escape(name)} -->)", re.DOTALL
    )
    if not section.search(document):
        raise ValueError(f"{path} has no section {name!r}")
    changed = section.sub(lambda match: f"{match['begin']}\n{text.strip()}\n\n{match['end']}", document)
    path.write_text(changed, encoding="utf-8")

"""The command line of whatever counts something on the held-out photos and tells it as one table."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from nets import held_out, report, repository
from nets.held_out import Photo
from nets.report import Grid


def tabulate(
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    section: str,
    count: Callable[[argparse.Namespace, Sequence[Photo]], Grid],
) -> int:
    """Count on the scenes and print the table; return the exit status.

    Args:
        parser: with the arguments that `count` has of its own; --repository and --docs are added.
        arguments: None: those of the process.
        section: of the model card, where --docs writes the table.
        count: makes the table.
    """
    parser.add_argument("--repository", type=Path, default=repository.REPOSITORY, help="model repository")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/model-card.md")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        held_out.check(options.repository, published=options.docs, say=console.print)
        photos = held_out.scenes()
    except held_out.NothingToEvaluateError as error:
        console.print(str(error), markup=False)
        return 1
    grid = count(options, photos)
    console.print(grid.rich())
    if options.docs:
        report.write_section(report.CARD, section, grid.markdown())
    return 0

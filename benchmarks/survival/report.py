"""Findings as a table, and the exit status that they stand for."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that has to be so."""

    name: str
    found: object
    wanted: str
    passed: bool


def conclude(title: str, checks: list[Check]) -> int:
    """Print the checks and return 0 if all have passed, 1 otherwise."""
    table = Table("check", "found", "wanted", "", title=title, title_justify="left")
    for check in checks:
        table.add_row(check.name, str(check.found), check.wanted, "ok" if check.passed else "[bold red]FAILED[/]")
    Console().print(table)
    return 0 if all(check.passed for check in checks) else 1

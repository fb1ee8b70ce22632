"""docs/cli.md tells of every command and every option, and of no others."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gateway.commands.application import app

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
WHOLE: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = WHOLE.commands


def options(command: Any) -> set[str]:
    """The long options of a command."""
    names = (name for parameter in command.params for name in parameter.opts)
    return {name for name in names if name.startswith("--")}


def test_every_command_is_told() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", DOCS, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("command", ["recognize", "models", "doctor"])
def test_every_option_is_told(command: str) -> None:
    missing = {option for option in options(COMMANDS[command]) if not re.search(rf"{option}\b", DOCS)}
    assert not missing


def test_every_option_that_is_told_exists() -> None:
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", DOCS))
    assert told <= options(WHOLE).union(*map(options, COMMANDS.values()))


def test_the_version_is_the_packages() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, version("plate-gateway") + "\n")

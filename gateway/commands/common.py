"""What the commands share: exit statuses, refusals in one sentence, settings, the Triton that they name."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn

import typer
from pydantic import ValidationError

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from gateway.triton.endpoint import Endpoint

FAILED: Final = 1
"""Exit status of a command that couldn't do all of its work."""

MISUSED: Final = 2
"""Exit status of a command that was asked for something that doesn't exist; nothing was done."""


def fail(reason: str, status: int = FAILED) -> NoReturn:
    """Say why on the standard error stream and end the command."""
    typer.echo(reason, err=True)
    raise typer.Exit(status)


def answer(text: str) -> None:
    """Write a part of a command's answer on the standard output; end the command where it can't be written."""
    # A path may hold bytes that aren't UTF-8, and the terminal's encoding lack a letter.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        typer.echo(text)
    except BrokenPipeError:
        drop_output()
        raise typer.Exit(128 + signal.SIGPIPE) from None
    except OSError as error:
        drop_output()
        fail(f"The answer can't be written: {error.strerror or error}.")


def drop_output() -> None:
    """Send what is left of the standard output nowhere: Python would complain when it flushes that at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def read_settings(**options: object) -> Settings:
    """Return the settings of the environment, overridden by the options that aren't None; end where one is wrong."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        faults = (_fault(str(fault["loc"][0]), fault["input"], fault["msg"]) for fault in error.errors())
        fail("\n".join(faults), MISUSED)


def _fault(field: str, value: object, reason: str) -> str:
    if field == "port" and str(value).startswith("tcp://"):
        # Kubernetes gives every container such variables for each service of its namespace.
        reason = (
            f"Kubernetes set it to {value}, because a service is named `gateway`: "
            "set `enableServiceLinks: false` in the pod's spec, or give the service another name"
        )
    return f"{variable(field)}: {reason}."


def variable(field: str) -> str:
    """Return the environment variable of a setting."""
    return f"GATEWAY_{field.upper()}"


@contextlib.asynccontextmanager
async def running_triton(settings: Settings) -> AsyncIterator[Endpoint]:
    """Start the embedded Triton and stop it again, or yield where the external one is.

    Raises:
        EmbeddedTritonError: the embedded one can't start.
    """
    if settings.triton == "external":
        yield Endpoint.external(settings)
        return
    async with EmbeddedTriton(settings) as server:
        yield server.endpoint

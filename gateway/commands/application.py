"""The commands of `plate-gateway`, as one application."""

from importlib.metadata import version
from typing import Annotated

import typer

from gateway.commands.common import answer
from gateway.commands.doctor import doctor
from gateway.commands.key import key
from gateway.commands.models import models
from gateway.commands.recognize import recognize
from gateway.commands.serve import serve

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _tell_version(asked: bool) -> None:
    if asked:
        answer(version("plate-gateway"))
        raise typer.Exit


@app.callback()
def _plate_gateway(
    _version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version and exit.")
    ] = False,
) -> None:
    """Reads licence plates from photos: an HTTP gateway in front of NVIDIA Triton."""


app.command()(serve)
app.command()(recognize)
app.command()(doctor)
app.command()(models)
app.command()(key)

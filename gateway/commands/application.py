"""The commands of `plate-gateway`, as one application."""

import typer

from gateway.commands.doctor import doctor
from gateway.commands.key import key
from gateway.commands.models import models
from gateway.commands.recognize import recognize
from gateway.commands.serve import serve

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _plate_gateway() -> None:
    """Reads licence plates from photos: an HTTP gateway in front of NVIDIA Triton."""


app.command()(serve)
app.command()(recognize)
app.command()(doctor)
app.command()(models)
app.command()(key)

"""`plate-gateway key`: a new API key."""

from typing import Annotated

import typer

from gateway.access import KEY_HEADER, new_key
from gateway.commands.common import answer


def key(identity: Annotated[str, typer.Argument(metavar="ID", help="Who it is for: the logs show it.")]) -> None:
    """Make an API key: what its client sends, and what the gateway is told, which doesn't give the key away."""
    try:
        secret, entry = new_key(identity)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    answer(f"The client sends    {KEY_HEADER}: {secret}")
    answer(f"The gateway takes   GATEWAY_API_KEYS={entry}")

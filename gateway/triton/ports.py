"""Ports on the loopback."""

import contextlib
import socket
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"


def choose(wanted: Sequence[int]) -> list[int]:
    """Return each wanted port that is free, and a free one in place of each that is taken or 0; no port twice."""
    with contextlib.ExitStack() as stack:
        # Held until all are chosen; the wanted ones first, so that none is given away as a free one.
        sockets = [_bind(stack, port) if port else None for port in wanted]
        chosen = [held or _bind(stack, 0) for held in sockets]
        return [held.getsockname()[1] for held in chosen if held]


def is_free(port: int) -> bool:
    """Say whether a server could listen on the port now."""
    with contextlib.ExitStack() as stack:
        return _bind(stack, port) is not None


def _bind(stack: contextlib.ExitStack, port: int) -> socket.socket | None:
    sock = stack.enter_context(socket.socket())
    # As servers do: what remains of closed connections doesn't make a port taken.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((LOOPBACK, port))
        sock.listen()  # until then the option lets others have the port as well
    except OSError:
        return None
    return sock

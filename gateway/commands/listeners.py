"""The sockets that the gateway listens on, opened before anything else starts."""

import contextlib
import errno
import socket
from collections.abc import Sequence

from gateway.commands.common import fail


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of the host, on one port; end the command with one sentence where that can't be.

    `localhost` has an IPv4 and an IPv6 address, and clients try either. Port 0 takes a free one, the same for all.
    """
    with contextlib.ExitStack() as stack:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        except (OSError, UnicodeError):  # the latter for what is no host name: a..b
            fail(f"There is no address {host!r} to listen on: set GATEWAY_HOST.")
        listeners: list[socket.socket] = []
        refusal: OSError | None = None
        for family, _, _, _, address in dict.fromkeys(found):
            try:
                listener = socket.create_server((address[0], port), family=family)
            except OSError as error:
                # A host name may stand for an IPv6 address on a machine that has IPv6 switched off.
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    fail(_reason(error, host, port))
                refusal = error
                continue
            # Accepted connections inherit it. asyncio sets it too, but only on sockets that know their protocol's
            # number. These don't, and an answer's body would wait 40 ms for the client to acknowledge its head.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listeners.append(stack.enter_context(listener))
            port = listener.getsockname()[1]
        if not listeners and refusal is not None:
            fail(_reason(refusal, host, port))
        stack.pop_all()
        return listeners


def url(listeners: Sequence[socket.socket]) -> str:
    """Return where the first of them answers."""
    host, port = listeners[0].getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _reason(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} of {host} is taken: set GATEWAY_PORT to another one, or to 0 for a free one."
        case errno.EACCES:
            return f"Port {port} needs more rights than this process has: set GATEWAY_PORT above 1023."
        case _:
            return f"Can't listen on {host}, port {port}: {error.strerror}. See GATEWAY_HOST and GATEWAY_PORT."

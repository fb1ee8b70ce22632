"""The command `plate-gateway`: its commands lie in `gateway.commands`.

They take the better part of a second to import. Ctrl-C meanwhile ends the command without a word: nothing is under way.
"""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command."""
    before = signal.getsignal(signal.SIGINT)
    # A shell's background job, or nohup, may have told it to ignore Ctrl-C.
    quiet = before is signal.default_int_handler
    if quiet:
        signal.signal(signal.SIGINT, _leave)
    from gateway.commands.application import app

    if quiet:
        signal.signal(signal.SIGINT, before)
    app()


def _leave(number: int, frame: FrameType | None) -> None:
    # An exception would come out of whichever import is at work, and some libraries turn it into another one.
    os._exit(128 + number)


if __name__ == "__main__":
    main()

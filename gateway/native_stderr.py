"""What C libraries write to the standard error stream, as log records.

libjpeg and libpng report each broken picture there, with no way to tell them not to: beside the answer that says so,
and among lines of JSON in no format at all.
"""

import contextlib
import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import Final

logger = logging.getLogger(__name__)

_STDERR: Final = 2


@contextlib.contextmanager
def relayed() -> Iterator[None]:
    """Log at level debug what is written to descriptor 2; Python's own `sys.stderr` goes where that led before.

    For a whole process, before logging is set up. What the interpreter says when it crashes isn't lost: the stacks go
    to the former stream.
    """
    former = sys.stderr
    former.flush()
    with open(os.dup(_STDERR), "w", buffering=1, errors="backslashreplace") as stream:  # noqa: PTH123 - a descriptor
        ours, theirs = os.pipe()
        os.dup2(theirs, _STDERR)
        os.close(theirs)
        relay = threading.Thread(target=_relay, args=(ours,), name="native-stderr", daemon=True)
        relay.start()
        sys.stderr = stream
        faulthandler.enable(stream)
        try:
            yield
        finally:
            faulthandler.disable()
            # Ends the relay, unless a child process still holds the pipe.
            os.dup2(stream.fileno(), _STDERR)
            sys.stderr = former
            relay.join(1.0)


def _relay(descriptor: int) -> None:
    with open(descriptor, errors="backslashreplace") as lines:
        for line in lines:
            logger.debug("%s", line.rstrip())

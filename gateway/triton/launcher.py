"""Become another program that ends when its parent does: `python launcher.py PARENT_PID SIGNAL PROGRAM ARGUMENTS...`.

The kernel sends the signal (PR_SET_PDEATHSIG, kept across exec), so it arrives after a kill -9 of the parent too. A
program of its own, because a function between fork and exec isn't safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Set the signal and replace this process."""
    parent, number, program = int(sys.argv[1]), signal.Signals[sys.argv[2]], sys.argv[3:]
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number) != 0:
        sys.exit("prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        sys.exit("the parent is gone")
    # The parent reads the output; when it is gone, writing must fail quietly instead of killing half-way.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()

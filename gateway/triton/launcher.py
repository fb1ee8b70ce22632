"""Become another program that ends when its parent does: `launcher.py PARENT_PID SIGNAL LEASH PROGRAM ARGUMENTS...`.

The kernel sends the signal (PR_SET_PDEATHSIG, kept across exec), so it arrives after a kill -9 of the parent too. A
program of its own, because a function between fork and exec isn't safe in a process with threads.

What the program starts itself doesn't get that signal. A leash is for those: the descriptor of a pipe's end for
reading, whose other end the parent alone holds, or nothing (""). When that end closes, the kernel sends the signal to
the whole process group that this process is in (F_SETOWN, F_SETSIG and O_ASYNC in fcntl(2)).
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
F_SETSIG = 10  # asm-generic/fcntl.h


def main() -> None:
    """Set the signals and replace this process."""
    parent, number, leash, program = int(sys.argv[1]), signal.Signals[sys.argv[2]], sys.argv[3], sys.argv[4:]
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number) != 0:
        sys.exit("prctl(PR_SET_PDEATHSIG) failed")
    if leash:
        descriptor = int(leash)
        # A sandbox that imitates Linux may lack this. The program itself ends all the same, and mostly what it started.
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpgrp())
            fcntl.fcntl(descriptor, F_SETSIG, number)
            fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_ASYNC)
    if os.getppid() != parent:
        sys.exit("the parent is gone")
    # The parent reads the output; when it is gone, writing must fail quietly instead of killing half-way.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()

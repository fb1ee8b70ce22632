"""The launcher that ties a program's life to its parent's."""

import os
import select
import subprocess
import sys

from gateway.triton import launcher


def launch(parent: int, *program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", launcher.__file__, str(parent), "SIGTERM", "", *program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_becomes_the_program() -> None:
    done = launch(os.getpid(), "/bin/sh", "-c", "echo $PPID; exit 3")
    assert (done.returncode, done.stdout) == (3, f"{os.getpid()}\n")


def test_it_starts_nothing_for_a_parent_that_is_gone() -> None:
    done = launch(os.getpid() + 1, "/bin/sh", "-c", "echo started")
    assert done.returncode == 1
    assert "parent is gone" in done.stderr
    assert not done.stdout


def test_the_program_gets_the_signal_when_its_parent_is_killed() -> None:
    command = [sys.executable, "-I", "-S", launcher.__file__, "PARENT", "SIGUSR1", "", "/bin/sh", "-c"]
    command.append("trap 'echo told; exit' USR1; echo started; while :; do sleep 0.1; done")
    parent = (
        "import os, subprocess, sys, time;"
        "subprocess.Popen([argument.replace('PARENT', str(os.getpid())) for argument in sys.argv[1:]]);"
        "time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", parent, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.kill()
        assert process.stdout.readline() == "told\n"


def test_what_the_program_started_gets_the_signal_when_its_parent_is_killed() -> None:
    # Its own parent, the program, has ended long before.
    parent = (
        "import os, subprocess, sys, time;"
        "held, leash = os.pipe();"
        "command = [sys.executable, '-I', '-S', sys.argv[1], str(os.getpid()), 'SIGKILL', str(held), '/bin/sh', '-c'];"
        "subprocess.run([*command, 'sleep 600 & echo $!'], pass_fds=[held], start_new_session=True);"
        "os.close(held);"
        "time.sleep(600)"
    )
    command = [sys.executable, "-c", parent, launcher.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        grandchild = os.pidfd_open(int(process.stdout.readline()))
        assert not select.select([grandchild], [], [], 0.2)[0]
        process.kill()
        assert select.select([grandchild], [], [], 30)[0]
        os.close(grandchild)

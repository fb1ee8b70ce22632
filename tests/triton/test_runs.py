"""What runs of an embedded Triton leave, and when it is swept."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.triton import procfs, runs, shm
from gateway.triton.runs import Run

DEAD = "plate-triton-0123456789ab"


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def run(leftovers: Callable[[], set[str]]) -> Iterator[Run]:
    """A run that lives."""
    run = Run.begin()
    yield run
    run.end()


def fill(folder: Path) -> Path:
    (folder / "backends").mkdir(parents=True)
    (folder / "backends" / "file").write_text("of a run")
    return folder


def test_a_run_has_a_folder_of_its_own_and_leaves_nothing(temporary: Path, leftovers: Callable[[], set[str]]) -> None:
    run = Run.begin()
    assert run.folder.parent == temporary
    assert run.folder.stat().st_mode & 0o777 == 0o700
    assert not any(map(os.get_inheritable, run.locks))
    (shm.ROOT / f"{run.name}-region").touch(mode=0o644)
    fill(run.folder)
    run.make_regions_private()
    assert (shm.ROOT / f"{run.name}-region").stat().st_mode & 0o777 == 0o600
    run.remove_regions()
    assert leftovers() == {run.name}
    run.end()
    assert not list(temporary.iterdir())


def test_a_run_without_a_folder_for_it_leaves_nothing(temporary: Path, leftovers: Callable[[], set[str]]) -> None:
    temporary.rmdir()
    with pytest.raises(FileNotFoundError):
        Run.begin()
    temporary.mkdir()


def test_a_run_that_lives_is_left_alone(run: Run) -> None:
    fill(run.folder)
    runs.sweep()
    assert (run.folder / "backends" / "file").exists()
    assert shm.alive(run.name)


def test_the_folder_of_a_run_from_before_the_machines_restart_is_swept(temporary: Path) -> None:
    fill(temporary / DEAD)
    runs.sweep()
    assert not list(temporary.iterdir())


def test_the_folder_of_a_run_that_lives_with_a_dev_shm_of_its_own_is_left_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fill(run.folder)
    with monkeypatch.context() as container:
        container.setattr(shm, "ROOT", tmp_path_factory.mktemp("shm"))
        runs.sweep()
    assert (run.folder / "backends" / "file").exists()


def test_a_run_lives_until_the_last_of_its_processes_has_closed_the_folder(
    temporary: Path, leftovers: Callable[[], set[str]]
) -> None:
    run = Run.begin()
    inherited = os.dup(run.locks[1])  # as a stub has it
    for lock in run.locks:
        os.close(lock)
    (shm.ROOT / run.name).unlink()
    runs.sweep()
    assert run.folder.exists()
    os.close(inherited)
    runs.sweep()
    assert not run.folder.exists()


def test_a_dead_run_is_swept_with_its_regions(temporary: Path, leftovers: Callable[[], set[str]]) -> None:
    run = Run.begin()
    fill(run.folder)
    (shm.ROOT / f"{run.name}-region").touch()
    for lock in run.locks:
        os.close(lock)
    runs.sweep()
    assert not leftovers()
    assert not list(temporary.iterdir())


def test_regions_that_came_back_after_a_runs_end_are_swept(run: Run, leftovers: Callable[[], set[str]]) -> None:
    (shm.ROOT / f"{DEAD}-region").touch()
    (shm.ROOT / f"{run.name}-region").touch()
    runs.sweep()
    assert leftovers() == {run.name, f"{run.name}-region"}
    run.remove_regions()


@contextlib.contextmanager
def start_stub(run: Run, *, server_lives: bool) -> Iterator[int]:
    """Start a program from the run's folder, as a server starts its stubs; give its id. It has the run's locks."""
    stub = run.folder / "backends" / "stub"
    stub.parent.mkdir()
    shutil.copy("/bin/sleep", stub)
    script = f"{stub} 1000 >/dev/null & echo $!; {'wait' if server_lives else ''}"
    with subprocess.Popen(
        ["/bin/sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE, pass_fds=run.locks
    ) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        if not server_lives:
            server.wait()
        yield pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_stub_that_outlives_its_server_is_ended_and_its_run_swept(
    temporary: Path, leftovers: Callable[[], set[str]]
) -> None:
    run = Run.begin()
    with start_stub(run, server_lives=False) as stub:
        for lock in run.locks:
            os.close(lock)
        runs.sweep()
        process = procfs.read(stub)
        assert process is None or process.state == "Z"
        assert not leftovers()
        assert not list(temporary.iterdir())


def test_the_stub_of_a_server_that_lives_is_left_alone(run: Run) -> None:
    with start_stub(run, server_lives=True) as stub:
        runs.sweep()
        process = procfs.read(stub)
        assert process is not None
        assert process.state != "Z"
        assert run.folder.exists()


def test_what_only_looks_like_a_run_is_left_alone(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = fill(tmp_path_factory.mktemp("elsewhere"))
    (temporary / DEAD).symlink_to(elsewhere)
    (temporary / "plate-triton-ba9876543210").write_text("a file")
    fill(temporary / f"{DEAD}0")
    before = sorted(temporary.iterdir())
    runs.sweep()
    assert sorted(temporary.iterdir()) == before
    assert (elsewhere / "backends" / "file").exists()


def test_a_folder_that_a_sweeper_takes_before_it_is_locked_is_made_again(
    monkeypatch: pytest.MonkeyPatch, temporary: Path, leftovers: Callable[[], set[str]]
) -> None:
    flock = fcntl.flock
    swept: list[Path] = []

    def late(descriptor: int, operation: int) -> None:
        folder = Path(f"/proc/self/fd/{descriptor}").readlink()
        if folder.parent == temporary and not swept:
            swept.append(folder)
            shutil.rmtree(folder)
        flock(descriptor, operation)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", late)
        run = Run.begin()
    assert swept == [run.folder]
    runs.sweep()
    assert run.folder.exists()
    run.end()

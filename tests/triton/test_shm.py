"""Files in /dev/shm: alive as long as their owner, swept afterwards."""

import os
import re
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.triton import shm

OWNER = """
import sys, time
from gateway.triton import shm
shm.create(sys.argv[1])
print("created", flush=True)
time.sleep(600)
"""


@pytest.fixture
def name() -> str:
    return f"plate-test-{secrets.token_hex(4)}"


def test_a_new_file_belongs_to_its_creator_and_to_no_one_else(name: str) -> None:
    descriptor = shm.create(name)
    assert (shm.ROOT / name).stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(descriptor)
    with pytest.raises(FileExistsError):
        shm.create(name)
    assert shm.alive(name)
    assert list(shm.sweep(re.compile(name))) == []
    os.close(descriptor)
    assert not shm.alive(name)
    assert list(shm.sweep(re.compile(name))) == [name]
    assert not (shm.ROOT / name).exists()


def test_a_file_outlives_a_killed_owner_until_it_is_swept(name: str) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, name], stdout=subprocess.PIPE, cwd=Path.cwd()) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"created\n"
        assert list(shm.sweep(re.compile(name))) == []
        owner.send_signal(signal.SIGKILL)
    assert (shm.ROOT / name).exists()
    assert list(shm.sweep(re.compile(name))) == [name]
    assert not (shm.ROOT / name).exists()


def test_a_sweep_takes_whole_names_only(name: str) -> None:
    os.close(shm.create(f"{name}-more"))
    assert list(shm.sweep(re.compile(name))) == []
    assert list(shm.sweep(re.compile(f"{name}-more"))) == [f"{name}-more"]


def test_what_belongs_to_a_file_can_be_removed_before_the_file(name: str) -> None:
    os.close(shm.create(name))
    for swept in shm.sweep(re.compile(name)):
        assert (shm.ROOT / swept).exists()
        assert shm.alive(swept)  # nobody else may sweep it meanwhile
    assert not (shm.ROOT / name).exists()


def test_without_shared_memory_there_is_nothing_to_sweep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shm, "ROOT", tmp_path / "absent")
    assert list(shm.sweep(re.compile(".*"))) == []
    assert not shm.alive("anything")
    with pytest.raises(FileNotFoundError):
        shm.create("anything")

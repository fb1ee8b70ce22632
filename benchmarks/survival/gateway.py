"""A gateway of its own for an experiment: started as a user would, watched from outside."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import httpx
import psutil

START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 60.0

_COMMAND: Final = (sys.executable, "-m", "gateway.cli", "serve", "--port", "0")
_POLL_SECONDS: Final = 0.05
_STATE: Final = re.compile(r'"logger": "gateway\.commands\.reporting", "message": "(Ready|Not ready)\b')
_SLOT: Final = re.compile(r"plate-gateway-[0-9a-f]+-(?P<pid>\d+)-")
_SHARED: Final = Path("/dev/shm")  # noqa: S108 - POSIX shared memory


class GatewayProcess:
    """The parent of a running gateway, and whatever it started.

    Args:
        process: the parent.
        folder: its folder of temporary files, which nobody else uses, with the file `log`.
    """

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.parent = psutil.Process(process.pid)
        self._process = process
        self._folder = folder
        self._seen_pids = {process.pid}
        self._seen_runs: set[str] = set()
        self._read = 0
        self._whole = False
        # A new connection for each question, because it may reach any of the workers.
        self._http = httpx.Client(timeout=5, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

    @property
    def url(self) -> str:
        """Where it answers; known as soon as it listens."""
        match = re.search(r"Listening on (http://\S+?)[;\"]", self.log)
        if match is None:
            raise RuntimeError(f"the gateway doesn't listen:\n{self.log}")
        return match[1]

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self._folder / "log").read_text()

    def workers(self) -> list[psutil.Process]:
        """Return the processes that answer HTTP besides the parent."""
        return [child for child in self._children() if "gateway.commands.worker" in _command(child)]

    def triton(self) -> psutil.Process | None:
        """Return the tritonserver, if one runs now."""
        return next((child for child in self._children() if _command(child)[:1] == ["tritonserver"]), None)

    def stubs(self) -> list[psutil.Process]:
        """Return the processes that run Triton's Python models."""
        server = self.triton()
        with contextlib.suppress(psutil.NoSuchProcess):
            return server.children() if server else []
        return []

    def is_ready(self) -> bool:
        """Ask whether it would answer a picture now."""
        with contextlib.suppress(httpx.HTTPError, RuntimeError):
            return self._http.get(f"{self.url}/health/ready").is_success
        return False

    def is_whole(self) -> bool:
        """Say whether its last word is that all of its processes are ready; its log has to be JSON."""
        with (self._folder / "log").open() as log:
            log.seek(self._read)
            for line in log:
                if line.endswith("\n"):
                    self._read += len(line.encode())
                    if (match := _STATE.search(line)) is not None:
                        self._whole = match[1] == "Ready"
        return self._whole

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until it is ready.

        Raises:
            RuntimeError: it has ended, or isn't ready after that time.
        """
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the gateway didn't become ready; its log:\n{self.log}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> int:
        """Ask it to stop and return its exit status; it is killed where it doesn't stop."""
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(STOP_SECONDS)
        return self.kill()

    def kill(self) -> int:
        """Kill the parent and return its exit status."""
        self._process.kill()
        return self._process.wait()

    def close(self) -> None:
        """Stop watching it."""
        self._http.close()

    def shared(self) -> set[str]:
        """Return the names in /dev/shm of everything that this gateway's processes made, dead ones included."""
        self._children()
        self._seen_runs |= {path.name for path in self._folder.glob("plate-triton-*")}
        return {entry.name for entry in os.scandir(_SHARED) if self._made(entry.name)}

    def _made(self, name: str) -> bool:
        slot = _SLOT.match(name)
        if slot is not None:
            return int(slot["pid"]) in self._seen_pids
        return name.startswith(tuple(self._seen_runs))

    def shared_bytes(self) -> int:
        """Return how much memory these take."""
        total = 0
        for name in self.shared():
            with contextlib.suppress(FileNotFoundError):
                total += (_SHARED / name).stat().st_blocks * 512
        return total

    def temporary(self) -> list[str]:
        """Return the names of its temporary files."""
        return [path.name for path in self._folder.iterdir() if path.name != "log"]

    def _children(self) -> list[psutil.Process]:
        try:
            children = self.parent.children()
        except psutil.NoSuchProcess:
            return []
        self._seen_pids |= {child.pid for child in children}
        return children


@contextlib.contextmanager
def running_gateway(settings: Mapping[str, object]) -> Iterator[GatewayProcess]:
    """Start a gateway on free ports and wait until it is ready; nothing of it runs afterwards.

    Args:
        settings: names as in `gateway.settings.Settings`; those of the environment don't count.

    Raises:
        RuntimeError: it doesn't become ready.
    """
    ports = {"triton_http_port": 0, "triton_grpc_port": 0, "triton_metrics_port": 0}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}
    environment |= {f"GATEWAY_{name.upper()}": str(value) for name, value in (ports | dict(settings)).items()}
    with tempfile.TemporaryDirectory(prefix="plate-survival-", ignore_cleanup_errors=True) as folder:
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(_COMMAND, env=environment | {"TMPDIR": folder}, stdout=log, stderr=log)  # noqa: S603
        gateway = GatewayProcess(process, Path(folder))
        try:
            gateway.wait_ready()
            gateway.shared()  # takes note of the run's name
            yield gateway
        finally:
            if process.poll() is None:
                gateway.stop()
            gateway.close()


def resident_bytes(process: psutil.Process) -> int:
    """Return a process's resident memory; 0 when it has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def shared_resident_bytes(process: psutil.Process) -> int:
    """Return how much of a process's resident memory is shared memory; 0 when it has ended.

    RssShmem in proc_pid_status(5): the pages of /dev/shm that it has touched, and shared anonymous ones.
    """
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        match = re.search(r"^RssShmem:\s*(\d+) kB$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        return int(match[1]) * 1024 if match else 0
    return 0


def _command(process: psutil.Process) -> list[str]:
    """Return a process's command line, its program by its bare name."""
    try:
        program, *arguments = process.cmdline() or [""]
    except psutil.Error:
        return []
    return [Path(program).name, *arguments]

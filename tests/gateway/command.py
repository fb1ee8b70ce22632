"""The command `plate-gateway recognize` as a process."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """How the command ended."""

    status: int
    out: str
    said: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """The running command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(
        cls,
        *arguments: object,
        url: str | None = None,
        stdin: bytes | None = None,
        stderr: int = asyncio.subprocess.PIPE,
    ) -> "Command":
        environment = {name: value for name, value in os.environ.items() if "GATEWAY_" not in name} | {"TERM": "xterm"}
        if url is not None:
            environment["PLATE_GATEWAY_URL"] = url
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway.cli", "recognize", *map(str, arguments)),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )
        if stdin is not None and process.stdin is not None:
            process.stdin.write(stdin)
            process.stdin.close()
        return cls(process)

    async def result(self) -> Result:
        out, said = await asyncio.wait_for(self.process.communicate(), 60)
        assert self.process.returncode is not None
        return Result(self.process.returncode, out.decode(), (said or b"").decode())


async def run(url: str | None, *arguments: object, stdin: bytes | None = None) -> Result:
    return await (await Command.start(*arguments, url=url, stdin=stdin)).result()


def written(path: Path) -> list[dict[str, Any]]:
    """The lines of an output; fails where one isn't whole."""
    content = path.read_text(encoding="utf-8")
    assert not content or content.endswith("\n")
    return [json.loads(line) for line in content.splitlines()]


def handled(pid: int, number: signal.Signals) -> bool:
    """Whether a process has taken a signal that was sent to it: it isn't pending any more."""
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    pending = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
    return not pending >> (number - 1) & 1


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process is asked
            await asyncio.sleep(0.01)

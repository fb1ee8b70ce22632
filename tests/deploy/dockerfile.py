"""Reads Dockerfiles and runs the steps of a stage without a container engine, the image's / moved into a folder."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


class StepError(Exception):
    """A RUN step failed; the message holds its output."""


@dataclass(frozen=True)
class Stage:
    """One FROM of a Dockerfile and the instructions below it."""

    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        """Return the arguments of every such instruction."""
        return [arguments for name, arguments in self.steps if name == instruction]

    def environment(self, before: dict[str, str]) -> dict[str, str]:
        """Return the environment as the ENV instructions leave it."""
        after = dict(before)
        for arguments in self.all("ENV"):
            after.update(_variables(arguments, after))
        return after


def parse(path: Path) -> list[Stage]:
    """Return the stages of a Dockerfile, ARG defaults filled in where they name a base image."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    defaults: dict[str, str] = {}
    stages: list[Stage] = []
    for line in filter(None, text.splitlines()):
        instruction, rest = line.split(maxsplit=1)
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(name, re.sub(r"\$\{(\w+)\}", lambda match: defaults[match[1]], base)))
        elif stages:
            stages[-1].steps.append((instruction, " ".join(rest.split())))
        else:
            name, _, defaults[name] = rest.partition("=")
    return stages


def stage(file: str, name: str) -> Stage:
    """Return one stage of a Dockerfile in deploy/; the last one has no name where none refers to it."""
    return next(stage for stage in parse(DEPLOY / file) if stage.name == name)


def words(exec_form: str) -> list[str]:
    """Return the words of an instruction in exec form: ["command", "argument"]."""
    return [word.strip(' "') for word in exec_form.strip("[]").split(",")]


def copied(arguments: str) -> tuple[list[str], str]:
    """Return the sources and the target of a COPY."""
    *sources, target = [word for word in shlex.split(arguments) if not word.startswith("--")]
    return sources, target


def sent(path: str) -> bool:
    """Say whether .dockerignore lets a file into the build; the last pattern that matches decides."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if pattern and not pattern.startswith("#"):
            parents = [path, *map(str, Path(path).parents)]
            if any(fnmatch(parent, pattern) or fnmatch("/" + parent, "/" + pattern) for parent in parents):
                ignored = not line.startswith("!")
    return not ignored


def context(source: str) -> list[str]:
    """Return the files that a COPY of this source takes from the build's context."""
    path = ROOT / source
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return [name for name in (str(file.relative_to(ROOT)) for file in files) if sent(name)]


def run(stage: Stage, root: Path, interpreter: Path) -> None:
    """Run a stage's COPY, ENV and RUN steps below `root`, with the interpreter's folder first in PATH.

    Raises:
        StepError: a RUN failed.
    """
    folder = root
    path = f"{interpreter.parent}:{os.environ['PATH']}"
    # Compiling what is used once takes longer than its use.
    environment = {**os.environ, "PATH": path, "PIP_NO_COMPILE": "1"}
    for instruction, arguments in stage.steps:
        if instruction == "WORKDIR":
            folder = root / arguments.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
        elif instruction == "ENV":
            environment.update(_variables(moved(arguments, root), environment))
            # An image keeps no cache of downloads; here it saves a minute.
            environment.pop("PIP_NO_CACHE_DIR", None)
        elif instruction == "COPY":
            _copy(*copied(arguments), root, folder)
        elif instruction == "RUN":
            shell = ["/bin/sh", "-c", moved(arguments, root)]
            done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise StepError(f"{arguments}\n{done.stdout}\n{done.stderr}")


def moved(text: str, root: Path) -> str:
    """Return an instruction with the image's own folders below `root`."""
    return re.sub(r"(?<![\w./-])/(?=(?:opt|src|models)\b)", f"{root}/", text)


def _copy(sources: list[str], target: str, root: Path, folder: Path) -> None:
    for source in sources:
        place = Path(moved(target, root)) if target.startswith("/") else folder / target
        for name in context(source):
            if (ROOT / source).is_dir():
                destination = place / Path(name).relative_to(source)
            else:
                destination = place / Path(name).name if target.endswith("/") else place
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, destination)


def _variables(arguments: str, environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    for word in shlex.split(arguments):
        name, _, value = word.partition("=")
        yield name, re.sub(r"\$(\w+)", lambda match: environment[match[1]], value)

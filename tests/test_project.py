"""What the project's files say about each other: pins, versions, commands."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PINNED = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"([A-Za-z0-9][\w.-]*)==\S+")


def canonical(name: str) -> str:
    """Return a distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entries(path: Path) -> list[str]:
    """Return the requirements of a pinned file, each on one line with its hashes."""
    return path.read_text().replace("\\\n", " ").splitlines()


def names(path: Path) -> set[str]:
    return {canonical(match[1]) for match in map(PIN.match, entries(path)) if match}


def metadata() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def wanted(*extras: str) -> set[str]:
    project = metadata()["project"]
    lines = project["dependencies"] + [line for extra in extras for line in project["optional-dependencies"][extra]]
    return {canonical(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in lines}


def committed() -> list[Path]:
    """Return the text files that git holds or would take in; skip where there is no git or no repository."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = [git, "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for path in (ROOT / name for name in listed if name) if path.is_file() and is_text(path)]


def is_text(path: Path) -> bool:
    return b"\0" not in path.read_bytes()[:8192]


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_requirement_is_pinned_and_hashed(path: Path) -> None:
    assert entries(path)
    for entry in entries(path):
        assert PIN.match(entry), entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize(
    ("file", "extras", "apart"),
    [
        ("base.txt", (), set()),
        ("embedded.txt", ("embedded",), set()),
        ("dev.txt", ("embedded", "dev"), set()),
        ("browser.txt", ("embedded", "dev", "browser"), set()),
        # Which build of torch depends on the machine: the Makefile installs it.
        ("train.txt", ("embedded", "dev", "train"), {"torch"}),
    ],
)
def test_a_pinned_file_holds_what_the_project_asks_for(file: str, extras: tuple[str, ...], apart: set[str]) -> None:
    pinned = names(ROOT / "requirements" / file)
    assert wanted(*extras) - apart <= pinned
    assert not apart & pinned


def test_all_pinned_files_agree_on_every_version() -> None:
    versions: dict[tuple[str, str], set[str]] = {}
    for path in PINNED:
        for entry in entries(path):
            requirement, _, marker = entry.split("--hash")[0].partition(";")
            name, version = requirement.split("==")
            versions.setdefault((canonical(name), marker.strip()), set()).add(version.strip())
    assert not {key: found for key, found in versions.items() if len(found) > 1}


def test_no_file_says_where_it_was_made() -> None:
    """Folders and package indexes belong to somebody's machine."""
    private = re.compile(
        r"(?<![\w.])/(?:work|home/\w+|Users/\w+|root)/"
        r"|--(?:extra-)?index-url[ =]+https?:|--find-links|--trusted-host"
    )
    for path in committed():
        # The vendored files are somebody else's, as they are.
        if path != Path(__file__) and "vendor" not in path.parts:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                assert not private.search(line), f"{path.relative_to(ROOT)}:{number}: {line}"


def test_the_version_is_the_changelogs_newest() -> None:
    newest = re.search(r"^## \[?(\d[^\]\s]*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert metadata()["project"]["version"] == newest[1]


@pytest.mark.parametrize("file", ["README.md", "deploy/README.md", ".ci/run"])
def test_make_targets_that_people_are_told_to_run_exist(file: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"(?:^\s*(?:check )?|`)make ([a-z-]+)", (ROOT / file).read_text(), re.MULTILINE))
    assert told <= targets

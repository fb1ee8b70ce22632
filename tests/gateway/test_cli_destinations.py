"""`plate-gateway` where its input, its output or its options can't be used: one sentence, and never a traceback."""

import asyncio
import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.client.address import is_url
from gateway.client.outputs import csv_path
from tests.gateway.command import Result, run

NOBODY = "http://127.0.0.1:9"
MEMORY_KIB = 3_000_000
"""Of address space: a journal without end would take all that the machine has."""


@pytest.fixture
def photo(tmp_path: Path, jpeg: bytes) -> Path:
    path = tmp_path / "photo.jpg"
    path.write_bytes(jpeg)
    return path


def in_shell(arguments: str, redirections: str = "") -> Result:
    """Run the command with its streams as a shell can redirect them, in bounded memory."""
    line = f'ulimit -v {MEMORY_KIB}; exec "{sys.executable}" -m gateway.cli {arguments} {redirections}'
    environment = {name: value for name, value in os.environ.items() if "GATEWAY_" not in name}
    ended = subprocess.run(["/bin/bash", "-c", line], env=environment, capture_output=True, text=True, timeout=60)
    return Result(ended.returncode, ended.stdout, ended.stderr)


def assert_one_sentence(result: Result, status: int, *words: str) -> None:
    assert result.status == status, result.said
    (sentence,) = result.said.splitlines()
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    for word in words:
        assert word in sentence


async def test_a_device_is_no_journal(url: str, photo: Path) -> None:
    assert (await run(url, photo, "-f", "jsonl", "-o", "/dev/null")).status == 0


@pytest.mark.parametrize("format_", ["jsonl", "csv", "table"])
async def test_a_device_that_is_full_is_one_sentence(url: str, photo: Path, format_: str) -> None:
    result = await asyncio.to_thread(in_shell, f"recognize {photo} --url {url} -f {format_} -o /dev/full")
    assert_one_sentence(result, 1, "No space left on device")
    result = await asyncio.to_thread(in_shell, f"recognize {photo} --url {url} -f {format_}", ">/dev/full")
    assert_one_sentence(result, 1, "No space left on device")


@pytest.mark.parametrize("format_", ["jsonl", "csv", "table"])
async def test_a_pipe_that_is_named_as_the_output_gets_the_answers(url: str, photo: Path, format_: str) -> None:
    result = await run(url, photo, "-f", format_, "-o", "/dev/stdout")
    assert result.status == 0, result.said
    assert str(photo) in result.out


def test_closed_streams_are_one_sentence() -> None:
    assert_one_sentence(in_shell(f"recognize - --url {NOBODY}", "<&-"), 2, "standard input is closed")
    assert_one_sentence(in_shell(f"recognize x.jpg --url {NOBODY}", ">&-"), 2, "standard output is closed")


@pytest.mark.parametrize("command", ["doctor --json", "doctor", "key camera"])
def test_an_answer_that_cannot_be_written_is_one_sentence(command: str) -> None:
    assert_one_sentence(in_shell(command, ">/dev/full"), 1, "No space left on device")


@pytest.mark.parametrize("key", ["ключ", "a\nb", " a", "a\x7f"])
async def test_a_key_that_no_header_can_hold_is_one_sentence(key: str) -> None:
    assert_one_sentence(await run(NOBODY, "x.jpg", "--api-key", key), 2, "ASCII", "PLATE_GATEWAY_API_KEY")


WRONG_URLS = [
    *("foo", "http://", "http://127.0.0.1:99999", "http://127.0.0.1:0", "http://h:x", "ftp://h", "http://a b"),
    *("http://a..b", f"http://{'a' * 64}", "http://h\n", "http://h?x=1", "http://[x", "http://\udcff"),
]


@pytest.mark.parametrize("url", WRONG_URLS)
def test_what_is_no_url_is_told_from_one(url: str) -> None:
    assert not is_url(url)


@pytest.mark.parametrize("url", [NOBODY, "https://plates.example", "http://[::1]:8080", "http://h:80/a/prefix"])
def test_urls_are_urls(url: str) -> None:
    assert is_url(url)


@pytest.mark.parametrize("url", ["foo", "http://127.0.0.1:99999"])
async def test_a_wrong_url_is_one_sentence(url: str) -> None:
    assert_one_sentence(await run(url, "x.jpg"), 2, url, "http://host:port")


async def test_a_wrong_url_of_a_camera_is_one_sentence() -> None:
    assert_one_sentence(await run(NOBODY, "rtsp://[x"), 2, "rtsp://[x")


@pytest.mark.parametrize(("source", "option"), [("x.jpg", "--annotate"), ("x.mp4", "--crops")])
async def test_a_folder_that_cannot_be_made_is_told_before_any_work(tmp_path: Path, source: str, option: str) -> None:
    assert_one_sentence(await run(NOBODY, source, option, "/proc/x"), 2, "/proc/x", "can't be made")
    file = tmp_path / "file"
    file.touch()
    assert_one_sentence(await run(NOBODY, source, option, file), 2, f"{file} is no folder")


@pytest.mark.parametrize("source", ["x.jpg", "x.mp4"])
@pytest.mark.parametrize("name", ["missing/out.csv", "missing/out.jsonl"])
async def test_an_output_that_cannot_be_opened_is_one_sentence(tmp_path: Path, source: str, name: str) -> None:
    assert_one_sentence(await run(NOBODY, source, "-o", tmp_path / name), 2, str(tmp_path / name))


async def test_a_name_too_long_is_that_photos_error(url: str, photo: Path) -> None:
    result = await run(url, "a" * 300 + ".jpg", photo)
    assert (result.status, result.said) == (1, "photos: 2, plates: 1, failed: 1.\n")


async def test_a_link_to_itself_is_passed_over(url: str, photo: Path) -> None:
    (photo.parent / "loop").symlink_to("loop")
    assert (await run(url, photo.parent)).said == "photos: 1, plates: 1.\n"


async def test_control_characters_are_escaped_in_csv(url: str, tmp_path: Path, jpeg: bytes) -> None:
    (tmp_path / "\x1b[31m\n.jpg").write_bytes(jpeg)
    result = await run(url, tmp_path, "-f", "csv")
    _, row = csv.reader(result.out.splitlines())
    assert row[0] == str(tmp_path / r"\x1b[31m\n.jpg")


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("=1+1.jpg", "./=1+1.jpg"),
        ("@a.jpg", "./@a.jpg"),
        ("a=b.jpg", "a=b.jpg"),
        ("\t=a.jpg", r"\t=a.jpg"),
        ("а б\xa0в.jpg", "а б\xa0в.jpg"),
        ("\udcff.jpg", r"\udcff.jpg"),
    ],
)
def test_a_path_in_csv_is_on_one_line_and_no_formula(path: str, written: str) -> None:
    assert csv_path(path) == written

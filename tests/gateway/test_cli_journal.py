"""The output that knows what is done."""

import json
import os
from pathlib import Path

import pytest

from gateway.client import batch
from gateway.client.errors import PhotoRefused
from gateway.client.journal import Journal, JournalError
from gateway.client.notations import CsvNotation, JsonNotation
from gateway.client.outputs import CSV_COLUMNS, Csv, JsonLines, csv_line, json_line
from gateway.client.photos import Photo

JSON = JsonNotation()
CSV = CsvNotation()
HEAD = csv_line(CSV_COLUMNS).encode()


def entry(path: str, size: int = 10, modified: int = 20) -> str:
    return json_line({"path": path, "bytes": size, "modified_ns": modified, "plates": []})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_a_new_journal_holds_nothing(path: Path) -> None:
    with Journal(path, JSON) as journal:
        assert len(journal) == 0
        assert not journal.holds("a.jpg", 10, 20)


def test_what_was_written_is_done_in_the_next_run(path: Path) -> None:
    with Journal(path, JSON) as journal:
        for number in range(100):
            journal.append(entry(f"{number}.jpg"))
    with Journal(path, JSON) as journal:
        assert len(journal) == 100
        assert all(journal.holds(f"{number}.jpg", 10, 20) for number in range(100))
        assert not journal.holds("100.jpg", 10, 20)


def test_a_file_that_changed_is_not_done(path: Path) -> None:
    with Journal(path, JSON) as journal:
        journal.append(entry("a.jpg"))
    with Journal(path, JSON) as journal:
        assert not journal.holds("a.jpg", 11, 20)
        assert not journal.holds("a.jpg", 10, 21)


def test_a_failure_is_not_done(path: Path) -> None:
    with Journal(path, JSON) as journal:
        JsonLines(journal.append).write(batch.Outcome(Photo("a.jpg"), error=PhotoRefused("Broken.", 422)))
    with Journal(path, JSON) as journal:
        assert len(journal) == 0


def test_a_line_that_was_cut_short_is_removed(path: Path) -> None:
    with Journal(path, JSON) as journal:
        journal.append(entry("a.jpg"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"path": "b.jpg", "byt')
    with Journal(path, JSON) as journal:
        assert path.read_bytes() == whole
        journal.append(entry("b.jpg"))
    assert [json.loads(line)["path"] for line in path.read_text().splitlines()] == ["a.jpg", "b.jpg"]


def test_restart_begins_anew(path: Path) -> None:
    with Journal(path, JSON) as journal:
        journal.append(entry("a.jpg"))
    with Journal(path, JSON, restart=True) as journal:
        assert not journal.holds("a.jpg", 10, 20)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("content", ["plate,score\n", "[1, 2]\n", '{"text": "no path"}\n', "\xff\n"])
def test_somebody_elses_file_is_left_alone(path: Path, content: str) -> None:
    path.write_text(content, encoding="latin-1")
    with pytest.raises(JournalError, match="line 1"), Journal(path, JSON):
        pass
    assert path.read_text(encoding="latin-1") == content


def test_two_runs_do_not_share_a_file(path: Path) -> None:
    with Journal(path, JSON), pytest.raises(JournalError, match="Another run"), Journal(path, JSON):
        pass
    with Journal(path, JSON):
        pass


def test_a_name_that_is_no_text_comes_back_the_same(path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xd0\x90.jpg")
    with Journal(path, JSON) as journal:
        journal.append(entry(name))
    assert json.loads(path.read_text(encoding="utf-8"))["path"] == name
    with Journal(path, JSON) as journal:
        assert journal.holds(name, 10, 20)


def test_what_is_left_over_is_what_is_not_done(path: Path, tmp_path: Path) -> None:
    done, changed, new = (tmp_path / name for name in ("done.jpg", "changed.jpg", "new.jpg"))
    for file in (done, changed, new):
        file.write_bytes(b"photo")
    with Journal(path, JSON) as journal:
        for file in (done, changed):
            size, modified = Photo(str(file)).identity()
            journal.append(entry(str(file), size, modified))
    changed.write_bytes(b"another photo")
    skipped: list[int] = []
    with Journal(path, JSON) as journal:
        files = [Photo(str(file)) for file in (done, changed, new, tmp_path / "missing.jpg")]
        left = list(batch.left_over([*files, Photo("-")], journal, None, lambda: skipped.append(1)))
        assert [photo.path for photo in left] == [str(changed), str(new), str(tmp_path / "missing.jpg"), "-"]
        assert len(skipped) == 1
        again = list(batch.left_over(files[:1], journal, lambda _: tmp_path / "copy.jpg", lambda: None))
        assert len(again) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"no end of line",
        b"0" * (5 * 2**20),
        b'{"path": "' + b"a" * (5 * 2**20),
        b"[" * 100_000 + b"\n",
        b'{"path": 1}\n',
        b'{"path": "a", "modified_ns": 1}\n',
        b'{"path": "a", "modified_ns": "1", "bytes": 1}\n',
    ],
    ids=["text", "long", "long entry", "deep", "number", "no size", "text for a number"],
)
def test_what_no_run_has_written_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalError, match="line 1, isn't an answer"), Journal(path, JSON):
        pass
    assert path.read_bytes() == content


def test_zeros_at_the_end_are_removed(path: Path) -> None:
    with Journal(path, JSON) as journal:
        journal.append(entry("a.jpg"))
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(100))
    with Journal(path, JSON) as journal:
        assert len(journal) == 1
    assert path.read_bytes() == whole


def test_a_path_with_any_surrogate_is_read(path: Path) -> None:
    path.write_text('{"path": "\\ud800", "bytes": 1, "modified_ns": 2}\n')
    with Journal(path, JSON) as journal:
        assert journal.holds("\ud800", 1, 2)


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null"), tmp_path):
        with pytest.raises(JournalError, match=str(path)), Journal(path, JSON):
            pass


def outcome(path: str, plates: int = 1) -> batch.Outcome:
    plate = {"box": {"x_min": 1}, "region": None, "text": "B840OK197"}
    return batch.Outcome(Photo(path), {"plates": [plate] * plates}, identity=(10, 20))


@pytest.mark.parametrize("plates", [0, 1, 3])
def test_csv_goes_on_where_it_ended(path: Path, plates: int) -> None:
    with Journal(path, CSV) as journal:
        assert journal.is_new
        writer = Csv(journal.append)
        writer.write(outcome('a "1",\n.jpg', plates))
        writer.write(batch.Outcome(Photo("b.jpg"), error=PhotoRefused("Broken, or cut short.", 422)))
    with Journal(path, CSV) as journal:
        assert (journal.is_new, len(journal)) == (False, 1)
        assert journal.holds('a "1",\n.jpg', 10, 20)
        assert not journal.holds("b.jpg", 10, 20)
        Csv(journal.append, headed=True).write(outcome("b.jpg"))
    assert path.read_bytes().count(HEAD) == 1
    with Journal(path, CSV) as journal:
        assert journal.holds("b.jpg", 10, 20)


def test_a_photo_of_whose_rows_some_are_lost_is_not_done(path: Path) -> None:
    with Journal(path, CSV) as journal:
        writer = Csv(journal.append)
        writer.write(outcome("a.jpg"))
        whole = path.stat().st_size
        writer.write(outcome("b.jpg", 2))
    content = path.read_bytes()
    for end in range(whole, len(content)):
        path.write_bytes(content[:end])
        with Journal(path, CSV) as journal:
            assert journal.holds("a.jpg", 10, 20)
            assert not journal.holds("b.jpg", 10, 20)
        assert path.read_bytes() == content[: content.rindex(b"\n", 0, end) + 1]


@pytest.mark.parametrize("cut", [0, 1, 20])
def test_a_first_row_that_was_cut_short_is_written_anew(path: Path, cut: int) -> None:
    path.write_bytes(HEAD[:cut])
    with Journal(path, CSV) as journal:
        assert journal.is_new
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"path,text\n", 1),
        (b"my own notes", 1),
        (HEAD + b"a.jpg\n", 2),
        (HEAD + b'"a.jpg\n', 2),
        (HEAD + b"\xff\n", 2),
        (HEAD + b"a.jpg" + b"," * (len(CSV_COLUMNS) - 1) + b"late\n", 2),
    ],
)
def test_csv_that_no_run_has_written_is_left_alone(path: Path, content: bytes, line: int) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalError, match=f"line {line}, isn't an answer"), Journal(path, CSV):
        pass
    assert path.read_bytes() == content

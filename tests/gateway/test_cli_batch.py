"""Many photos: found, sent in order, and what comes of each."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import httpx
import pytest

from gateway.client import batch, photos
from gateway.client.errors import GatewayUnusable, PhotoRefused
from gateway.client.http import GatewayClient
from gateway.client.ordered import from_thread, in_order
from gateway.client.photos import Photo, find


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"photo")


def found(*sources: Path | str) -> list[str]:
    return [photo.path for photo in find(map(str, sources))]


def test_a_folder_is_searched_by_name_for_photos(tmp_path: Path) -> None:
    touch(tmp_path, "b.JPG", "a.png", "c/d.webp", "c/a.jpeg", "notes.txt", "z.bmp")
    assert found(tmp_path) == [str(tmp_path / name) for name in ("a.png", "b.JPG", "c/a.jpeg", "c/d.webp", "z.bmp")]


def test_a_file_that_is_named_may_have_any_name(tmp_path: Path) -> None:
    touch(tmp_path, "camera.dat")
    assert found(tmp_path / "camera.dat", "-", "missing") == [str(tmp_path / "camera.dat"), "-", "missing"]


def test_links_that_lead_back_are_followed_once(tmp_path: Path) -> None:
    touch(tmp_path, "a/photo.jpg")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "gone.jpg").symlink_to("nowhere")
    assert found(tmp_path) == [str(tmp_path / "a" / "photo.jpg"), str(tmp_path / "gone.jpg")]


def test_finding_takes_one_step_at_a_time(tmp_path: Path) -> None:
    touch(tmp_path, "a/1.jpg", "b/2.jpg")
    steps = find([str(tmp_path)])
    assert next(steps).path.endswith("1.jpg")
    touch(tmp_path, "b/3.jpg")
    assert len(list(steps)) == 2


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_refused_and_does_not_block(tmp_path: Path, make: object) -> None:
    path = tmp_path / "odd.jpg"
    assert callable(make)
    make(path)
    with pytest.raises(PhotoRefused, match="not a regular file"):
        Photo(str(path)).read()


def test_a_missing_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(PhotoRefused, match="No such file"):
        Photo(str(tmp_path / "missing.jpg")).read()


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photos, "MAX_BYTES", 2**20)
    path = tmp_path / "huge.jpg"
    with path.open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(PhotoRefused, match="more than 1 MiB"):
        Photo(str(path)).read()


class Work:
    """Work that ends when it is told to; `full` is set when so many items have begun."""

    def __init__(self, expected: int = 0) -> None:
        self.begun: list[int] = []
        self.expected = expected
        self.full = asyncio.Event()
        self.gates: dict[int, asyncio.Event] = {}

    async def __call__(self, item: int) -> int:
        self.begun.append(item)
        if len(self.begun) == self.expected:
            self.full.set()
        await self.gates.setdefault(item, asyncio.Event()).wait()
        return item

    def finish(self, *items: int) -> None:
        for item in items:
            self.gates.setdefault(item, asyncio.Event()).set()


async def stream(items: Iterable[int]) -> AsyncIterator[int]:
    for item in items:
        yield item
        await asyncio.sleep(0)


async def test_results_come_in_order_whichever_is_done_first() -> None:
    work = Work()
    work.finish(2, 1)
    results = in_order(stream(range(3)), work, 3, asyncio.Event())
    first = asyncio.create_task(anext(results))
    await asyncio.sleep(0)
    work.finish(0)
    assert [await first, await anext(results), await anext(results)] == [0, 1, 2]


async def test_no_more_items_are_taken_than_the_window_has() -> None:
    work, taken = Work(4), itertools.count()
    results = in_order(stream(taken), work, 4, asyncio.Event())
    first = asyncio.create_task(anext(results))
    await work.full.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert work.begun == [0, 1, 2, 3]
    assert next(taken) == 4
    work.finish(0)
    assert await first == 0
    await results.aclose()


async def test_what_is_under_way_is_finished_after_a_stop() -> None:
    work, stop = Work(3), asyncio.Event()
    results = in_order(stream(itertools.count()), work, 3, stop)
    first = asyncio.create_task(anext(results))
    await work.full.wait()
    stop.set()
    work.finish(*range(10))
    assert [await first, *[result async for result in results]] == [0, 1, 2]


async def test_an_exception_ends_the_rest() -> None:
    cancelled, all_begun = [], asyncio.Event()

    async def work(item: int) -> int:
        if item == 0:
            await all_begun.wait()
            raise GatewayUnusable("gone")
        if item == 2:
            all_begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(item)
            raise
        return item

    with pytest.raises(GatewayUnusable):
        async for _ in in_order(stream(range(5)), work, 3, asyncio.Event()):
            pass
    assert cancelled == [1, 2]


async def test_a_blocking_iterator_is_read_in_a_thread_to_its_end() -> None:
    assert [item async for item in from_thread(iter(range(100)))] == list(range(100))


async def outcomes(paths: Iterator[Photo], answer: httpx.MockTransport) -> list[batch.Outcome]:
    async with httpx.AsyncClient(transport=answer, base_url="http://gateway") as http:
        recognizing = batch.recognize(GatewayClient(http, 2), paths, window=4, parameters={}, stop=asyncio.Event())
        return [outcome async for outcome in recognizing]


async def test_a_bad_photo_is_an_error_and_no_end(tmp_path: Path) -> None:
    touch(tmp_path, "1.jpg", "2.jpg", "4.jpg")
    (tmp_path / "2.jpg").write_bytes(b"broken")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.content == b"broken":
            return httpx.Response(422, json={"detail": "It is broken."})
        return httpx.Response(200, json={"image": {}, "plates": [{"text": "A"}]})

    paths = (Photo(str(tmp_path / f"{number}.jpg")) for number in range(1, 5))
    first, broken, missing, last = await outcomes(paths, httpx.MockTransport(answer))
    status = (tmp_path / "1.jpg").stat()
    assert first.entry() == {
        "path": str(tmp_path / "1.jpg"),
        "bytes": 5,
        "modified_ns": status.st_mtime_ns,
        "image": {},
        "plates": [{"text": "A"}],
    }
    assert broken.entry()["error"] == {"status": 422, "detail": "It is broken."}
    assert missing.entry()["error"]["status"] == 0
    assert last.plates == [{"text": "A"}]

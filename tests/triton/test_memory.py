"""Shared memory: what is written and read, when it is quiet, how the server learns of it."""

import asyncio
import errno
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from gateway.errors import DeadlineExceeded, GatewayError
from gateway.settings import Settings
from gateway.triton import memory, shm
from gateway.triton.errors import ConnectionLost, Refused, RegionInUse, RegionLost
from gateway.triton.memory import KEY, REGION, SIZE_CLASSES
from gateway.triton.system import SystemMemory
from tests.triton.support import until

if TYPE_CHECKING:
    from gateway.triton.rpc import Rpc

SHAPE = (4, 8, 3)
NBYTES = 4 * 8 * 3
LARGEST = SIZE_CLASSES[1]


class Server:
    """What Triton knows. An unregistration fails with the errors given, one after the other, and then works."""

    def __init__(self) -> None:
        self.regions: dict[str, object] = {}
        self.refusals: list[GatewayError] = []
        self.asked = 0
        self.registering: GatewayError | None = None

    async def register_system(self, region: str, *memory: object) -> None:
        self.regions[region] = memory
        if self.registering is not None:
            raise self.registering

    async def unregister(self, sharing: str, region: str) -> None:
        self.asked += 1
        if self.refusals:
            raise self.refusals.pop(0)
        self.regions.pop(region, None)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def shared(server: Server, leftovers: Callable[[], set[str]]) -> AsyncIterator[SystemMemory]:
    (key,) = memory.new_keys(1)
    shared = SystemMemory(cast("Rpc", server), key, LARGEST)
    yield shared
    await shared.close()


async def publish(shared: SystemMemory) -> str:
    assert await shared.reserve(NBYTES)
    return await shared.publish()


def lend(shared: SystemMemory, error: BaseException) -> bool:
    """Lend the memory to a request that ends with this error; return whether it is quiet then."""

    def fail() -> None:
        with shared.lent():
            raise error

    with pytest.raises(type(error)):
        fail()
    return shared.quiet


@pytest.mark.parametrize(
    ("nbytes", "size"),
    [
        (1, 2),
        (1920 * 1080 * 3, 6),
        (6 * 2**20 + 1, 24),
        (3840 * 2160 * 3, 24),
        (25_000_000 * 3, 72),
        (50_000_000 * 3, 144),
    ],
)
def test_sizes_grow_in_classes(nbytes: int, size: int) -> None:
    assert memory.size_class(nbytes, SIZE_CLASSES[-1]) == size * 2**20


def test_every_picture_that_is_admitted_has_room_by_default() -> None:
    """Inside a gRPC request a picture of that size would stop the event loop."""
    limits = Settings()
    assert memory.size_class(3 * limits.max_pixels, limits.slot_bytes) is not None


def test_the_largest_size_is_what_the_settings_admit() -> None:
    assert memory.size_class(2**20, 2**20) == 2**20
    assert memory.size_class(2**20 + 1, 2**20) is None
    assert memory.size_class(90 * 2**20, 100 * 2**20) == 100 * 2**20


async def test_what_is_written_is_in_the_file_of_its_key(shared: SystemMemory, server: Server) -> None:
    assert await shared.reserve(NBYTES)
    view = shared.view(SHAPE)
    assert view.shape == SHAPE
    assert view.dtype == np.uint8
    view[:] = np.arange(NBYTES, dtype=np.uint8).reshape(SHAPE)
    assert await shared.flush(NBYTES) == 0
    assert (shm.ROOT / shared.key).read_bytes()[:NBYTES] == bytes(range(NBYTES))
    region = await shared.publish()
    assert server.regions == {region: (f"/{shared.key}", LARGEST)}
    assert KEY.fullmatch(shared.key)
    match = REGION.fullmatch(region)
    assert match is not None
    assert match[1] == shared.key
    assert int(match[2], 16) == memory.dev_shm()


async def test_pages_are_taken_by_class_and_given_back_while_it_stays_registered(
    shared: SystemMemory, server: Server
) -> None:
    def taken() -> int:
        return (shm.ROOT / shared.key).stat().st_blocks * 512

    assert taken() == 0
    region = await publish(shared)
    assert (taken(), shared.nbytes) == (SIZE_CLASSES[0], SIZE_CLASSES[0])
    assert await shared.reserve(SIZE_CLASSES[0] + 1)
    assert taken() == SIZE_CLASSES[1]
    shared.view(SHAPE)[:] = 1
    await shared.trim()
    assert (taken(), shared.nbytes) == (0, 0)
    assert await publish(shared) == region
    assert shared.view(SHAPE).sum() == 0
    shared.view(SHAPE)[:] = 2
    assert (shm.ROOT / shared.key).read_bytes()[:NBYTES] == b"\x02" * NBYTES


async def test_what_is_too_large_is_refused(shared: SystemMemory) -> None:
    assert await shared.reserve(LARGEST)
    assert not await shared.reserve(LARGEST + 1)


async def test_a_full_dev_shm_is_no_crash(shared: SystemMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert not await shared.reserve(NBYTES)
    assert shared.quiet


async def test_memory_that_cannot_be_made_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[], set[str]], server: Server
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "ftruncate", full)
    (key,) = memory.new_keys(1)
    with pytest.raises(OSError, match="No space"):
        SystemMemory(cast("Rpc", server), key, LARGEST)
    assert not leftovers()


async def test_each_registration_has_a_name_of_its_own(shared: SystemMemory, server: Server) -> None:
    first = await publish(shared)
    assert await shared.publish() == first
    shared.lost()
    second = await shared.publish()
    assert second != first
    assert list(server.regions) == [second]


async def test_a_registration_whose_answer_was_lost_is_undone_by_the_next(shared: SystemMemory, server: Server) -> None:
    server.registering = ConnectionLost("")
    with pytest.raises(ConnectionLost):
        await publish(shared)
    (lost,) = server.regions
    server.registering = None
    region = await shared.publish()
    assert list(server.regions) == [region]
    assert region != lost


async def test_publishing_waits_for_a_reader_and_not_for_a_server_that_is_away(
    shared: SystemMemory, server: Server
) -> None:
    first = await publish(shared)
    shared.lost()
    server.refusals = [RegionInUse(""), ConnectionLost(""), RegionInUse("")]
    with pytest.raises(ConnectionLost):
        await shared.publish()
    assert [type(refusal) for refusal in server.refusals] == [RegionInUse]
    second = await shared.publish()
    assert list(server.regions) == [second] != [first]


@pytest.mark.parametrize("error", [ConnectionLost(""), DeadlineExceeded(""), asyncio.CancelledError()])
async def test_memory_lent_to_a_request_without_an_answer_is_quiet_once_the_server_lets_go(
    shared: SystemMemory, server: Server, error: BaseException
) -> None:
    region = await publish(shared)
    assert not lend(shared, error)
    server.refusals = [RegionInUse(""), ConnectionLost(""), DeadlineExceeded(""), RegionInUse("")]
    before = server.asked
    await shared.settle()
    assert server.asked - before == 5
    assert not server.regions
    assert shared.quiet
    assert await shared.publish() != region


async def test_a_server_that_shares_no_memory_reads_none(shared: SystemMemory, server: Server) -> None:
    await publish(shared)
    assert not lend(shared, ConnectionLost(""))
    server.refusals = [Refused("")]
    await shared.settle()
    assert shared.quiet


@pytest.mark.parametrize("error", [RegionLost(""), GatewayError("")])
async def test_an_answer_makes_it_quiet_also_where_it_is_an_error(shared: SystemMemory, error: GatewayError) -> None:
    assert lend(shared, error)
    with shared.lent():
        pass
    assert shared.quiet


async def test_the_answer_to_a_second_try_says_nothing_about_the_first(shared: SystemMemory) -> None:
    lend(shared, ConnectionLost(""))
    with shared.lent():
        pass
    assert not shared.quiet
    await shared.settle()
    assert shared.quiet


async def test_memory_is_not_quiet_while_a_thread_writes_to_it(shared: SystemMemory) -> None:
    release = threading.Event()

    def write() -> None:
        release.wait()
        raise ValueError  # nobody retrieves it, and nobody is warned of that

    writing = asyncio.create_task(shared.run(write))
    await until(lambda: not shared.quiet)
    writing.cancel()
    await asyncio.wait({writing})
    settling = asyncio.create_task(shared.settle())
    await asyncio.sleep(0)
    assert not settling.done()
    release.set()
    await settling
    assert shared.quiet


async def test_closing_takes_everything_back_but_what_may_still_be_read(
    server: Server, leftovers: Callable[[], set[str]]
) -> None:
    quiet, lent = (SystemMemory(cast("Rpc", server), key, LARGEST) for key in memory.new_keys(2))
    await publish(quiet)
    region = await publish(lent)
    view = quiet.view(SHAPE)
    lend(lent, ConnectionLost(""))
    server.refusals = [RegionInUse("")]  # of a request that was answered just now
    for shared in (quiet, lent):
        await shared.close()
    assert list(server.regions) == [region]
    assert not leftovers()
    view[:] = 1  # stays usable


async def test_a_sweep_removes_files_of_the_dead_and_no_others(shared: SystemMemory) -> None:
    dead = f"plate-gateway-1a-1-{secrets.token_hex(4)}-0"
    os.close(shm.create(dead))
    memory.sweep()
    assert not (shm.ROOT / dead).exists()
    assert (shm.ROOT / shared.key).exists()


def test_keys_are_unique() -> None:
    keys: list[Any] = [*memory.new_keys(3), *memory.new_keys(3)]
    assert len(set(keys)) == 6

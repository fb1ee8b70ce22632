"""The pool of slots, without a server."""

import asyncio
import errno
import os
import secrets
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from gateway.errors import Unavailable
from gateway.triton import shm, slots
from gateway.triton.slots import SlotPool

SHAPE = (4, 8, 3)
NBYTES = 4 * 8 * 3


@pytest.fixture
async def pool(leftovers: Callable[[], set[str]]) -> AsyncIterator[SlotPool]:
    pool = SlotPool(2, NBYTES)
    yield pool
    await pool.drain(1)
    pool.remove()


async def test_what_is_written_to_a_slot_is_in_the_file_of_its_name(pool: SlotPool) -> None:
    async with pool.acquire(1) as slot:
        assert slot.region is not None
        assert slot.reserve(SHAPE)
        view = slot.view(SHAPE)
        assert view.shape == SHAPE
        assert view.dtype == np.uint8
        view[:] = np.arange(NBYTES, dtype=np.uint8).reshape(SHAPE)
        assert (shm.ROOT / slot.region.name).read_bytes() == bytes(range(NBYTES))
        assert slots.NAME.fullmatch(slot.region.name)


async def test_an_image_larger_than_a_slot_is_refused(pool: SlotPool) -> None:
    async with pool.acquire(1) as slot:
        assert slot.reserve((NBYTES,))
        assert not slot.reserve((NBYTES + 1,))


async def test_a_full_dev_shm_is_no_crash(pool: SlotPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    async with pool.acquire(1) as slot:
        assert not slot.reserve(SHAPE)


async def test_a_released_slot_is_dead(pool: SlotPool) -> None:
    async with pool.acquire(1) as slot:
        pass
    done = asyncio.get_running_loop().create_future()
    for use in (lambda: slot.region, lambda: slot.reserve(SHAPE), lambda: slot.view(SHAPE), lambda: slot.hold(done)):
        with pytest.raises(RuntimeError, match="released"):
            use()


async def test_no_more_slots_are_out_than_there_are(pool: SlotPool) -> None:
    async with pool.acquire(1) as first, pool.acquire(1) as second:
        assert first.region is not second.region
        with pytest.raises(Unavailable, match="All 2 places"):
            async with pool.acquire(0.01):
                pass
    assert pool.free == 2


async def test_waiters_are_served_in_their_order(pool: SlotPool) -> None:
    served: list[int] = []

    async def wait(number: int) -> None:
        async with pool.acquire(5):
            served.append(number)
            await asyncio.sleep(0)

    async with pool.acquire(1), pool.acquire(1):
        waiters = [asyncio.create_task(wait(number)) for number in range(10)]
        await asyncio.sleep(0)
    # One who comes when a slot has just been given back doesn't overtake those who wait.
    await asyncio.gather(*waiters, wait(10))
    assert served == list(range(11))


async def test_a_cancelled_waiter_takes_no_slot_with_it(pool: SlotPool) -> None:
    async def wait() -> None:
        async with pool.acquire(5):
            raise AssertionError("it was cancelled")

    async with pool.acquire(1), pool.acquire(1):
        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait({waiter})
    assert pool.free == 2


async def test_a_waiter_that_is_cancelled_when_it_gets_its_slot_passes_it_on(pool: SlotPool) -> None:
    async def wait() -> None:
        async with pool.acquire(5):
            pass

    async with pool.acquire(1):
        async with pool.acquire(1):
            waiter, other = asyncio.create_task(wait()), asyncio.create_task(wait())
            await asyncio.sleep(0)
        waiter.cancel()  # the slot is its own already, but it hasn't run since
        await asyncio.wait({waiter})
        assert waiter.cancelled()
        await other
    assert pool.free == 2


async def test_a_cancelled_holder_gives_its_slot_back(pool: SlotPool) -> None:
    holding = asyncio.Event()

    async def hold() -> None:
        async with pool.acquire(1):
            holding.set()
            await asyncio.get_running_loop().create_future()

    holder = asyncio.create_task(hold())
    await holding.wait()
    assert pool.free == 1
    holder.cancel()
    await asyncio.wait({holder})
    assert pool.free == 2


async def test_a_slot_stays_in_quarantine_until_the_last_work_on_it_has_ended(pool: SlotPool) -> None:
    loop = asyncio.get_running_loop()
    answered, failed = loop.create_future(), loop.create_future()
    async with pool.acquire(1) as slot:
        slot.hold(answered)
        slot.hold(failed)
    assert pool.free == 1
    answered.set_result(None)
    await asyncio.sleep(0)
    assert pool.free == 1
    failed.set_exception(ConnectionError())  # nobody retrieves it, and nobody is warned of that
    await asyncio.sleep(0)
    assert pool.free == 2


async def test_work_that_has_ended_keeps_no_slot(pool: SlotPool) -> None:
    work = asyncio.get_running_loop().create_future()
    async with pool.acquire(1) as slot:
        slot.hold(work)
        work.set_result(None)
    assert pool.free == 2


async def test_draining_waits_for_the_slots_in_use_and_hands_out_no_more() -> None:
    pool = SlotPool(2, 0)
    release = asyncio.Event()

    async def hold() -> None:
        async with pool.acquire(1):
            await release.wait()

    holder = asyncio.create_task(hold())
    await asyncio.sleep(0)
    draining = asyncio.create_task(pool.drain(5))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="shutting down"):
        async with pool.acquire(1):
            pass
    assert not draining.done()
    release.set()
    await asyncio.gather(holder, draining)


async def test_draining_has_an_end() -> None:
    pool = SlotPool(1, 0)
    async with pool.acquire(1):
        await pool.drain(0.01)


async def test_a_pool_without_memory_only_counts(leftovers: Callable[[], set[str]]) -> None:
    pool = SlotPool(1, 0)
    assert not leftovers()
    async with pool.acquire(1) as slot:
        assert slot.region is None
        assert not slot.reserve((1,))
        with pytest.raises(RuntimeError, match="no shared memory"):
            slot.view((1,))


async def test_arrays_on_a_removed_region_stay_usable(leftovers: Callable[[], set[str]]) -> None:
    pool = SlotPool(1, NBYTES)
    async with pool.acquire(1) as slot:
        view = slot.view(SHAPE)
    assert len(leftovers()) == 1
    pool.remove()
    assert not leftovers()
    view[:] = 1


async def test_a_pool_that_cannot_be_made_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[], set[str]]
) -> None:
    truncate = os.ftruncate

    def full(descriptor: int, length: int) -> None:
        if len(leftovers()) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        truncate(descriptor, length)

    monkeypatch.setattr(os, "ftruncate", full)
    with pytest.raises(OSError, match="No space"):
        SlotPool(3, NBYTES)


async def test_a_sweep_removes_regions_of_the_dead_and_no_others(pool: SlotPool) -> None:
    dead = f"plate-gateway-1-{secrets.token_hex(4)}-0"
    os.close(shm.create(dead))
    slots.sweep()
    assert not (shm.ROOT / dead).exists()
    assert all((shm.ROOT / region.name).exists() for region in pool.regions)

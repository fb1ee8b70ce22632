"""The pool of slots, with memory that only says when it is quiet."""

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from gateway.errors import TooManyRequests, Unavailable
from gateway.triton.memory import Memory
from gateway.triton.slots import WAITING_PER_SLOT, Slot, SlotPool
from tests.triton.support import until


class Quiet(Memory):
    """Memory that is used as long as the test wants."""

    transport = "system"

    def __init__(self) -> None:
        self.used = False
        self.settled = asyncio.Event()
        self.size = 1
        self.closed = False

    @property
    def quiet(self) -> bool:
        return not self.used

    @property
    def nbytes(self) -> int:
        return self.size

    async def settle(self) -> None:
        await self.settled.wait()
        self.used = False

    async def close(self) -> None:
        self.closed = True

    async def _trim(self) -> None:
        self.size = 0

    async def reserve(self, nbytes: int) -> bool:
        raise NotImplementedError

    def view(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        raise NotImplementedError

    async def flush(self, nbytes: int) -> int | None:
        raise NotImplementedError

    async def _register(self, region: str) -> None:
        raise NotImplementedError

    async def _release(self) -> None:
        raise NotImplementedError


@pytest.fixture
def memories() -> list[Quiet]:
    return [Quiet(), Quiet()]


@pytest.fixture
def pool(memories: list[Quiet]) -> SlotPool:
    return SlotPool(memories)


async def hold(pool: SlotPool, client: str, release: asyncio.Event) -> None:
    async with pool.acquire(5, client):
        await release.wait()


async def test_a_released_slot_is_dead(pool: SlotPool) -> None:
    async with pool.acquire(1) as slot:
        assert slot.memory is not None
    with pytest.raises(RuntimeError, match="released"):
        _ = slot.memory


async def test_no_more_slots_are_out_than_there_are(pool: SlotPool) -> None:
    async with pool.acquire(1, "a") as first, pool.acquire(1, "b") as second:
        assert first.memory is not second.memory
        with pytest.raises(Unavailable, match="All 2 places"):
            async with pool.acquire(0.01, "c"):
                pass
    assert pool.free == 2


async def test_one_client_never_has_every_slot(pool: SlotPool) -> None:
    async with pool.acquire(1, "greedy"):
        with pytest.raises(TooManyRequests, match="every place that you may have"):
            async with pool.acquire(0.01, "greedy"):
                pass
        async with pool.acquire(1, "modest"):
            pass
    async with pool.acquire(1, "greedy"):
        pass


async def test_a_lone_slot_is_for_everybody() -> None:
    pool = SlotPool([None])
    async with pool.acquire(1, "a"):
        pass
    async with pool.acquire(1, "a"):
        pass


async def test_waiting_is_bounded_for_each_client_and_for_all() -> None:
    pool, release = SlotPool([None]), asyncio.Event()
    held = asyncio.create_task(hold(pool, "a", release))
    waiting = [asyncio.create_task(hold(pool, "a", release)) for _ in range(WAITING_PER_SLOT // 2)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        await hold(pool, "a", release)
    waiting += [asyncio.create_task(hold(pool, "b", release)) for _ in range(WAITING_PER_SLOT // 2)]
    await asyncio.sleep(0)
    assert pool.waiting == WAITING_PER_SLOT
    with pytest.raises(Unavailable):
        await hold(pool, "c", release)
    release.set()
    await asyncio.gather(held, *waiting)
    assert pool.free == 1
    assert pool.waiting == 0


async def test_waiters_of_one_client_are_served_in_their_order(pool: SlotPool) -> None:
    served: list[int] = []

    async def wait(number: int) -> None:
        async with pool.acquire(5, "a"):
            served.append(number)
            await asyncio.sleep(0)

    async with pool.acquire(1, "b"), pool.acquire(1, "c"):
        waiters = [asyncio.create_task(wait(number)) for number in range(7)]
        await asyncio.sleep(0)
    # One who comes when a slot has just been given back doesn't overtake those who wait.
    await asyncio.gather(*waiters, wait(7))
    assert served == list(range(8))


async def test_the_modest_are_served_before_the_rest_of_the_greedy(pool: SlotPool) -> None:
    served: list[str] = []

    async def wait(client: str) -> None:
        async with pool.acquire(5, client):
            served.append(client)
            await asyncio.sleep(0)

    async with pool.acquire(1, "x"), pool.acquire(1, "y"):
        waiters = [asyncio.create_task(wait(client)) for client in [*["greedy"] * 6, "modest"]]
        await asyncio.sleep(0)
    await asyncio.gather(*waiters)
    assert served.index("modest") < 2


async def test_a_cancelled_waiter_takes_no_slot_with_it(pool: SlotPool) -> None:
    async with pool.acquire(1, "a"), pool.acquire(1, "b"):
        waiter = asyncio.create_task(hold(pool, "c", asyncio.Event()))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait({waiter})
    assert pool.free == 2


async def test_a_waiter_that_is_cancelled_when_it_gets_its_slot_passes_it_on(pool: SlotPool) -> None:
    release = asyncio.Event()
    release.set()
    async with pool.acquire(1, "a"):
        async with pool.acquire(1, "b"):
            waiter, other = (asyncio.create_task(hold(pool, client, release)) for client in ("c", "d"))
            await asyncio.sleep(0)
        waiter.cancel()  # the slot is its own already, but it hasn't run since
        await asyncio.wait({waiter})
        assert waiter.cancelled()
        await other
    assert pool.free == 2


async def test_a_cancelled_holder_gives_its_slot_back(pool: SlotPool) -> None:
    holder = asyncio.create_task(hold(pool, "a", asyncio.Event()))
    await asyncio.sleep(0)
    assert pool.free == 1
    holder.cancel()
    await asyncio.wait({holder})
    assert pool.free == 2


async def use(slot: Slot) -> Quiet:
    """Leave the slot's memory used."""
    assert isinstance(slot.memory, Quiet)
    slot.memory.used = True
    return slot.memory


async def test_memory_that_may_still_be_read_waits_in_quarantine_and_counts_as_its_clients(pool: SlotPool) -> None:
    async with pool.acquire(1, "a") as slot:
        memory = await use(slot)
    assert (pool.free, pool.quarantined) == (1, 1)
    with pytest.raises(TooManyRequests):
        async with pool.acquire(0.01, "a"):
            pass
    async with pool.acquire(1, "b") as other:
        assert other.memory is not memory
        waiter = asyncio.create_task(hold(pool, "a", asyncio.Event()))
        await asyncio.sleep(0)
        memory.settled.set()
        await until(lambda: not pool.quarantined)
        assert (pool.free, pool.waiting) == (0, 0)
        waiter.cancel()
        await asyncio.wait({waiter})
    assert pool.free == 2


async def test_idle_memory_is_given_back_and_used_memory_is_not(memories: list[Quiet], pool: SlotPool) -> None:
    await pool.trim(60)
    assert [memory.size for memory in memories] == [1, 1]
    async with pool.acquire(1) as slot:
        await pool.trim(0)
        assert [memory.size for memory in memories if memory is slot.memory] == [1]
        assert [memory.size for memory in memories if memory is not slot.memory] == [0]
    assert pool.free == 2


async def test_closing_waits_for_the_slots_in_use_and_hands_out_no_more(memories: list[Quiet], pool: SlotPool) -> None:
    release = asyncio.Event()
    holder = asyncio.create_task(hold(pool, "a", release))
    await asyncio.sleep(0)
    closing = asyncio.create_task(pool.close(5))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="shutting down"):
        async with pool.acquire(1):
            pass
    assert not closing.done()
    release.set()
    await asyncio.gather(holder, closing)
    assert all(memory.closed for memory in memories)


async def test_closing_has_an_end(memories: list[Quiet], pool: SlotPool) -> None:
    async with pool.acquire(1) as slot:
        await use(slot)
    await pool.close(0.01)
    assert pool.quarantined == 0
    assert all(memory.closed for memory in memories)

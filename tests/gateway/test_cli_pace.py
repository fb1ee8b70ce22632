"""How a client of a gateway adapts to refusals."""

import asyncio

import pytest

from gateway.client.pace import Pace


async def refuse(pace: Pace, seconds: float = 0.0) -> None:
    async with pace.turn() as epoch:
        pace.refused(epoch, seconds)


async def test_no_more_than_the_window_is_under_way() -> None:
    pace = Pace(3)
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        async with pace.turn():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(one() for _ in range(20)))
    assert most == 3


async def test_a_refusal_halves_the_window_and_one_is_the_least() -> None:
    pace = Pace(8)
    windows = []
    for _ in range(5):
        await refuse(pace)
        windows.append(pace.window)
    assert windows == [4, 2, 1, 1, 1]


async def test_refusals_of_one_round_halve_it_once() -> None:
    pace = Pace(8)
    async with pace.turn() as first, pace.turn() as second, pace.turn() as third:
        for epoch in (first, second, third):
            pace.refused(epoch, 0)
    assert pace.window == 4


async def test_answers_widen_the_window_by_one_a_round_up_to_the_limit() -> None:
    pace = Pace(4)
    await refuse(pace)
    assert pace.window == 2
    for _ in range(3):
        pace.answered()
    assert pace.window == 3
    for _ in range(20):
        pace.answered()
    assert pace.window == 4


async def test_nothing_is_sent_during_the_pause() -> None:
    pace = Pace(2)
    await refuse(pace, 0.05)
    begin = asyncio.get_running_loop().time()
    async with pace.turn():
        assert asyncio.get_running_loop().time() - begin > 0.04


async def test_a_place_that_was_waited_for_in_vain_goes_to_the_next() -> None:
    pace = Pace(1)
    async with pace.turn():
        left = asyncio.create_task(refuse(pace))
        next_one = asyncio.create_task(refuse(pace))
        await asyncio.sleep(0)
        left.cancel()
    # The place is given to the task that is being cancelled, in the worst case.
    await asyncio.wait_for(next_one, 5)
    assert left.cancelled()


async def test_a_wider_window_wakes_those_who_wait() -> None:
    pace = Pace(2)
    await refuse(pace)
    async with pace.turn():
        waiting = asyncio.create_task(refuse(pace))
        await asyncio.sleep(0)
        assert not waiting.done()
        pace.answered()
        await asyncio.wait_for(waiting, 5)


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Pace(0)

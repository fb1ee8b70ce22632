"""Clients take turns."""

import asyncio

import pytest

from gateway.errors import TooManyRequests, Unavailable
from gateway.triton.turns import Turns


def served(waiters: dict[str, asyncio.Future[int]]) -> list[str]:
    """Names of those who have a place, in the order of the places."""
    return sorted((name for name, waiter in waiters.items() if waiter.done()), key=lambda name: waiters[name].result())


async def test_clients_take_turns_however_much_each_sends() -> None:
    turns: Turns[int] = Turns(places_per_client=8, waiting=100, waiting_per_client=100)
    waiters = {f"greedy {number}": turns.wait("greedy") for number in range(4)}
    waiters |= {f"modest {number}": turns.wait("modest") for number in range(2)}
    waiters |= {"late 0": turns.wait("late")}
    assert turns.waiting == 7
    for place in range(7):
        assert turns.serve(place)
    assert served(waiters) == ["greedy 0", "modest 0", "late 0", "greedy 1", "modest 1", "greedy 2", "greedy 3"]
    assert not turns.serve(7)
    assert turns.waiting == 0


async def test_a_client_with_all_its_places_is_passed_over_until_it_gives_one_back() -> None:
    turns: Turns[int] = Turns(places_per_client=1, waiting=100, waiting_per_client=100)
    turns.take("greedy")
    greedy, modest = turns.wait("greedy"), turns.wait("modest")
    assert turns.serve(0)
    assert modest.done()
    assert not turns.serve(1)
    assert not turns.admits("greedy")
    turns.give_back("greedy")
    assert turns.serve(1)
    assert greedy.result() == 1


async def test_one_client_fills_its_part_of_the_queue_and_no_more() -> None:
    turns: Turns[int] = Turns(places_per_client=1, waiting=3, waiting_per_client=2)
    turns.wait("greedy")
    turns.wait("greedy")
    with pytest.raises(TooManyRequests, match="2 of your requests"):
        turns.wait("greedy")
    turns.wait("modest")
    with pytest.raises(Unavailable, match="3 requests are waiting"):
        turns.wait("third")


async def test_who_leaves_is_not_served() -> None:
    turns: Turns[int] = Turns(places_per_client=8, waiting=100, waiting_per_client=100)
    left, cancelled, stays = (turns.wait("a") for _ in range(3))
    turns.leave("a", left)
    cancelled.cancel()  # its task hasn't run since
    assert turns.serve(0)
    assert stays.result() == 0
    turns.leave("a", cancelled)
    assert turns.waiting == 0

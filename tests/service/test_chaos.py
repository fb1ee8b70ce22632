"""The service when its parts are killed, and when its clients go away: the short form of `make chaos`."""

import asyncio

import pytest

from benchmarks import cancel_storm, chaos
from benchmarks.survival.clients import Attempt, Outcome, Tally
from benchmarks.survival.report import Check
from benchmarks.survival.storm import storm
from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import require_platform

SHORT = ["--clients=6", "--triton-kills=2", "--triton-stops=1", "--stub-stops=1", "--worker-kills=2"]


def failed(checks: list[Check]) -> list[Check]:
    return [check for check in checks if not check.passed]


async def test_the_service_survives_the_death_of_its_parts() -> None:
    require_platform()
    assert await asyncio.to_thread(chaos.chaos, chaos.parse(SHORT)) == 0


async def test_requests_that_are_given_up_leave_nothing(triton: EmbeddedTriton) -> None:
    found = await storm(Settings(), triton.endpoint, 200)
    assert not failed(cancel_storm.judge(found))


@pytest.mark.parametrize("outcome", [Outcome.WRONG, Outcome.FAULT, Outcome.HANG])
def test_what_must_not_be_is_found(outcome: Outcome) -> None:
    tally = Tally()
    tally.add(Attempt(Outcome.RIGHT, 0, 1, ""))
    assert not failed(chaos.judge(tally, [], [100, 100], "", set(), 0))
    tally.add(Attempt(outcome, 1, 2, "detail"))
    assert failed(chaos.judge(tally, [], [100, 100], "", set(), 0))


def test_what_is_left_is_found() -> None:
    tally = Tally()
    tally.add(Attempt(Outcome.RIGHT, 0, 1, ""))
    assert failed(chaos.judge(tally, [], [100, 100], "", {"plate-gateway-1"}, 0))
    assert failed(chaos.judge(tally, [], [100, 106], "", set(), 0))
    assert failed(chaos.judge(tally, [], [100, 100], "", set(), 1))


@pytest.mark.parametrize(
    ("kind", "time", "explained"),
    [(chaos.KILL_WORKER, 10.5, True), (chaos.KILL_WORKER, 12.0, False), (chaos.KILL_TRITON, 10.5, False)],
)
def test_only_a_workers_death_excuses_a_lost_connection(kind: str, time: float, explained: bool) -> None:
    tally = Tally()
    tally.add(Attempt(Outcome.RESET, 10, 11, "ReadError"))
    assert (chaos.unexplained(tally, [chaos.Blow(kind, time, 1)]) == []) is explained


def test_the_time_from_tritons_readiness_to_the_gateways_is_taken_from_the_log() -> None:
    lines = [
        ("00:00:00", "Ready: http://127.0.0.1:1"),
        ("00:00:10", "Not ready: Triton is not available now."),
        ("00:00:12", "Triton is ready again after 1.0 s"),
        ("00:00:14", "Ready again: http://127.0.0.1:1"),
        ("00:00:20", "Not ready: 1 of 2 workers: starting."),
        ("00:00:29", "Ready again: http://127.0.0.1:1"),
    ]
    log = "\n".join(f'{{"time": "2026-01-01T{time}+00:00", "message": "{message}"}}' for time, message in lines)
    assert chaos.ready_delays(log) == [2.0]

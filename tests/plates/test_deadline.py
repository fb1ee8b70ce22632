"""Requests that nobody waits for are given up."""

from dataclasses import dataclass

import pytest

from plates import deadline
from plates.deadline import Abandoned


@dataclass
class Request:
    microseconds: int = 0
    cancelled: bool = False

    def is_cancelled(self) -> bool:
        return self.cancelled

    def timeout(self) -> int:
        return self.microseconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("plates.deadline.time.monotonic", lambda: now[0])
    return now


def test_without_a_request_there_is_no_limit() -> None:
    assert deadline.remaining() == 0


def test_a_request_without_a_timeout_has_as_long_as_it_takes(clock: list[float]) -> None:
    with deadline.answering(Request()):
        clock[0] += 1e6
        assert deadline.remaining() == 0


def test_the_time_left_shrinks_and_then_the_request_is_given_up(clock: list[float]) -> None:
    with deadline.answering(Request(microseconds=2_000_000)):
        assert deadline.remaining() == 2_000_000
        clock[0] += 1.5
        assert deadline.remaining() == 500_000
        clock[0] += 0.5
        with pytest.raises(Abandoned, match="time"):
            deadline.remaining()


def test_a_cancelled_request_is_given_up() -> None:
    request = Request()
    with deadline.answering(request):
        request.cancelled = True
        with pytest.raises(Abandoned, match="cancelled"):
            deadline.remaining()
    assert deadline.remaining() == 0

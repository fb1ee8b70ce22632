"""The client of the HTTP API: what it tries again, and when it gives up."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from gateway.client.errors import GatewayUnusable, PhotoRefused
from gateway.client.http import GatewayClient

ANSWER = {"image": {"width": 1, "height": 1}, "plates": []}


class Gateway:
    """Answers with the given answers, one after the other; the last one again and again."""

    def __init__(self, *answers: Callable[[], httpx.Response]) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])()


def ok() -> httpx.Response:
    return httpx.Response(200, json=ANSWER)


def problem(status: int, detail: str = "No.", retry_after: str | None = None) -> Callable[[], httpx.Response]:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return lambda: httpx.Response(status, json={"detail": detail}, headers=headers)


def broken() -> httpx.Response:
    raise httpx.ReadError("the connection broke")


@asynccontextmanager
async def client_of(gateway: Gateway, patience: float = 5.0) -> AsyncIterator[GatewayClient]:
    transport = httpx.MockTransport(gateway)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        yield GatewayClient(http, 4, patience)


async def test_a_photo_is_the_body_and_parameters_are_the_query() -> None:
    gateway = Gateway(ok)
    async with client_of(gateway) as client:
        assert await client.recognize(b"photo", {"min_score": 0.5}) == ANSWER
    (request,) = gateway.requests
    assert (request.url.path, request.url.query, request.content) == ("/recognize", b"min_score=0.5", b"photo")


@pytest.mark.parametrize(
    "obstacle",
    [problem(429, retry_after="0"), problem(503, retry_after="0"), problem(504, retry_after="0"), problem(502), broken],
    ids=["too many", "unavailable", "deadline", "bad gateway", "broken connection"],
)
async def test_what_passes_by_itself_is_tried_again(obstacle: Callable[[], httpx.Response]) -> None:
    gateway = Gateway(obstacle, ok)
    async with client_of(gateway) as client:
        assert await client.recognize(b"photo") == ANSWER
    assert len(gateway.requests) == 2


@pytest.mark.parametrize("status", [400, 408, 413, 415, 422, 500])
async def test_what_is_wrong_with_the_photo_is_not_tried_again(status: int) -> None:
    gateway = Gateway(problem(status, "Send another one."))
    async with client_of(gateway) as client:
        with pytest.raises(PhotoRefused, match=r"Send another one\.") as caught:
            await client.recognize(b"photo")
    assert caught.value.status == status
    assert len(gateway.requests) == 1


async def test_a_photo_that_takes_too_long_again_and_again_is_refused() -> None:
    gateway = Gateway(problem(504, retry_after="0"))
    async with client_of(gateway) as client:
        with pytest.raises(PhotoRefused):
            await client.recognize(b"photo")
    assert len(gateway.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 405])
async def test_what_no_photo_can_mend_ends_it_at_once(status: int) -> None:
    gateway = Gateway(problem(status, "Send a key."))
    async with client_of(gateway) as client:
        with pytest.raises(GatewayUnusable, match=r"Send a key\."):
            await client.recognize(b"photo")
    assert len(gateway.requests) == 1


@pytest.mark.parametrize("obstacle", [problem(503, "Triton is away.", "0.02"), problem(502), broken])
async def test_a_gateway_that_stays_away_is_given_up(obstacle: Callable[[], httpx.Response]) -> None:
    async with client_of(Gateway(obstacle), patience=0.05) as client:
        with pytest.raises(GatewayUnusable):
            await client.recognize(b"photo")


async def test_a_rate_limit_is_obeyed_for_longer_than_patience_lasts() -> None:
    gateway = Gateway(*[problem(429, retry_after="0.02")] * 5, ok)
    async with client_of(gateway, patience=0.01) as client:
        assert await client.recognize(b"photo") == ANSWER


async def test_a_limit_that_ends_tomorrow_is_not_waited_for() -> None:
    async with client_of(Gateway(problem(429, "Come tomorrow.", "86400"))) as client:
        with pytest.raises(GatewayUnusable, match=r"Come tomorrow\."):
            await client.recognize(b"photo")


@pytest.mark.parametrize("answer", [httpx.Response(200, text="<html>"), httpx.Response(200, json=[1])])
async def test_something_else_than_a_gateway_is_told(answer: httpx.Response) -> None:
    async with client_of(Gateway(lambda: answer)) as client:
        with pytest.raises(GatewayUnusable, match="no plate gateway"):
            await client.recognize(b"photo")


async def test_an_error_without_a_detail_is_told_by_its_status() -> None:
    async with client_of(Gateway(lambda: httpx.Response(418, text="teapot"))) as client:
        with pytest.raises(PhotoRefused, match="418"):
            await client.recognize(b"photo")

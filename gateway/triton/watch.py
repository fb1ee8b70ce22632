"""Whether a server that says it lives works: its processes run, and requests that wait get their turn.

Both are told from outside, without a request of our own, so that a server under load isn't mistaken for one that hangs.
Counted in polls, not timed: those of a gateway that was itself stopped for a while don't add up.
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

import httpx

from gateway.triton import procfs

_POLL_SECONDS: Final = 2.0
_STOPPED_POLLS: Final = 5
"""A process hangs that was stopped at so many polls in a row: some 10 s."""
_STUCK_POLLS: Final = 10
"""A model hangs that has executed nothing between so many polls at each of which requests waited for it: some 20 s. The
longest execution, of a picture with hundreds of plates on a busy CPU, takes a few seconds."""

_METRIC: Final = re.compile(
    r'^nv_inference_(pending_request|exec)_count\{[^}]*\bmodel="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE
)


class _Progress(NamedTuple):
    """What a model has done, and what it has to do."""

    executions: float
    waiting: float


async def until_stopped(pids: Iterable[int]) -> str:
    """Return when one of these processes stays stopped (SIGSTOP and its like); the sentence says which."""
    polls: Counter[int] = Counter()
    while True:
        for pid in pids:
            if _is_stopped(pid):
                polls[pid] += 1
            else:
                del polls[pid]
            if polls[pid] == _STOPPED_POLLS:
                return f"process {pid}, which runs one of Triton's models, is stopped"
        await asyncio.sleep(_POLL_SECONDS)


async def until_stuck(client: httpx.AsyncClient, metrics: str) -> str:
    """Return when a model executes nothing any more although requests wait for it; the sentence says which.

    A request whose time is over leaves the queue as well: what counts is what a model has executed, be it with an
    error. Where several instances of a model run and one of them hangs, the others go on, and this doesn't return.

    Args:
        client: to ask with.
        metrics: URL of the server's metrics. When it doesn't answer, that is for others to judge.
    """
    polls: Counter[str] = Counter()
    executions: dict[str, float] = {}
    while True:
        for model, progress in (await _read(client, metrics)).items():
            if progress.executions != executions.get(model):
                executions[model] = progress.executions
                del polls[model]
            elif progress.waiting:
                polls[model] += 1
            if polls[model] == _STUCK_POLLS:
                return f"the model {model} executes none of the requests that wait for it"
        await asyncio.sleep(_POLL_SECONDS)


async def _read(client: httpx.AsyncClient, metrics: str) -> dict[str, _Progress]:
    """Return the progress of each model, summed over its instances and versions; nothing where there is no answer."""
    try:
        text = (await client.get(metrics)).text
    except httpx.HTTPError:
        return {}
    totals: defaultdict[tuple[str, str], float] = defaultdict(float)
    for kind, model, value in _METRIC.findall(text):
        totals[kind, model] += float(value)
    models = {model for _, model in totals}
    return {model: _Progress(totals["exec", model], totals["pending_request", model]) for model in models}


def _is_stopped(pid: int) -> bool:
    process = procfs.read(pid)
    return process is not None and process.state == "T"

"""Give up requests at random moments: `python -m benchmarks.cancel_storm -n 1000`.

A gateway in this process, before a Triton with the real networks, gets requests whose connections are closed while
they arrive, wait for a slot, are decoded or are answered. Exit status 0 says that afterwards every slot is free, Triton
knows no more memory than there are slots, no more files are open than before, and a picture is answered as before.
"""

import argparse
import asyncio
import time
from typing import Final

from benchmarks.survival.report import Check, conclude
from benchmarks.survival.storm import GIVEN_UP, Aftermath, storm
from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton

_FINE: Final = ("200", "429", "503", "504")


async def run(requests: int, seed: int) -> Aftermath:
    """Do it before a Triton of its own."""
    settings = Settings(triton_http_port=0, triton_grpc_port=0, triton_metrics_port=0)
    async with EmbeddedTriton(settings) as triton:
        return await storm(settings, triton.endpoint, requests, seed)


def judge(found: Aftermath) -> list[Check]:
    """Return what has to be so, and whether it is."""
    before, after = found.before, found.after
    answered = {end: count for end, count in found.ends.items() if end != GIVEN_UP}
    faults = {end: count for end, count in answered.items() if end not in _FINE}
    return [
        Check("requests given up", found.ends[GIVEN_UP], "some", found.ends[GIVEN_UP] > 0),
        Check("answered before", answered, ", ".join(_FINE), not faults),
        Check("free slots", after.free_slots, str(found.slots), after.free_slots == found.slots),
        Check("regions registered", after.regions, f"<= {found.slots}", after.regions <= found.slots),
        Check("open files", after.descriptors, f"<= {before.descriptors}", after.descriptors <= before.descriptors),
        Check("a picture is answered as before", found.same_answer, "True", found.same_answer),
    ]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    begin = time.monotonic()
    found = asyncio.run(run(arguments.requests, arguments.seed))
    return conclude(f"{arguments.requests} requests, {time.monotonic() - begin:.0f} s", judge(found))


if __name__ == "__main__":
    raise SystemExit(main())

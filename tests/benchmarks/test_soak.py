"""What the soak takes for growth."""

from collections.abc import Mapping
from multiprocessing import shared_memory

import psutil
import pytest

from benchmarks.soak import Sample, judge
from benchmarks.survival.clients import Outcome, Tally
from benchmarks.survival.gateway import resident_bytes, shared_resident_bytes

MIB = 2**20


def failed(samples: list[Sample]) -> set[str]:
    tally = Tally()
    tally.counts[Outcome.RIGHT] = samples[-1].requests
    return {check.name for check in judge(tally, samples, warm_up=10) if not check.passed}


def sample(requests: int, files: int = 3, touched: int = 50, grown: Mapping[str, float] = {}) -> Sample:
    sizes = {"gateway": 100.0, "triton": 40.0, "stubs": 700.0, "shared memory": 124.0, **grown}
    nbytes = {part: int(size * MIB) for part, size in sizes.items()}
    return Sample(requests, nbytes, {"triton": 40 * MIB}, touched * MIB, files)


def test_flat_memory_passes() -> None:
    assert not failed([sample(5, grown={"gateway": 60}), *(sample(10 * step) for step in range(1, 21))])


@pytest.mark.parametrize("part", ["gateway", "triton", "stubs", "shared memory"])
def test_a_part_that_grows_by_a_tenth_fails(part: str) -> None:
    begin = sample(0).nbytes[part] / MIB
    assert failed([sample(10 * step, grown={part: begin * (1 + step / 200)}) for step in range(1, 21)]) == {part}


def test_what_grew_by_touching_shared_memory_fails_and_is_told_apart() -> None:
    samples = [sample(10 * step, touched=50 + step, grown={"triton": 40 + step}) for step in range(1, 21)]
    found = {check.name: check for check in judge(Tally(), samples, warm_up=10)}
    assert not found["triton"].passed
    assert str(found["triton"].found).endswith("not shared 40.0 -> 40.0 MiB")
    assert found["shared by one process"].passed


def test_shared_memory_that_no_file_stands_for_fails() -> None:
    assert failed([sample(10 * step, touched=100 + 2 * step) for step in range(1, 21)]) == {"shared by one process"}


def test_a_file_more_fails() -> None:
    assert failed([sample(10), sample(20), sample(30, files=4)]) == {"files in /dev/shm"}


def test_a_touched_page_of_shared_memory_counts_as_shared() -> None:
    process = psutil.Process()
    region = shared_memory.SharedMemory(create=True, size=64 * MIB)
    try:
        shared, own = shared_resident_bytes(process), resident_bytes(process) - shared_resident_bytes(process)
        assert region.buf is not None
        region.buf[: 64 * MIB : 4096] = b"\1" * (64 * MIB // 4096)
        assert shared_resident_bytes(process) - shared == pytest.approx(64 * MIB, rel=0.05)
        assert resident_bytes(process) - shared_resident_bytes(process) == pytest.approx(own, abs=8 * MIB)
    finally:
        region.close()
        region.unlink()


def test_an_ended_process_has_none() -> None:
    child = psutil.Popen(["true"])
    child.wait()
    assert shared_resident_bytes(child) == 0

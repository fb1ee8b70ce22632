"""Which transport is taken, and why not another."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from gateway.errors import DeadlineExceeded, GatewayError, Unavailable
from gateway.settings import Settings
from gateway.triton import transports
from gateway.triton.cuda import CudaError, CudaMemory, Gpu
from gateway.triton.endpoint import Endpoint
from gateway.triton.errors import ConnectionLost, Refused
from gateway.triton.memory import Memory
from gateway.triton.system import SystemMemory
from gateway.triton.transports import Choice, Present, TransportError, choose
from tests.triton.cuda_stand_in import CudaStandIn

if TYPE_CHECKING:
    from gateway.triton.rpc import Rpc

SLOTS: Final = 3


class Server:
    """A Triton; what it is sent by each transport fails with the error given for that one."""

    def __init__(self, host: str = "127.0.0.1", **errors: Exception) -> None:
        self.endpoint = Endpoint(host, 1, 2, 3)
        self.errors = errors
        self.probed: list[str] = []

    async def probe(self, place: Memory | None) -> None:
        transport = "grpc" if place is None else place.transport
        self.probed.append(transport)
        if transport in self.errors:
            raise self.errors[transport]


async def chosen(server: Server, transport: str = "auto") -> transports.Choice:
    settings = Settings(transport=transport, slots=SLOTS)
    choice = await choose(settings, cast("Rpc", server), server.probe)
    for place in choice.memories:
        if place is not None:
            await place.close()
    return choice


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = CudaStandIn()
    monkeypatch.setattr(Gpu, "open", lambda device: Gpu(device, driver, driver))


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(device: int) -> Any:
        raise CudaError("there is no GPU 0: 0 found")

    monkeypatch.setattr(Gpu, "open", fail)


@pytest.mark.usefixtures("gpu")
async def test_the_fastest_is_taken_where_it_works(leftovers: Callable[[], set[str]]) -> None:
    server = Server()
    choice = await chosen(server)
    assert (choice.transport, choice.refused, server.probed) == ("cuda", {}, ["cuda"])
    assert [type(place) for place in choice.memories] == [CudaMemory] * SLOTS


@pytest.mark.usefixtures("no_gpu")
async def test_without_a_gpu_it_is_system_memory(leftovers: Callable[[], set[str]]) -> None:
    choice = await chosen(Server())
    assert (choice.transport, choice.refused) == ("system", {"cuda": "there is no GPU 0: 0 found"})
    assert [type(place) for place in choice.memories] == [SystemMemory] * SLOTS


@pytest.mark.usefixtures("gpu")
async def test_what_the_server_refuses_and_what_its_models_cannot_read_is_passed_over_with_the_reason(
    leftovers: Callable[[], set[str]],
) -> None:
    server = Server("triton.example", cuda=GatewayError("Triton could not process the image."), system=Refused("no"))
    choice = await chosen(server)
    assert (choice.transport, server.probed) == ("grpc", ["cuda", "system", "grpc"])
    assert choice.refused == {
        "cuda": "a picture sent by it fails: Triton could not process the image.",
        "system": "Triton on triton.example can't reach the memory here: no",
    }
    assert choice.memories == [None] * SLOTS


@pytest.mark.parametrize("forced", ["system", "grpc"])
async def test_a_forced_transport_is_the_only_one_tried(forced: str, leftovers: Callable[[], set[str]]) -> None:
    server = Server()
    assert (await chosen(server, forced)).transport == forced
    assert server.probed == [forced]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("forced", "reason"),
    [("cuda", "there is no GPU 0: 0 found"), ("system", "it asks for a key: set GATEWAY_TRITON_SHM_KEY")],
)
async def test_a_forced_transport_that_cannot_work_is_an_error_of_one_sentence(
    forced: str, reason: str, leftovers: Callable[[], set[str]]
) -> None:
    server = Server(system=Refused("it asks for a key: set GATEWAY_TRITON_SHM_KEY"))
    with pytest.raises(TransportError) as caught:
        await chosen(server, forced)
    assert str(caught.value) == f"GATEWAY_TRANSPORT={forced} can't be had: {reason}."


@pytest.mark.parametrize("error", [ConnectionLost(""), DeadlineExceeded(""), Unavailable("Triton has no memory left.")])
async def test_a_server_that_is_away_decides_nothing(error: GatewayError, leftovers: Callable[[], set[str]]) -> None:
    for forced in ("auto", "system"):
        with pytest.raises(type(error)):
            await chosen(Server(system=error), forced)


async def test_models_that_fail_whatever_the_transport_decide_nothing(leftovers: Callable[[], set[str]]) -> None:
    broken = GatewayError("Triton could not process the image.")
    with pytest.raises(GatewayError):
        await chosen(Server(system=broken, grpc=broken))


async def chosen_again(server: Server, former: Choice, error: Exception | None = None) -> Choice:
    """Choose after a reconnect; the former transport's own memory fails with the error, where one is given."""

    async def probe() -> None:
        server.probed.append(f"present {former.transport}")
        if error is not None:
            raise error

    choice = await choose(Settings(slots=SLOTS), cast("Rpc", server), server.probe, Present(former, probe))
    for place in choice.memories:
        if place is not None:
            await place.close()
    return choice


SYSTEM: Final = Choice("system", [None] * SLOTS, {"cuda": "there is no GPU 0: 0 found"})
GRPC: Final = Choice("grpc", [None] * SLOTS, {"cuda": "there is no GPU 0: 0 found", "system": "no"})


@pytest.mark.usefixtures("no_gpu")
async def test_the_present_transport_is_kept_with_its_memories_where_it_is_still_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = Server()
    choice = await chosen_again(server, SYSTEM)
    assert choice == SYSTEM
    assert choice.memories is SYSTEM.memories
    assert server.probed == ["present system"]
    assert not caplog.records  # nothing is new


@pytest.mark.usefixtures("gpu")
async def test_a_faster_transport_that_works_by_now_is_taken(leftovers: Callable[[], set[str]]) -> None:
    server = Server()
    choice = await chosen_again(server, GRPC)
    assert (choice.transport, choice.refused, server.probed) == ("cuda", {}, ["cuda"])
    assert [type(place) for place in choice.memories] == [CudaMemory] * SLOTS


@pytest.mark.usefixtures("no_gpu")
async def test_a_present_transport_that_is_refused_by_now_is_left_for_a_slower_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = Server()
    choice = await chosen_again(server, SYSTEM, Refused("not any more"))
    assert (choice.transport, server.probed) == ("grpc", ["present system", "grpc"])
    assert choice.refused == {"cuda": "there is no GPU 0: 0 found", "system": "not any more"}
    assert [record.getMessage() for record in caplog.records] == ["Transport system can't be had: not any more"]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("error", [ConnectionLost(""), DeadlineExceeded(""), Unavailable("All places are taken.")])
async def test_a_server_that_is_away_again_changes_nothing(error: GatewayError) -> None:
    with pytest.raises(type(error)):
        await chosen_again(Server(), SYSTEM, error)

"""The python-based backends `onnxruntime` and `pytorch`, on models of a few operations."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import numpy as np
import pytest
from tritonclient.grpc import InferInput, InferRequestedOutput
from tritonclient.grpc.aio import InferenceServerClient
from tritonclient.utils import InferenceServerException

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from tests.triton.support import FREE_PORTS, require_platform

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.torch

CONFIG = """
backend: "{backend}"
max_batch_size: 8
input [
  {{ name: "input__0" data_type: TYPE_INT64 dims: [ 1 ] }},
  {{ name: "input__1" data_type: TYPE_FP32 dims: [ 2 ] }}
]
output [
  {{ name: "output__0" data_type: TYPE_FP32 dims: [ 1 ] }},
  {{ name: "output__1" data_type: TYPE_FP32 dims: [ 2 ] }}
]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
dynamic_batching {{ max_queue_delay_microseconds: 300000 preferred_batch_size: [ 8 ] }}
"""
TABLE = [10.0, 20.0, 30.0]
"""Both models look up input__0 in this table (and fail outside it), and double input__1."""


class Lookup(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The model in PyTorch."""

    def forward(self, index, values):  # type: ignore[no-untyped-def]
        table = torch.tensor([10.0, 20.0, 30.0])
        return table[index], values + values


def write_onnx(path: Path) -> None:
    helper, kind = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input__0"], ["output__0"]),
            helper.make_node("Add", ["input__1", "input__1"], ["output__1"]),
        ],
        "lookup",
        [
            helper.make_tensor_value_info("input__0", kind.INT64, ["n", 1]),
            helper.make_tensor_value_info("input__1", kind.FLOAT, ["n", 2]),
        ],
        [
            helper.make_tensor_value_info("output__0", kind.FLOAT, ["n", 1]),
            helper.make_tensor_value_info("output__1", kind.FLOAT, ["n", 2]),
        ],
        [helper.make_tensor("table", kind.FLOAT, [3], TABLE)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)


@pytest.fixture(scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InferenceServerClient]:
    require_platform()
    repository = tmp_path_factory.mktemp("repository")
    for backend in ("onnxruntime", "pytorch"):
        version = repository / backend / "1"
        version.mkdir(parents=True)
        (version.parent / "config.pbtxt").write_text(CONFIG.format(backend=backend))
    write_onnx(repository / "onnxruntime" / "1" / "model.onnx")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # Triton takes TorchScript alone
        torch.jit.script(Lookup()).save(str(repository / "pytorch" / "1" / "model.pt"))
    settings = Settings(model_repository=repository, **FREE_PORTS)
    async with (
        EmbeddedTriton(settings, ["onnxruntime", "pytorch"]) as triton,
        InferenceServerClient(triton.endpoint.grpc_url) as client,
    ):
        yield client


async def ask(
    client: InferenceServerClient, model: str, indices: Iterable[int], outputs: list[str]
) -> list[list[list[float]]]:
    index = np.array([[index] for index in indices], np.int64)
    values = np.repeat(index.astype(np.float32), 2, axis=1)
    inputs = [
        InferInput("input__0", list(index.shape), "INT64").set_data_from_numpy(index),
        InferInput("input__1", list(values.shape), "FP32").set_data_from_numpy(values),
    ]
    result = await client.infer(model, inputs, outputs=[InferRequestedOutput(name) for name in outputs])
    assert {output.name for output in result.get_response().outputs} == set(outputs)
    return [result.as_numpy(name).tolist() for name in outputs]


async def runs(client: InferenceServerClient, model: str) -> int:
    statistics = await client.get_inference_statistics(model)
    count: int = statistics.model_stats[0].execution_count
    return count


@pytest.mark.parametrize("model", ["onnxruntime", "pytorch"])
async def test_requests_of_several_sizes_share_a_run_and_each_gets_its_own(
    client: InferenceServerClient, model: str
) -> None:
    before = await runs(client, model)
    questions = [
        ([0], ["output__0", "output__1"]),
        ([1, 2, 0], ["output__1", "output__0"]),
        ([2], ["output__0"]),
        ([1, 1, 1], ["output__1"]),
    ]
    answers = await asyncio.gather(*(ask(client, model, *question) for question in questions))
    assert answers == [
        [[[10.0]], [[0.0, 0.0]]],
        [[[2.0, 2.0], [4.0, 4.0], [0.0, 0.0]], [[20.0], [30.0], [10.0]]],
        [[[30.0]]],
        [[[2.0, 2.0]] * 3],
    ]
    assert await runs(client, model) == before + 1


@pytest.mark.parametrize("model", ["onnxruntime", "pytorch"])
async def test_a_request_that_fails_fails_alone(client: InferenceServerClient, model: str) -> None:
    before = await runs(client, model)
    answers = await asyncio.gather(
        *(ask(client, model, [index], ["output__0"]) for index in (0, 1, 2, 99, 2, 1, 0, 0)), return_exceptions=True
    )
    assert await runs(client, model) == before + 1
    failed = answers.pop(3)
    assert isinstance(failed, InferenceServerException)
    assert answers == [[[[TABLE[index]]]] for index in (0, 1, 2, 2, 1, 0, 0)]

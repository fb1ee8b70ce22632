"""What the tests with a real Triton share."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import cv2
import numpy as np
import psutil
import pytest

from gateway import images
from gateway.images import EncodedImage
from gateway.triton import installation, shm
from gateway.triton.client import TritonRecognizer
from gateway.triton.embedded import EmbeddedTritonError
from plates import contract
from plates.geometry import Image

FREE_PORTS: Final[dict[str, Any]] = {"triton_http_port": 0, "triton_grpc_port": 0, "triton_metrics_port": 0}

PATIENCE_SECONDS: Final = 30.0

STAND_IN: Final = dedent(
    """
    import json
    import time

    import numpy as np
    import triton_python_backend_utils as pb_utils


    class TritonPythonModel:
        '''Answers with zeros and the text X, after as many tenths of a second as the first value of its input says.'''

        def initialize(self, args):
            config = json.loads(args["model_config"])
            self.batched = config["max_batch_size"] > 0
            self.outputs = [
                (tensor["name"], [max(size, 1) for size in map(int, tensor["dims"])], tensor["data_type"])
                for tensor in config["output"]
            ]

        def execute(self, requests):
            return [self.answer(request) for request in requests]

        def answer(self, request):
            values = pb_utils.get_input_tensor_by_name(request, "input__0").as_numpy()
            time.sleep(float(values.ravel()[0]) / 10)
            tensors = []
            for name, shape, kind in self.outputs:
                dtype = pb_utils.triton_string_to_numpy(kind)
                shape = ([len(values)] if self.batched else []) + shape
                fill = b"X" if kind == "TYPE_STRING" else 0
                fill = {"formats": b"unknown", "regions": b"", "lines": 1}.get(name, fill)
                tensors.append(pb_utils.Tensor(name, np.full(shape, fill, dtype)))
            return pb_utils.InferenceResponse(tensors)
    """
)


def python_config(model: contract.Model) -> str:
    """A config.pbtxt for a Python model with the tensors of the contract."""

    def tensors(specs: tuple[contract.Tensor, ...]) -> str:
        kinds = [spec.datatype.replace("BYTES", "STRING") for spec in specs]
        return ",".join(
            f'{{ name: "{spec.name}" data_type: TYPE_{kind} dims: {list(spec.shape)} }}'
            for spec, kind in zip(specs, kinds, strict=True)
        )

    return (
        f'backend: "python"\nmax_batch_size: {model.max_batch_size}\n'
        f"input [{tensors(model.inputs)}]\noutput [{tensors(model.outputs)}]\n"
        "instance_group [{ kind: KIND_CPU count: 1 }]\n"
    )


def require_platform() -> None:
    """Skip where the embedded Triton can't run."""
    try:
        installation.find()
    except EmbeddedTritonError as error:
        pytest.skip(str(error))


def shared() -> set[str]:
    """Names of ours in /dev/shm: those of gateways that run beside the tests are left out."""
    inodes = {entry.name: entry.inode() for entry in os.scandir(shm.ROOT) if entry.name.startswith("plate-")}
    others = _locked_by_others()
    runs = tuple(f"{name}-" for name, inode in inodes.items() if inode in others)
    return {name for name, inode in inodes.items() if inode not in others and not name.startswith(runs)}


def _locked_by_others() -> set[int]:
    """Inodes of the files that living processes outside the tests' family have locked (proc(5), /proc/locks)."""
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    locks = (line.split() for line in Path("/proc/locks").read_text().splitlines() if " FLOCK " in line)
    held = {int(fields[5].rpartition(":")[2]): int(fields[4]) for fields in locks if fields[1] == "FLOCK"}
    return {inode for inode, pid in held.items() if pid not in ours and psutil.pid_exists(pid)}


def encoded(pixels: Image) -> EncodedImage:
    """An upload of these pixels, without loss."""
    return images.inspect(cv2.imencode(".png", pixels)[1].tobytes(), max_pixels=10**8)


def grey(value: int, height: int = 48, width: int = 64) -> EncodedImage:
    """An upload of one colour."""
    return encoded(np.full((height, width, 3), value, np.uint8))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def until_ready(client: TritonRecognizer) -> None:
    """Wait until the client is ready."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (state := await client.readiness()).ready:
        assert time.monotonic() < deadline, state.detail
        await asyncio.sleep(0.02)

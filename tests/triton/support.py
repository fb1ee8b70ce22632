"""What the tests with a real Triton share."""

import asyncio
import os
import re
import shutil
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
from gateway.triton.embedded import REPOSITORY, EmbeddedTritonError
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


DETECTOR: Final = dedent(
    """
    import pathlib
    import time

    import numpy as np
    import triton_python_backend_utils as pb_utils


    class TritonPythonModel:
        '''Finds a level plate in the middle, after as many tenths of a second as the image's middle value says.'''

        def initialize(self, args):
            self.begun = pathlib.Path(args["model_repository"], "begun")

        def execute(self, requests):
            responses = []
            for request in requests:
                image = pb_utils.get_input_tensor_by_name(request, "input__0").as_numpy()
                _, height, width, _ = image.shape
                tenths = int(image[0, height // 2, width // 2, 0])
                with self.begun.open("a") as file:
                    file.write("*")
                time.sleep(tenths / 10)
                row = np.array([[[width / 2, height / 2, 60, 13, 1, 1]]], np.float32)
                responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("output__0", row)]))
            return responses
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


def write_stand_ins(repository: Path, code: str) -> None:
    """Fill a folder with models that have the contract's names and tensors, all of them the same program."""
    for model in contract.MODELS:
        folder = repository / model.name
        (folder / "1").mkdir(parents=True)
        (folder / "1" / "model.py").write_text(code)
        (folder / "config.pbtxt").write_text(python_config(model))


def real_recognition(repository: Path) -> None:
    """Fill a folder with the real `plate_recognition` before stand-ins for the networks, with their real queues.

    The detector's one appends a `*` to its file `begun` for each request; the others answer at once.
    """
    quick = STAND_IN.replace("time.sleep(float(values.ravel()[0]) / 10)", "")
    for model in contract.MODELS:
        folder = repository / model.name
        if model is contract.PLATE_RECOGNITION:
            shutil.copytree(REPOSITORY / model.name, folder)
            continue
        (folder / "1").mkdir(parents=True)
        (folder / "1" / "model.py").write_text(DETECTOR if model is contract.YOLO_NET else quick)
        (folder / "config.pbtxt").write_text(python_config(model) + (_queue(model) if model.max_batch_size else ""))


def _queue(model: contract.Model) -> str:
    """What a network's own configuration says about its queue."""
    config = (REPOSITORY / model.name / "configs" / "cpu.pbtxt").read_text()
    found = re.search(r"^dynamic_batching \{.*?^\}$", config, re.MULTILINE | re.DOTALL)
    assert found, config
    return found[0]


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


def lives(process: psutil.Process) -> bool:
    """Whether a process still works; one that only waits for init to take note of its end doesn't."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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

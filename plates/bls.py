"""What the Python models of the repository share: requests in, sub-requests to the networks, responses out.

The one file of the kernel that knows Triton. It is imported inside Triton's Python backend, which brings
`triton_python_backend_utils`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import cv2
import numpy as np
import triton_python_backend_utils as pb_utils
from numpy.typing import NDArray

from plates import contract, deadline, geometry
from plates.geometry import Floats
from plates.pipeline import Array, Geometry, Options, overrides

_DTYPES: Final[dict[str, tuple[type[np.generic], object]]] = {
    "FP32": (np.float32, 0.0),
    "INT32": (np.int32, 0),
    "BYTES": (np.object_, ""),
}
"""How numpy holds each data type of the outputs, and what an empty place holds."""


def options(model_config: str) -> Options:
    """Return the options that a model's configuration (JSON, as Triton passes it to `initialize`) sets.

    Variables of the server's environment come before it: PLATES_INPUT_SIZE before the parameter input_size.

    Raises:
        ValueError: a value is not a number, or a variable names no option.
    """
    parameters = json.loads(model_config)["parameters"]
    configured = {name: value["string_value"] for name, value in parameters.items()}
    return Options.from_parameters(configured | overrides(os.environ))


class Networks:
    """The networks behind a Python model as functions on arrays, where the model's instance works.

    An instance on a GPU (`KIND_GPU`) with PyTorch keeps the image, what is cut out of it and what the networks make of
    it in the GPU's memory; any other one works in host memory.

    Attributes:
        geometry: the operations for the arrays that `image` returns and the networks take.
    """

    geometry: Geometry

    def __init__(self, args: Mapping[str, str]) -> None:
        """Choose by what Triton passes to `initialize`."""
        # Instances bring the concurrency: OpenCV's own threads would spin on the cores that the others work on.
        cv2.setNumThreads(1)
        self._device: int | None = None
        self.geometry = geometry
        if args["model_instance_kind"] != "GPU":
            return
        try:
            from plates import torch_geometry
        except ImportError:
            pb_utils.Logger.log_warn("no PyTorch in Triton's Python: images are worked on by the CPU")
        else:
            self._device = int(args["model_instance_device_id"])
            self.geometry = torch_geometry

    def image(self, request: pb_utils.InferenceRequest) -> Array:
        """Return the image of a request, (h, w, 3) uint8, BGR.

        Raises:
            ValueError: it has no pixels, or lies in a GPU's memory that can't be read here.
        """
        tensor = pb_utils.get_input_tensor_by_name(request, contract.IMAGE.name)
        if self._device is not None:
            image = _torch(tensor).to(f"cuda:{self._device}")
        elif tensor.is_cpu():
            image = tensor.as_numpy()
        else:
            raise ValueError("an image in a GPU's memory needs PyTorch in Triton's Python")
        if 0 in image.shape:
            raise ValueError("the image has no pixels")
        return image

    def detector(self, image: Array) -> Array:
        """Run yolo_net on a letterboxed image; a `pipeline.DetectorNet`."""
        rows = self._run(contract.YOLO_NET, image, self._device)
        return rows.as_numpy() if self._device is None else _torch(rows)

    def reader(self, crops: Array) -> Floats:
        """Run stn, then lprnet on what it gives back, without a copy in between; a `pipeline.ReaderNet`."""
        straightened = self._run(contract.STN, crops, self._device)
        logits: Floats = self._run(contract.LPRNET, straightened, None).as_numpy()
        return logits

    def output(self, spec: contract.Tensor, array: Array) -> pb_utils.Tensor:
        """Make an output of an array, where it lies."""
        return _tensor(spec.name, array)

    def _run(self, model: contract.Model, value: Array | pb_utils.Tensor, device: int | None) -> pb_utils.Tensor:
        """Send one tensor to a model with one output, and return that output.

        Args:
            model: the network.
            value: an array, or another network's output.
            device: GPU in whose memory the output is wanted, None for host memory.

        Raises:
            Abandoned: nobody waits for the answer any more.
            pb_utils.TritonModelException: the model answered with an error.
        """
        (spec,), (output,) = model.inputs, model.outputs
        memory = pb_utils.TRITONSERVER_MEMORY_CPU if device is None else pb_utils.TRITONSERVER_MEMORY_GPU
        response = pb_utils.InferenceRequest(
            model_name=model.name,
            inputs=[_tensor(spec.name, value)],
            requested_output_names=[output.name],
            preferred_memory=pb_utils.PreferredMemory(memory, device or 0),
            timeout=deadline.remaining(),
        ).exec()
        if response.has_error():
            deadline.remaining()  # where its time is over, the network's queue may have refused it for that
            raise pb_utils.TritonModelException(f"{model.name}: {response.error().message()}")
        return response.output_tensors()[0]


def respond(
    requests: Sequence[pb_utils.InferenceRequest],
    answer: Callable[[pb_utils.InferenceRequest], Sequence[pb_utils.Tensor]],
) -> list[pb_utils.InferenceResponse]:
    """Answer each request; one that fails gets an error of its own and leaves the others alone."""
    return [_respond(request, answer) for request in requests]


def _respond(
    request: pb_utils.InferenceRequest, answer: Callable[[pb_utils.InferenceRequest], Sequence[pb_utils.Tensor]]
) -> pb_utils.InferenceResponse:
    try:
        with deadline.answering(request):
            deadline.remaining()
            return pb_utils.InferenceResponse(output_tensors=list(answer(request)))
    except deadline.Abandoned as error:
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.CANCELLED))
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to this request
        pb_utils.Logger.log_error(f"request failed: {error!r}")
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))


def column(spec: contract.Tensor, rows: Sequence[object] | NDArray[np.generic]) -> pb_utils.Tensor:
    """Make an output of one row per plate, `spec.shape[1:]` values each; there may be no rows.

    Shorter rows are filled up: with zeros, texts with empty ones.
    """
    dtype, fill = _DTYPES[spec.datatype]
    array = np.full((len(rows), *spec.shape[1:]), fill, dtype)
    for values, row in zip(array, rows, strict=True):
        flat = np.ravel(np.asarray(row, dtype))
        values.reshape(-1)[: flat.size] = flat
    return pb_utils.Tensor(spec.name, array)


def _tensor(name: str, value: Array | pb_utils.Tensor) -> pb_utils.Tensor:
    """Make a tensor of an array or of another tensor, without a copy."""
    if isinstance(value, np.ndarray):
        return pb_utils.Tensor(name, value)
    if isinstance(value, pb_utils.Tensor):
        return pb_utils.Tensor.from_dlpack(name, value.to_dlpack())
    if value.is_cuda:
        import torch

        # Triton reads the memory on a stream of its own: what PyTorch still computes into it has to be done.
        torch.cuda.current_stream(value.device).synchronize()
    return pb_utils.Tensor.from_dlpack(name, value.contiguous().__dlpack__())


def _torch(tensor: pb_utils.Tensor) -> Array:
    """Return a tensor as one of PyTorch's, without a copy."""
    from torch.utils.dlpack import from_dlpack

    return from_dlpack(tensor.to_dlpack())

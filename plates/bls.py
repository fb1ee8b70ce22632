"""What the Python models of the repository share: requests in, sub-requests to the networks, responses out.

The one file of the kernel that knows Triton. It is imported inside Triton's Python backend, which brings
`triton_python_backend_utils`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import triton_python_backend_utils as pb_utils
from numpy.typing import NDArray

from plates import contract
from plates.geometry import Floats, Image
from plates.pipeline import Options


def options(model_config: str) -> Options:
    """Return the options that a model's configuration (JSON, as Triton passes it to `initialize`) sets."""
    parameters = json.loads(model_config)["parameters"]
    return Options.from_parameters({name: value["string_value"] for name, value in parameters.items()})


def respond(
    requests: Sequence[pb_utils.InferenceRequest], answer: Callable[[Image], Sequence[pb_utils.Tensor]]
) -> list[pb_utils.InferenceResponse]:
    """Answer each request from its image; one that fails gets an error of its own and leaves the others alone."""
    return [_respond(request, answer) for request in requests]


def _respond(
    request: pb_utils.InferenceRequest, answer: Callable[[Image], Sequence[pb_utils.Tensor]]
) -> pb_utils.InferenceResponse:
    try:
        image = pb_utils.get_input_tensor_by_name(request, contract.IMAGE.name).as_numpy()
        if image.size == 0:
            raise ValueError("the image has no pixels")
        return pb_utils.InferenceResponse(output_tensors=list(answer(image)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to this request
        pb_utils.Logger.log_error(f"request failed: {error!r}")
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))


def detector(image: NDArray[np.uint8]) -> Floats:
    """Run yolo_net on a letterboxed image; a `pipeline.DetectorNet`."""
    return _numpy(_run(contract.YOLO_NET, pb_utils.Tensor(contract.YOLO_NET.inputs[0].name, image)))


def reader(crops: Floats) -> Floats:
    """Run stn, then lprnet on what it gives back, without a copy in between; a `pipeline.ReaderNet`."""
    straightened = _run(contract.STN, pb_utils.Tensor(contract.STN.inputs[0].name, crops))
    renamed = pb_utils.Tensor.from_dlpack(contract.LPRNET.inputs[0].name, straightened.to_dlpack())
    return _numpy(_run(contract.LPRNET, renamed))


def column(tensor: contract.Tensor, values: Sequence[object] | Floats) -> pb_utils.Tensor:
    """Make an output (n, 1) of one value per plate; n may be 0."""
    dtype = np.object_ if tensor.datatype == "BYTES" else np.float32
    return pb_utils.Tensor(tensor.name, np.asarray(values, dtype).reshape(-1, 1))


def _run(model: contract.Model, tensor: pb_utils.Tensor) -> pb_utils.Tensor:
    """Send one tensor to a model with one output and return that output, in host memory.

    Raises:
        pb_utils.TritonModelException: the model answered with an error.
    """
    (output,) = model.outputs
    response = pb_utils.InferenceRequest(
        model_name=model.name,
        inputs=[tensor],
        requested_output_names=[output.name],
        # A native GPU model would answer in GPU memory, which numpy can't read.
        preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0),
    ).exec()
    if response.has_error():
        raise pb_utils.TritonModelException(f"{model.name}: {response.error().message()}")
    return response.output_tensors()[0]


def _numpy(tensor: pb_utils.Tensor) -> Floats:
    array: Floats = tensor.as_numpy()
    return array

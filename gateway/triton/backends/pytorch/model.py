"""Triton's `pytorch` backend as a python-based backend, for a tritonserver that comes without the native one.

It reads the same config.pbtxt: TorchScript in `1/model.pt` (or `default_model_filename`), tensors named NAME__INDEX by
their position in the call, and the parameters `INTRA_OP_THREAD_COUNT` and `INTER_OP_THREAD_COUNT` (here 1 by default:
Triton brings the concurrency). Tensors stay on the device of the instance.
"""

import json
from pathlib import Path
from typing import Any

import torch
import triton_python_backend_utils as pb_utils
from torch.utils.dlpack import from_dlpack, to_dlpack  # type: ignore[attr-defined]


class TritonPythonModel:
    """One instance of one TorchScript model."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model that the configuration names onto the instance's device."""
        config = json.loads(args["model_config"])
        parameters = {name: value["string_value"] for name, value in config.get("parameters", {}).items()}
        torch.set_num_threads(int(parameters.get("INTRA_OP_THREAD_COUNT", 1)))
        torch.set_num_interop_threads(int(parameters.get("INTER_OP_THREAD_COUNT", 1)))
        on_gpu = args["model_instance_kind"] == "GPU"
        self.device = torch.device(f"cuda:{args['model_instance_device_id']}" if on_gpu else "cpu")
        folder = Path(args["model_repository"]) / args["model_version"]
        file = folder / (config.get("default_model_filename") or "model.pt")
        self.model = torch.jit.load(str(file), map_location=self.device).eval()  # type: ignore[no-untyped-call]
        self.inputs = sorted((tensor["name"] for tensor in config["input"]), key=_position)
        self.outputs = sorted((tensor["name"] for tensor in config["output"]), key=_position)

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer a batch of requests with one run; where that fails, run each alone so that only the bad one fails."""
        try:
            return self._run(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes the answer of its request
            if len(requests) == 1:
                return [pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))]
            return [response for request in requests for response in self.execute([request])]

    def _run(self, requests: list[Any]) -> list[Any]:
        parts = [[self._tensor(request, name) for request in requests] for name in self.inputs]
        with torch.inference_mode():
            # A lone request is read where it lies.
            results = self.model(*(tensors[0] if len(tensors) == 1 else torch.cat(tensors) for tensors in parts))
        results = results if isinstance(results, (tuple, list)) else (results,)
        if len(requests) == 1:
            return [self._response(requests[0], results)]
        sizes = [len(tensor) for tensor in parts[0]]
        shares = zip(*(result.split(sizes) for result in results), strict=True)
        return [self._response(request, share) for request, share in zip(requests, shares, strict=True)]

    def _tensor(self, request: Any, name: str) -> torch.Tensor:
        tensor = pb_utils.get_input_tensor_by_name(request, name)
        return from_dlpack(tensor.to_dlpack()).to(self.device, non_blocking=True)

    def _response(self, request: Any, results: Any) -> Any:
        named = dict(zip(self.outputs, results, strict=True))
        return pb_utils.InferenceResponse(
            [
                pb_utils.Tensor.from_dlpack(name, to_dlpack(named[name].contiguous()))
                for name in request.requested_output_names()
            ]
        )


def _position(name: str) -> int:
    return int(name.rpartition("__")[2])

"""Triton's `onnxruntime` backend as a python-based backend, for a tritonserver that comes without the native one.

It reads the same config.pbtxt: `1/model.onnx` (or `default_model_filename`), tensors named as in the graph, and the
parameters `intra_op_thread_count` and `inter_op_thread_count` (here 1 by default: Triton brings the concurrency).
It runs on the CPU.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """One instance of one ONNX model."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the model that the configuration names."""
        config = json.loads(args["model_config"])
        parameters = {name: value["string_value"] for name, value in config.get("parameters", {}).items()}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(parameters.get("intra_op_thread_count", 1))
        options.inter_op_num_threads = int(parameters.get("inter_op_thread_count", 1))
        folder = Path(args["model_repository"]) / args["model_version"]
        self.session = onnxruntime.InferenceSession(
            folder / (config.get("default_model_filename") or "model.onnx"),
            options,
            providers=["CPUExecutionProvider"],
        )
        self.inputs = [tensor["name"] for tensor in config["input"]]

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer a batch of requests with one run; where that fails, run each alone so that only the bad one fails."""
        try:
            return self._run(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes the answer of its request
            if len(requests) == 1:
                return [pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))]
            return [response for request in requests for response in self.execute([request])]

    def _run(self, requests: list[Any]) -> list[Any]:
        parts = {
            name: [pb_utils.get_input_tensor_by_name(request, name).as_numpy() for request in requests]
            for name in self.inputs
        }
        # A lone request is read where it lies.
        feed = {name: arrays[0] if len(arrays) == 1 else np.concatenate(arrays) for name, arrays in parts.items()}
        wanted = sorted({name for request in requests for name in request.requested_output_names()})
        results = dict(zip(wanted, self.session.run(wanted, feed), strict=True))
        if len(requests) == 1:
            return [self._response(requests[0], results)]
        ends = np.cumsum([len(array) for array in parts[self.inputs[0]]])
        split = {name: np.split(result, ends[:-1]) for name, result in results.items()}
        return [
            self._response(request, {name: split[name][index] for name in wanted})
            for index, request in enumerate(requests)
        ]

    @staticmethod
    def _response(request: Any, arrays: dict[str, Any]) -> Any:
        tensors = [pb_utils.Tensor(name, arrays[name]) for name in request.requested_output_names()]
        return pb_utils.InferenceResponse(tensors)

"""Detection alone: crops for the reader, boxes, scores. The algorithm is plates.pipeline.detect."""

from __future__ import annotations

from collections.abc import Sequence

import triton_python_backend_utils as pb_utils

from plates import bls, contract, pipeline

_CROPS, _BOXES, _SCORES = contract.YOLO.outputs


class TritonPythonModel:
    """`yolo` as Triton's Python backend runs it."""

    def initialize(self, args: dict[str, str]) -> None:
        """Read the options of config.pbtxt and choose where to work."""
        self._options = bls.options(args["model_config"])
        self._networks = bls.Networks(args)

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """Answer each request; see contract.YOLO."""
        return bls.respond(requests, self._answer)

    def _answer(self, request: pb_utils.InferenceRequest) -> list[pb_utils.Tensor]:
        networks = self._networks
        image = networks.image(request)
        found = pipeline.detect(image, networks.detector, self._options, networks.geometry)
        return [
            networks.output(_CROPS, networks.geometry.crop(image, found.boxes)),
            networks.output(_BOXES, found.boxes),
            bls.column(_SCORES, found.scores),
        ]

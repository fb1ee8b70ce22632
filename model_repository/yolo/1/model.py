"""Detection alone: crops for the reader, boxes, scores. The algorithm is plates.pipeline.detect."""

from __future__ import annotations

from collections.abc import Sequence

import triton_python_backend_utils as pb_utils

from plates import bls, contract, geometry, pipeline
from plates.geometry import Image

_CROPS, _BOXES, _SCORES = contract.YOLO.outputs


class TritonPythonModel:
    """`yolo` as Triton's Python backend runs it."""

    def initialize(self, args: dict[str, str]) -> None:
        """Read the options of config.pbtxt."""
        self._options = bls.options(args["model_config"])

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """Answer each request; see contract.YOLO."""
        return bls.respond(requests, self._answer)

    def _answer(self, image: Image) -> list[pb_utils.Tensor]:
        found = pipeline.detect(image, bls.detector, self._options)
        return [
            pb_utils.Tensor(_CROPS.name, geometry.crop(image, found.boxes)),
            pb_utils.Tensor(_BOXES.name, found.boxes),
            bls.column(_SCORES, found.scores),
        ]

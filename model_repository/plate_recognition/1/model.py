"""The whole job on one image: detection, straightening, reading. The algorithm is plates.pipeline.recognize."""

from __future__ import annotations

from collections.abc import Sequence

import triton_python_backend_utils as pb_utils

from plates import bls, contract, pipeline
from plates.geometry import Image


class TritonPythonModel:
    """`plate_recognition` as Triton's Python backend runs it."""

    def initialize(self, args: dict[str, str]) -> None:
        """Read the options of config.pbtxt."""
        self._options = bls.options(args["model_config"])

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """Answer each request; see contract.PLATE_RECOGNITION."""
        return bls.respond(requests, self._answer)

    def _answer(self, image: Image) -> list[pb_utils.Tensor]:
        readings = pipeline.recognize(image, bls.detector, bls.reader, self._options)
        return [
            pb_utils.Tensor(contract.COORDINATES.name, readings.detections.boxes),
            bls.column(contract.TEXTS, readings.texts),
            bls.column(contract.DETECTION_SCORES, readings.detections.scores),
            bls.column(contract.TEXT_SCORES, readings.scores),
        ]

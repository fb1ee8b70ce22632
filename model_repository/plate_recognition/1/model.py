"""The whole job on one image: detection, straightening, reading. The algorithm is plates.pipeline.recognize."""

from __future__ import annotations

from collections.abc import Sequence

import triton_python_backend_utils as pb_utils

from plates import bls, contract, grammar, pipeline


class TritonPythonModel:
    """`plate_recognition` as Triton's Python backend runs it."""

    def initialize(self, args: dict[str, str]) -> None:
        """Read the options of config.pbtxt and choose where to work."""
        self._options = bls.options(args["model_config"])
        self._networks = bls.Networks(args)
        grammar.build()  # kept; the first plate would wait for it

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """Answer each request; see contract.PLATE_RECOGNITION."""
        return bls.respond(requests, self._answer)

    def _answer(self, request: pb_utils.InferenceRequest) -> list[pb_utils.Tensor]:
        networks = self._networks
        image = networks.image(request)
        found = pipeline.recognize(image, networks.detector, networks.reader, self._options, networks.geometry)
        readings = found.readings
        candidates = [reading.candidates for reading in readings]
        return [
            bls.column(contract.COORDINATES, found.detections.boxes),
            bls.column(contract.TEXTS, found.texts),
            bls.column(contract.DETECTION_SCORES, found.detections.scores),
            bls.column(contract.TEXT_SCORES, found.scores),
            bls.column(contract.CHARACTER_SCORES, [reading.character_scores for reading in readings]),
            bls.column(contract.CANDIDATE_TEXTS, [[candidate.text for candidate in row] for row in candidates]),
            bls.column(contract.CANDIDATE_SCORES, [[candidate.score for candidate in row] for row in candidates]),
            bls.column(contract.FORMATS, [reading.format.value for reading in readings]),
            bls.column(contract.REGIONS, [reading.region for reading in readings]),
            bls.column(contract.LINES, [reading.lines for reading in readings]),
            pb_utils.Tensor(contract.MILLISECONDS.name, found.milliseconds),
        ]

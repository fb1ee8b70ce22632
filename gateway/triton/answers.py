"""From the tensors of Triton's answers to what the routes return."""

from dataclasses import replace
from typing import Final

from tritonclient.grpc import InferResult

from gateway.recognizer import Box, Candidate, Detection, Plate
from plates import contract

DETECTION: Final = replace(contract.YOLO, outputs=contract.YOLO.outputs[1:])
"""`yolo` without its crops: up to 8 MB that nobody here looks at."""


def stages(result: InferResult) -> dict[str, float]:
    """Return the milliseconds of each stage inside `plate_recognition`."""
    return dict(zip(contract.STAGES, result.as_numpy(contract.MILLISECONDS.name).tolist(), strict=True))


def plates(result: InferResult) -> list[Plate]:
    """Return the plates of an answer of `plate_recognition`, best score first, equal ones from left to right."""
    columns = [
        result.as_numpy(tensor.name).tolist()
        for tensor in contract.PLATE_RECOGNITION.outputs
        if tensor is not contract.MILLISECONDS
    ]
    found = [_plate(*row) for row in zip(*columns, strict=True)]
    return sorted(found, key=lambda plate: (-plate.score, plate.box.x_min))


def detections(result: InferResult) -> list[Detection]:
    """Return the plates of an answer of `DETECTION`, best score first, equal ones from left to right."""
    boxes, scores = (result.as_numpy(tensor.name).tolist() for tensor in DETECTION.outputs)
    found = [Detection(Box(*box), score) for box, (score,) in zip(boxes, scores, strict=True)]
    return sorted(found, key=lambda plate: (-plate.score, plate.box.x_min))


def _plate(
    box: list[float],
    text: list[bytes],
    detection_score: list[float],
    text_score: list[float],
    character_scores: list[float],
    candidates: list[bytes],
    candidate_scores: list[float],
    kind: list[bytes],
    region: list[bytes],
    lines: list[int],
) -> Plate:
    """Make a plate of its row in each output of `contract.PLATE_RECOGNITION`, in the order of the contract."""
    texts = [candidate.decode() for candidate in candidates if candidate]
    return Plate(
        Box(*box),
        text[0].decode(),
        text_score[0],
        detection_score[0],
        tuple(character_scores[: len(texts[0])] if texts else ()),
        tuple(Candidate(*pair) for pair in zip(texts, candidate_scores, strict=False)),
        kind[0].decode(),
        region[0].decode(),
        lines[0],
    )

"""Names, dtypes and shapes of the Triton models: the contract between gateway, model repository and networks.

Every config.pbtxt of the model repository is tested against this file, and so is the metadata of a running server.
Shapes are without the batch dimension; -1 is any size. Images are BGR, rows first.
"""

from dataclasses import dataclass
from typing import Final, Literal

from plates import alphabet

DataType = Literal["BOOL", "UINT8", "INT32", "FP32", "BYTES"]
"""Data types as Triton's clients spell them (a config.pbtxt writes TYPE_STRING for BYTES)."""

CROP_HEIGHT: Final = 24
CROP_WIDTH: Final = 94
"""Pixels of a plate as the reader sees it."""

TIME_STEPS: Final = 18
"""Steps of the reader's output along the plate, left to right; no text is longer."""

CANDIDATES: Final = 10
"""Texts that are given for each plate, most probable first."""

STAGES: Final = ("detect", "read")
"""What the time inside the BLS model is counted for."""

READER_BATCH: Final = 32
"""Plates that stn and lprnet take in one request."""

DETECTOR_BATCH: Final = 8
"""Images that yolo_net takes in one request."""

STRIDE: Final = 32
"""Height and width of a letterboxed image are multiples of this."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output of a model, without the batch dimension."""

    name: str
    datatype: DataType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the repository; `max_batch_size` 0 means that its tensors have no batch dimension."""

    name: str
    max_batch_size: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


IMAGE: Final = Tensor("input__0", "UINT8", (-1, -1, 3))
"""A BGR image of any size."""

COORDINATES: Final = Tensor("coordinates", "FP32", (-1, 4))
"""x_min, y_min, x_max, y_max of each plate, in pixels of the input image."""

TEXTS: Final = Tensor("texts", "BYTES", (-1, 1))
"""Latin text of each plate, UTF-8; empty where the plate can't be read."""

DETECTION_SCORES: Final = Tensor("detection_scores", "FP32", (-1, 1))
"""How sure the detector is that this is a plate, 0 to 1."""

TEXT_SCORES: Final = Tensor("text_scores", "FP32", (-1, 1))
"""Calibrated probability of the text, 0 to 1; of the best candidate where `texts` is empty."""

CHARACTER_SCORES: Final = Tensor("character_scores", "FP32", (-1, TIME_STEPS))
"""Probability of each character of the best candidate, 0 to 1; zeros after its end."""

CANDIDATE_TEXTS: Final = Tensor("candidates", "BYTES", (-1, CANDIDATES))
"""What the plate may say, most probable first; empty where there are fewer."""

CANDIDATE_SCORES: Final = Tensor("candidate_scores", "FP32", (-1, CANDIDATES))
"""Calibrated probability of each candidate; zero where there are fewer."""

FORMATS: Final = Tensor("formats", "BYTES", (-1, 1))
"""Type of each plate: a value of `plates.formats.Format`."""

REGIONS: Final = Tensor("regions", "BYTES", (-1, 1))
"""Region code in the best candidate; empty where it holds none."""

LINES: Final = Tensor("lines", "INT32", (-1, 1))
"""Lines of text on the plate: 1 or 2."""

MILLISECONDS: Final = Tensor("milliseconds", "FP32", (len(STAGES),))
"""Time that each of `STAGES` took."""

_CROP: Final = (3, CROP_HEIGHT, CROP_WIDTH)

PLATE_RECOGNITION: Final = Model(
    "plate_recognition",
    0,
    (IMAGE,),
    (
        COORDINATES,
        TEXTS,
        DETECTION_SCORES,
        TEXT_SCORES,
        CHARACTER_SCORES,
        CANDIDATE_TEXTS,
        CANDIDATE_SCORES,
        FORMATS,
        REGIONS,
        LINES,
        MILLISECONDS,
    ),
)
"""The whole job: detection, straightening, reading (BLS)."""

YOLO: Final = Model(
    "yolo",
    0,
    (IMAGE,),
    (
        Tensor("output__0", "FP32", (-1, *_CROP)),
        Tensor("output__1", "FP32", (-1, 4)),
        Tensor("output__2", "FP32", (-1, 1)),
    ),
)
"""Detection alone: normalised crops, boxes in pixels of the input image, scores."""

YOLO_NET: Final = Model(
    "yolo_net",
    DETECTOR_BATCH,
    (IMAGE,),
    (Tensor("output__0", "FP32", (-1, 6)),),
)
"""The detector's network: a letterboxed image -> rows of x_centre, y_centre, width, height (pixels of that image),
objectness and class probability, one row per anchor box, before non-maximum suppression."""

STN: Final = Model("stn", READER_BATCH, (Tensor("input__0", "FP32", _CROP),), (Tensor("output__0", "FP32", _CROP),))
"""Straightens normalised crops."""

LPRNET: Final = Model(
    "lprnet",
    READER_BATCH,
    (Tensor("input__0", "FP32", _CROP),),
    (Tensor("output__0", "FP32", (alphabet.CLASSES, TIME_STEPS)),),
)
"""Reads straightened crops: logits of each class at each time step."""

MODELS: Final = (PLATE_RECOGNITION, YOLO, YOLO_NET, STN, LPRNET)

from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from nets import evaluate_detector
from nets.data import index
from nets.data.index import LabelledImage, LabelledPlate
from nets.yolov5 import YOLOv5
from plates.geometry import Floats, Image

pytestmark = pytest.mark.torch


@pytest.fixture
def scene(tmp_path: Path) -> LabelledImage:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.zeros((320, 640, 3), np.uint8))
    plate = LabelledPlate((100, 100, 200, 120), None, "A123BC77", "standard")
    return LabelledImage(path, "scene", "drawn", index.HELD_OUT_FOLD, True, 640, 320, (plate,))


def test_plates_are_counted_from_each_threshold_on(scene: LabelledImage, monkeypatch: pytest.MonkeyPatch) -> None:
    def detector(images: Image) -> Floats:
        return np.array([[(150, 110, 100, 20, 0.5, 1), (400, 50, 80, 20, 0.25, 1)]], np.float32)

    monkeypatch.setattr(evaluate_detector, "as_detector", lambda network: detector)
    reports = evaluate_detector.evaluate(YOLOv5(), [scene], (0.2, 0.4, 0.6))
    assert [report.everything.recall for report in reports.values()] == [1, 1, 0]
    assert [report.judged for report in reports.values()] == [2, 1, 0]
    assert reports[0.2].precision == 0.5
    assert "score >= 0.40: recall 1.000" in evaluate_detector.summary(reports)


def test_evaluating_leaves_the_network_as_it_is() -> None:
    network = YOLOv5().train()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    rows = evaluate_detector.as_detector(network)(np.zeros((1, 64, 96, 3), np.uint8))
    assert rows.shape[2] == 6
    assert network.training
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])


def test_without_the_photos_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(index, "available", lambda: False)
    assert evaluate_detector.main([]) == 1
    assert "the labelled photos are not at" in capsys.readouterr().err

from pathlib import Path

import numpy as np
import pytest

from nets import repository
from plates import contract
from plates.pipeline import Options

CONFIG = """# kept
parameters [
  { key: "detection_threshold" value: { string_value: "0.25" } },
  { key: "max_plates" value: { string_value: "7" } },
  { key: "EXECUTION_ENV_PATH" value: { string_value: "elsewhere" } }
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plate_recognition").mkdir()
    (tmp_path / "plate_recognition" / "config.pbtxt").write_text(CONFIG)
    return tmp_path


def test_options_are_those_that_are_served(folder: Path) -> None:
    options = repository.options(folder)
    assert (options.detection_threshold, options.max_plates) == (0.25, 7)
    assert options.iou_threshold == Options().iou_threshold


def test_a_repository_without_options_has_the_defaults(tmp_path: Path) -> None:
    assert repository.options(tmp_path) == Options()


def test_one_parameter_changes_and_the_rest_of_the_file_stays(folder: Path) -> None:
    path = repository.config(folder)
    repository.set_parameter(path, "detection_threshold", "0.5")
    assert path.read_text() == CONFIG.replace("0.25", "0.5")
    assert repository.options(folder).detection_threshold == 0.5


def test_a_parameter_that_is_not_there_is_an_error(folder: Path) -> None:
    with pytest.raises(KeyError, match="temperature"):
        repository.set_parameter(repository.config(folder), "temperature", "1")


def test_networks_answer_in_the_contracts_shapes() -> None:
    rows = repository.detector()(np.zeros((1, 64, 96, 3), np.uint8))
    assert rows.shape[2:] == contract.YOLO_NET.outputs[0].shape[1:]
    logits = repository.reader()(np.zeros((2, 3, contract.CROP_HEIGHT, contract.CROP_WIDTH), np.float32))
    assert logits.shape == (2, *contract.LPRNET.outputs[0].shape)

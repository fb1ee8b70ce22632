from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

import onnxruntime
import torch

from nets import export, repository
from nets.export import EXPORTS, ExportError
from nets.reader import Reader, save_reader
from nets.yolov5 import YOLOv5, save_detector
from plates import contract

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(0)
    save_detector(YOLOv5(), folder / "detector.safetensors")
    save_reader(Reader(), folder)
    return folder


@pytest.fixture(autouse=True)
def _few_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BATCHES", (1, 3))
    monkeypatch.setattr(export, "IMAGE_SIZES", ((64, 96), (96, 64)))


@pytest.mark.parametrize("name", EXPORTS)
def test_what_is_exported_answers_like_the_network_under_the_agreed_names(
    name: str, weights: Path, tmp_path: Path
) -> None:
    paths = export.export_model(EXPORTS[name], weights / EXPORTS[name].weights, tmp_path)
    assert [path.name for path in paths] == ["model.onnx", "model.pt"]
    session = onnxruntime.InferenceSession(str(paths[0]), providers=["CPUExecutionProvider"])
    assert [node.name for node in session.get_inputs()] == ["input__0"]
    assert [node.name for node in session.get_outputs()] == ["output__0"]


def test_the_same_weights_give_the_same_bytes(weights: Path, tmp_path: Path) -> None:
    files = []
    for folder in ("first", "second"):
        export.export_model(EXPORTS["lprnet"], weights / "lprnet.safetensors", tmp_path / folder)
        files.append((tmp_path / folder / "model.onnx").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("fold", [None, -1, 4])
def test_models_say_which_photos_their_weights_have_not_learnt_from(fold: int | None, tmp_path: Path) -> None:
    save_detector(YOLOv5(), tmp_path / "detector.safetensors", fold)
    save_reader(Reader(), tmp_path, fold)
    for name, export_ in EXPORTS.items():
        export.export_model(export_, tmp_path / export_.weights, tmp_path / name / "1")
    assert repository.learnt_from_all(tmp_path) == (["yolo_net", "stn", "lprnet"] if fold == -1 else [])


def test_a_model_under_other_names_or_sizes_is_refused(weights: Path, tmp_path: Path) -> None:
    export.export_model(EXPORTS["stn"], weights / "stn.safetensors", tmp_path)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    export.check_contract(contract.STN, session)
    with pytest.raises(ExportError, match="the contract says"):
        export.check_contract(contract.LPRNET, session)


@pytest.mark.parametrize("wrong", [2e-4, np.nan])
def test_a_different_answer_fails_the_export(wrong: float) -> None:
    expected = np.zeros((2, 3), np.float32)
    found = expected.copy()
    found[1, 2] = wrong
    export.compare(Path("model.onnx"), expected, expected)
    with pytest.raises(ExportError, match=r"model\.onnx: differs"):
        export.compare(Path("model.onnx"), expected, found)


def test_another_shape_or_dtype_fails_the_export() -> None:
    expected = np.zeros((2, 3), np.float32)
    for found in (expected[:1], expected.astype(np.float64)):
        with pytest.raises(ExportError, match="is due"):
            export.compare(Path("model.onnx"), expected, found)


def test_large_values_may_differ_in_proportion() -> None:
    export.compare(Path("model.onnx"), np.full(3, 640, np.float32), np.full(3, 640.01, np.float32))


def test_missing_weights_are_named_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = export.main(["--weights-dir", str(tmp_path), "--repository", str(tmp_path / "repository"), "stn"])
    assert status == 1
    assert "stn.safetensors is missing" in capsys.readouterr().err
    assert not (tmp_path / "repository").exists()


def test_an_unknown_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        export.main(["yolo_nett"])
    assert stopped.value.code == 2
    assert "yolo_nett" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXPORTS)
def test_the_repository_serves_the_committed_weights(name: str) -> None:
    chosen = EXPORTS[name]
    network = chosen.build(export.WEIGHTS / chosen.weights)
    path = export.REPOSITORY / name / "1" / "model.onnx"
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for batch in chosen.examples():
        with torch.inference_mode():
            expected = network(batch).numpy()
        export.compare(path, expected, session.run(None, {"input__0": batch.numpy()})[0])

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

import torch

from nets import export, import_weights, repository
from nets.checkpoints import State
from nets.data import index
from nets.import_weights import MismatchError
from nets.lprnet import LPRNet
from nets.stn import SpatialTransformer
from nets.yolov5 import DetectorGraph, YOLOv5
from plates import contract
from tests.nets.yolov5_file import as_yolov5_pickles_it

pytestmark = pytest.mark.torch

UPSTREAM = index.ROOT.parent / "upstream"
"""Checkpoints of the original pipeline, beside the labelled photos."""


@pytest.fixture(autouse=True)
def _few_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BATCHES", (1, 3))
    monkeypatch.setattr(export, "IMAGE_SIZES", ((64, 96),))


def write(path: Path, state: State) -> Path:
    torch.save({"epoch": 1, "net_state_dict": state}, path)
    return path


def test_a_new_repository_is_the_shipped_one_with_other_weights(tmp_path: Path) -> None:
    torch.manual_seed(3)
    network = LPRNet().eval()
    source = write(tmp_path / "lprnet.pth", network.state_dict())
    folder = tmp_path / "repository"
    assert import_weights.main([str(folder), "--lprnet", str(source)]) == 0
    crops = torch.rand(2, 3, 24, 94)
    with torch.inference_mode():
        expected = network(crops).numpy()
    found = repository.net(contract.LPRNET, folder)(crops.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-4)
    for kept in ("stn/1/model.onnx", "plate_recognition/config.pbtxt", "lprnet/configs/cpu.pbtxt"):
        assert (folder / kept).read_bytes() == (export.REPOSITORY / kept).read_bytes()


def test_a_repository_that_is_there_keeps_its_other_networks(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    lprnet = write(tmp_path / "lprnet.pth", LPRNet().state_dict())
    stn = write(tmp_path / "stn.pth", SpatialTransformer().state_dict())
    import_weights.import_weights(folder, {"lprnet": lprnet})
    kept = (folder / "lprnet" / "1" / "model.onnx").read_bytes()
    written = import_weights.import_weights(folder, {"stn": stn})
    assert written == [folder / "stn" / "1" / name for name in ("model.onnx", "model.pt")]
    assert (folder / "lprnet" / "1" / "model.onnx").read_bytes() == kept


@pytest.mark.parametrize(("depth", "width"), [(1 / 3, 0.25), (1 / 3, 0.5), (2 / 3, 0.75)])
def test_the_detectors_size_is_that_of_its_weights(depth: float, width: float, tmp_path: Path) -> None:
    network = YOLOv5(depth, width)
    built = import_weights.build_detector(network.state_dict(), tmp_path / "best.pt")
    assert built.depth == pytest.approx(depth)
    assert built.width == width
    for name, value in network.state_dict().items():
        assert torch.equal(built.state_dict()[name], value)


def test_a_yolov5_file_becomes_the_detector_of_a_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    torch.manual_seed(5)
    network = YOLOv5(width=0.5).half().float()
    image = torch.randint(0, 256, (1, 64, 96, 3), dtype=torch.uint8)
    as_yolov5_pickles_it(deepcopy(network), monkeypatch, tmp_path / "best.pt")
    folder = tmp_path / "repository"
    assert import_weights.main([str(folder), "--detector", str(tmp_path / "best.pt")]) == 0
    with torch.inference_mode():
        expected = DetectorGraph(network)(image).numpy()
    export.compare(tmp_path, expected, repository.net(contract.YOLO_NET, folder)(image.numpy()))


def test_a_detector_of_several_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="80 classes; the service knows one"):
        import_weights.build_detector(YOLOv5(classes=80).state_dict(), tmp_path / "yolov5n.pt")


def test_another_structure_is_no_detector(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match=r"no YOLOv5 v6 with three heads: backbone\.0"):
        import_weights.build_detector(LPRNet().state_dict(), tmp_path / "lprnet.pth")


def test_what_is_missing_too_much_or_of_another_shape_is_listed(tmp_path: Path) -> None:
    state = SpatialTransformer().state_dict()
    state["extra"] = torch.ones(2)
    del state["fc_loc.2.bias"]
    state["fc_loc.0.bias"] = torch.ones(33)
    with pytest.raises(MismatchError) as refused:
        import_weights.load(SpatialTransformer(), state, tmp_path / "stn.pth")
    assert "lacks fc_loc.2.bias (6,)" in str(refused.value)
    assert "has extra (2,), which SpatialTransformer doesn't" in str(refused.value)
    assert "fc_loc.0.bias is (33,), not (32,)" in str(refused.value)


def test_a_long_list_of_differences_is_cut(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match=r"; and \d+ more$"):
        import_weights.load(LPRNet(), {"a": torch.ones(1)}, tmp_path / "lprnet.pth")


def test_counters_of_training_steps_may_be_missing(tmp_path: Path) -> None:
    state = {name: value for name, value in LPRNet().state_dict().items() if "num_batches" not in name}
    import_weights.load(LPRNet(), state, tmp_path / "lprnet.pth")


def test_a_file_that_does_not_fit_leaves_no_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = write(tmp_path / "stn.pth", SpatialTransformer().state_dict())
    for wrong in (write(tmp_path / "lprnet.pth", SpatialTransformer().state_dict()), tmp_path / "nowhere.pth"):
        arguments = [str(tmp_path / "repository"), "--stn", str(right), "--lprnet", str(wrong)]
        assert import_weights.main(arguments) == 1
        assert str(wrong) in capsys.readouterr().err
        assert not (tmp_path / "repository").exists()


def test_without_a_file_there_is_nothing_to_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        import_weights.main([str(tmp_path / "repository")])
    assert stopped.value.code == 2
    assert "at least one of" in capsys.readouterr().err


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the original checkpoints are not there")
@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_the_originals_checkpoints_fit(name: str) -> None:
    network = import_weights.build(name, UPSTREAM / f"{name}.pth")
    with torch.inference_mode():
        assert torch.isfinite(network(torch.zeros(1, 3, 24, 94))).all()

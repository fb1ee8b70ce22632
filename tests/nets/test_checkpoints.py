import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from nets.checkpoints import CheckpointError, read_checkpoint
from nets.yolov5 import YOLOv5
from tests.nets.yolov5_file import as_yolov5_pickles_it

pytestmark = pytest.mark.torch


class Attack:
    """Pickled code: touches a file when somebody unpickles it the usual way."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.arguments


@pytest.mark.parametrize("key", ["net_state_dict", "state_dict", None])
def test_weights_are_found_under_the_usual_keys(key: str | None, tmp_path: Path) -> None:
    weights = OrderedDict({"module.a.weight": torch.ones(2, 3, dtype=torch.float16), "module.a.count": torch.tensor(4)})
    torch.save({"epoch": 94, key: weights} if key else weights, tmp_path / "file.pth")
    state = read_checkpoint(tmp_path / "file.pth")
    assert list(state) == ["a.weight", "a.count"]
    assert state["a.weight"].dtype == torch.float32
    assert state["a.count"].dtype == torch.int64


def test_the_older_format_is_read_too(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(2)}, tmp_path / "file.pth", _use_new_zipfile_serialization=False)
    assert torch.equal(read_checkpoint(tmp_path / "file.pth")["a"], torch.ones(2))


def test_a_pickled_yolov5_gives_its_weights_without_its_classes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    network = YOLOv5().eval()
    expected = {name: value.half() for name, value in network.state_dict().items() if value.is_floating_point()}
    as_yolov5_pickles_it(network, monkeypatch, tmp_path / "best.pt")
    assert "models.yolo" not in sys.modules
    state = read_checkpoint(tmp_path / "best.pt")
    assert {name for name, value in state.items() if value.is_floating_point()} == set(expected)
    for name, value in expected.items():
        assert torch.equal(state[name], value.float())


def test_averaged_weights_come_before_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    averaged = nn.Conv2d(3, 4, 1)
    as_yolov5_pickles_it(YOLOv5(), monkeypatch, tmp_path / "last.pt", ema=averaged)
    assert set(read_checkpoint(tmp_path / "last.pt")) == {"weight", "bias"}


@pytest.mark.parametrize("place", ["zip", "older format", "plain pickle", "inside a model"])
def test_pickled_code_does_not_run(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, proof = tmp_path / "file.pth", tmp_path / "proof"
    attack = Attack(Path.touch, proof)
    content = {"net_state_dict": {"a": torch.ones(2)}, "date": attack}
    if place == "plain pickle":
        path.write_bytes(pickle.dumps(content))
    elif place == "inside a model":
        as_yolov5_pickles_it(YOLOv5(), monkeypatch, path, date=attack)
    else:
        torch.save(content, path, _use_new_zipfile_serialization=place == "zip")
    pickle.loads(pickle.dumps(attack))  # noqa: S301 - shows that the attack works
    proof.unlink()
    with pytest.raises(CheckpointError, match="not a file of weights alone"):
        read_checkpoint(path)
    assert not proof.exists()


@pytest.mark.parametrize("function", [eval, exec, print])
def test_no_function_is_called(function: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"a": torch.ones(2), "b": Attack(function, "1")}, tmp_path / "file.pth")
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "file.pth")
    assert capsys.readouterr().out == ""


def test_a_class_with_an_admitted_name_is_a_stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called: list[int] = []

    class Trap:
        def __init__(self) -> None:
            called.append(1)

    home = ModuleType("models.common")
    Trap.__module__, Trap.__qualname__, home.Trap = home.__name__, "Trap", Trap  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "models", ModuleType("models"))
    monkeypatch.setitem(sys.modules, home.__name__, home)
    torch.save({"state_dict": {"a": torch.ones(2)}, "b": Attack(Trap)}, tmp_path / "file.pth")
    assert set(read_checkpoint(tmp_path / "file.pth")) == {"a"}
    assert called == []
    torch.load(tmp_path / "file.pth", weights_only=False)
    assert called == [1], "the trap works"


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04" + bytes(60)])
def test_a_file_that_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.pth").write_bytes(content)
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "file.pth")


@pytest.mark.parametrize("content", [{}, {"epoch": 3}, [torch.ones(1)], {"model": {"names": ["plate"]}}])
def test_a_checkpoint_without_weights_is_refused(content: object, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "file.pth")
    with pytest.raises(CheckpointError, match="holds no weights"):
        read_checkpoint(tmp_path / "file.pth")


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_checkpoint(tmp_path / "file.pth")

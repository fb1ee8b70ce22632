"""A YOLOv5 checkpoint as its own training writes it, made without it."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from nets.yolov5 import YOLOv5


def as_yolov5_pickles_it(network: YOLOv5, monkeypatch: pytest.MonkeyPatch, path: Path, **beside: object) -> None:
    """Write a network as YOLOv5 does: whole, in half precision, with classes that are not here when it is read."""
    modules = {name: ModuleType(name) for name in ("models", "models.yolo", "models.common")}
    with monkeypatch.context() as patch:
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        for part in network.modules():
            kind = type(part)
            if kind.__module__ == "nets.yolov5":
                home = "models.yolo" if kind.__name__ in {"YOLOv5", "Detect"} else "models.common"
                twin = getattr(modules[home], kind.__name__, None)
                if twin is None:
                    twin = type(kind.__name__, (kind,), {"__module__": home})
                    setattr(modules[home], kind.__name__, twin)
                part.__class__ = twin
        torch.save({"epoch": -1, "best_fitness": None, "model": network.half(), "optimizer": None} | beside, path)

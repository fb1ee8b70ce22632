"""Weights out of other people's checkpoints, without running what is pickled in them.

PyTorch's restricted unpickler does the reading (`weights_only`): it rebuilds tensors and plain containers and nothing
else. A YOLOv5 file holds a whole model object, though: each class that such a file may name is answered with
a stand-in that keeps the attributes and has no code. Any other name fails the reading.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import Tensor
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

_STAND_INS: Final = re.compile(r"(?:models|utils|ultralytics|torch\.nn\.modules|numpy|pathlib)\.[\w.]+")
"""Names in YOLOv5's checkpoints: its modules, PyTorch's layers, and what its training noted down beside them."""

_WEIGHTS: Final = ("ema", "model", "net_state_dict", "model_state_dict", "state_dict")
"""Where checkpoints keep their weights, best first: YOLOv5 prefers the averaged ones."""

State = dict[str, Tensor]
"""Tensors by name, floating-point ones as float32."""


class CheckpointError(Exception):
    """A file holds no weights, or something beside them that is not read."""


class _StandIn:
    """An object of a class that is not here: the attributes it was pickled with, no behaviour."""

    def __init__(self, *_: object) -> None:
        self.attributes: Mapping[str, Any] = {}

    def __new__(cls, *_: object) -> "_StandIn":
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        self.attributes = state if isinstance(state, dict) else {}


def read_checkpoint(path: Path) -> State:
    """Return the weights of a PyTorch checkpoint.

    Read are: a dictionary of tensors, one under a usual key of a larger checkpoint, and YOLOv5's pickled model. The
    prefix that data-parallel training puts before every name is taken away.

    Raises:
        OSError: the file can't be read.
        CheckpointError: it holds no weights, or asks for something that is neither tensor, container nor a known class.
    """
    try:
        stand_ins = [(_StandIn, name) for name in _foreign_names(path)]
        with safe_globals(cast("list[Any]", stand_ins)):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, CheckpointError):
        raise
    except Exception as error:
        # Whatever else comes out of there: a file of weights doesn't provoke it.
        raise CheckpointError(f"{path} is not a file of weights alone ({type(error).__name__})") from error
    state = _state(content)
    if not state:
        raise CheckpointError(f"{path} holds no weights")
    return {name.removeprefix("module."): _exact(value) for name, value in state.items()}


def _foreign_names(path: Path) -> list[str]:
    """Return the classes that a checkpoint names beside PyTorch's tensors and plain containers.

    Raises:
        CheckpointError: one is not a part of YOLOv5's checkpoints.
    """
    if not zipfile.is_zipfile(path):
        # Until PyTorch 1.6 checkpoints were no archives; YOLOv5 v6 came later.
        return []
    names = sorted(get_unsafe_globals_in_checkpoint(str(path)))
    unknown = [name for name in names if not _STAND_INS.fullmatch(name)]
    if unknown:
        raise CheckpointError(f"{path} is not a file of weights alone: it asks for {', '.join(unknown)}")
    return names


def _state(content: object) -> State:
    if isinstance(content, _StandIn):
        return dict(_tensors(content))
    if not isinstance(content, Mapping):
        return {}
    if content and all(isinstance(value, Tensor) for value in content.values()):
        return {str(name): value for name, value in content.items()}
    found = (_state(content[key]) for key in _WEIGHTS if content.get(key) is not None)
    return next((state for state in found if state), {})


def _tensors(module: _StandIn, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield what a module's `state_dict` would hold."""
    transient = module.attributes.get("_non_persistent_buffers_set", ())
    for kind in ("_parameters", "_buffers"):
        for name, value in module.attributes.get(kind, {}).items():
            if isinstance(value, Tensor) and name not in transient:
                yield f"{prefix}{name}", value
    for name, child in module.attributes.get("_modules", {}).items():
        if isinstance(child, _StandIn):
            yield from _tensors(child, f"{prefix}{name}.")


def _exact(value: Tensor) -> Tensor:
    detached = value.detach()
    return (detached.float() if detached.is_floating_point() else detached).contiguous()

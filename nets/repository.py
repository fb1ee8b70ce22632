"""Triton's model repository without Triton: its networks as functions on arrays, its pipeline's options."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import onnxruntime
from numpy.typing import NDArray

from nets.data.index import HELD_OUT_KEY
from plates import contract
from plates.geometry import Floats
from plates.pipeline import DetectorNet, Options, ReaderNet

REPOSITORY: Final = Path(__file__).resolve().parents[1] / "model_repository"

_PARAMETER: Final = r'key:\s*"(?P<key>{key})"\s*value:\s*\{{\s*string_value:\s*"(?P<value>[^"]*)"'

Net = Callable[[NDArray[Any]], Floats]
"""A network of one input and one output, batch first."""


def net(model: contract.Model, repository: Path = REPOSITORY, threads: int = 1) -> Net:
    """Open a model's ONNX file.

    Args:
        model: which one.
        repository: folder of the models.
        threads: of ONNX Runtime, for this network.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(_file(model, repository), options, providers=["CPUExecutionProvider"])
    name = model.inputs[0].name

    def run(batch: NDArray[Any]) -> Floats:
        output: Floats = session.run(None, {name: batch})[0]
        return output

    return run


def learnt_from_all(repository: Path = REPOSITORY) -> list[str]:
    """Return the networks that say that they kept no photo out of their training, those that are counted on neither."""
    models = (contract.YOLO_NET, contract.STN, contract.LPRNET)
    return [model.name for model in models if _properties(model, repository).get(HELD_OUT_KEY) == "-1"]


def _properties(model: contract.Model, repository: Path) -> dict[str, str]:
    session = onnxruntime.InferenceSession(_file(model, repository), providers=["CPUExecutionProvider"])
    properties: dict[str, str] = session.get_modelmeta().custom_metadata_map
    return properties


def _file(model: contract.Model, repository: Path) -> Path:
    return repository / model.name / "1" / "model.onnx"


def detector(repository: Path = REPOSITORY, threads: int = 1) -> DetectorNet:
    """Return the detector of a repository as the pipeline calls it."""
    return net(contract.YOLO_NET, repository, threads)


def reader(repository: Path = REPOSITORY, threads: int = 1) -> ReaderNet:
    """Return the spatial transformer and LPRNet of a repository as the pipeline calls them."""
    stn, lprnet = net(contract.STN, repository, threads), net(contract.LPRNET, repository, threads)
    return lambda crops: lprnet(stn(crops))


def config(repository: Path = REPOSITORY) -> Path:
    """Return the file that holds the pipeline's options."""
    return repository / contract.PLATE_RECOGNITION.name / "config.pbtxt"


def options(repository: Path = REPOSITORY) -> Options:
    """Return the pipeline's options as they are served; the defaults where a repository doesn't set any."""
    path = config(repository)
    if not path.is_file():
        return Options()
    found = re.finditer(_PARAMETER.format(key=r"[^\"]+"), path.read_text(encoding="utf-8"))
    return Options.from_parameters({match["key"]: match["value"] for match in found})


def set_parameter(path: Path, key: str, value: str) -> None:
    """Change one parameter of a config.pbtxt and leave everything else as it is.

    Raises:
        KeyError: the file has no such parameter.
    """
    text = path.read_text(encoding="utf-8")
    match = re.search(_PARAMETER.format(key=re.escape(key)), text)
    if match is None:
        raise KeyError(f"{path} has no parameter {key!r}")
    start, end = match.span("value")
    path.write_text(text[:start] + value + text[end:], encoding="utf-8")

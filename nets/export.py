"""Weights -> ONNX and TorchScript files in Triton's model repository, compared with the networks they came from.

    python -m nets.export [--weights-dir nets/weights] [--repository model_repository] [yolo_net stn lprnet]

Each file is reopened as its server opens it, its names, dtypes and dims are held against `plates.contract`, and its
answers against the network's on several batch sizes; a difference fails the export. The same weights give the same
ONNX bytes. Which photos the weights haven't learnt from goes with them into the ONNX files.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.jit._trace import TracerWarning

from nets.data.index import HELD_OUT_KEY
from nets.reader import load_lprnet, load_stn
from nets.yolov5 import DetectorGraph, load_detector
from plates import contract

HERE: Final = Path(__file__).resolve().parent
WEIGHTS: Final = HERE / "weights"
REPOSITORY: Final = HERE.parent / "model_repository"

OPSET: Final = 20
"""The first with affine grids (the spatial transformer)."""
TOLERANCE: Final = 1e-4
"""Largest difference that is rounding: absolute, or relative where the network's values are larger than one."""

BATCHES: Final = (1, 2, 8)
IMAGE_SIZES: Final = ((64, 96), (384, 640), (640, 640))
"""Height and width of the detector's inputs that are compared."""

_ORT_TYPES: Final = {"UINT8": "tensor(uint8)", "FP32": "tensor(float)"}


class ExportError(Exception):
    """An exported file does not do what its network does, or not under the agreed names."""


@dataclass(frozen=True, slots=True)
class Export:
    """One model of the repository: how its deployed graph is made, and inputs to compare it on."""

    model: contract.Model
    build: Callable[[Path], nn.Module]
    """Weights file -> module in evaluation mode that maps one tensor to one tensor."""
    weights: str
    examples: Callable[[], Iterator[Tensor]]
    """Inputs of several shapes; the first is the one that is traced."""


def detector_inputs() -> Iterator[Tensor]:
    """Random BGR images, uint8, in every batch size and image size; flat ones beside the noise."""
    generator = torch.Generator().manual_seed(0)
    for height, width in IMAGE_SIZES:
        for batch in BATCHES:
            images = torch.randint(0, 256, (batch, height, width, 3), dtype=torch.uint8, generator=generator)
            images[0, : height // 2] = 114
            yield images


def crop_inputs() -> Iterator[Tensor]:
    """Random crops, -1 to 1, in every batch size."""
    generator = torch.Generator().manual_seed(0)
    for batch in BATCHES:
        shape = (batch, 3, contract.CROP_HEIGHT, contract.CROP_WIDTH)
        yield torch.rand(shape, generator=generator) * 2 - 1


EXPORTS: Final = {
    export.model.name: export
    for export in (
        Export(
            contract.YOLO_NET,
            lambda path: DetectorGraph(load_detector(path)),
            "detector.safetensors",
            detector_inputs,
        ),
        Export(contract.STN, load_stn, "stn.safetensors", crop_inputs),
        Export(contract.LPRNET, load_lprnet, "lprnet.safetensors", crop_inputs),
    )
}


def export_model(export: Export, weights: Path, folder: Path) -> list[Path]:
    """Write `folder`/model.onnx and model.pt, and check both.

    Args:
        export: which model.
        weights: its weights.
        folder: where the files go (the repository's MODEL/1).

    Raises:
        ExportError: a file differs from the network or from the contract.
    """
    folder.mkdir(parents=True, exist_ok=True)
    network = export.build(weights).eval()
    onnx_path, script_path = folder / "model.onnx", folder / "model.pt"
    example = next(export.examples())
    with torch.no_grad(), warnings.catch_warnings():
        # Both tracers are deprecated in favour of torch.export. Triton's pytorch backend loads TorchScript only, and
        # the new ONNX exporter needs a package of its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", TracerWarning)
        _write_onnx(export.model, network, example, onnx_path)
        _declare(onnx_path, export.model.outputs[0], _held_out(weights))
        script = torch.jit.trace(network, example, check_trace=False)  # type: ignore[no-untyped-call]
        torch.jit.save(torch.jit.freeze(script), str(script_path))
        script = torch.jit.load(str(script_path))  # type: ignore[no-untyped-call]
    session = onnxruntime.InferenceSession(str(onnx_path), providers=["CPUExecutionProvider"])
    check_contract(export.model, session)
    input_name = export.model.inputs[0].name
    for batch in export.examples():
        with torch.no_grad():
            expected = network(batch).numpy()
            scripted = script(batch).numpy()
        compare(onnx_path, expected, session.run(None, {input_name: batch.numpy()})[0])
        compare(script_path, expected, scripted)
    return [onnx_path, script_path]


def _write_onnx(model: contract.Model, network: nn.Module, example: Tensor, path: Path) -> None:
    inputs, outputs = model.inputs[0], model.outputs[0]
    torch.onnx.export(
        network,
        (example,),
        str(path),
        dynamo=False,
        opset_version=OPSET,
        input_names=[inputs.name],
        output_names=[outputs.name],
        dynamic_axes={tensor.name: _dynamic_axes(tensor) for tensor in (inputs, outputs)},
    )


def _held_out(weights: Path) -> dict[str, str]:
    """Return what weights say about the photos that they haven't learnt from; somebody else's say nothing."""
    with safe_open(weights, "pt") as file:
        found: dict[str, str] = file.metadata() or {}
    return {name: value for name, value in found.items() if name == HELD_OUT_KEY}


def _declare(path: Path, output: contract.Tensor, properties: dict[str, str]) -> None:
    """Write properties into the file, and the output's fixed sizes: the tracer loses those behind a dynamic one."""
    graph = onnx.load(path)
    onnx.helper.set_model_props(graph, properties)
    for dim, size in zip(graph.graph.output[0].type.tensor_type.shape.dim[1:], output.shape, strict=True):
        if size >= 0:
            dim.dim_value = size
    onnx.save(graph, path)


def _dynamic_axes(tensor: contract.Tensor) -> dict[int, str]:
    free = {axis: f"{tensor.name}_{axis}" for axis, size in enumerate(tensor.shape, start=1) if size < 0}
    return {0: "batch"} | free


def check_contract(model: contract.Model, session: onnxruntime.InferenceSession) -> None:
    """Hold the names, dtypes and dims of an opened ONNX file against the contract.

    Raises:
        ExportError: they differ.
    """
    found = [(node.name, node.type, _dims(node.shape)) for node in (*session.get_inputs(), *session.get_outputs())]
    agreed = [
        (tensor.name, _ORT_TYPES[tensor.datatype], [-1, *tensor.shape]) for tensor in (*model.inputs, *model.outputs)
    ]
    if found != agreed:
        raise ExportError(f"{model.name}: the file has {found}, the contract says {agreed}")


def _dims(shape: list[Any]) -> list[int]:
    return [size if isinstance(size, int) else -1 for size in shape]


def compare(path: Path, expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> None:
    """Fail where an exported model's answer is not the network's.

    Raises:
        ExportError: the shapes or dtypes differ, or a value by more than the tolerance.
    """
    if expected.shape != found.shape or expected.dtype != found.dtype:
        raise ExportError(f"{path}: {found.dtype}{found.shape} where {expected.dtype}{expected.shape} is due")
    difference = np.abs(expected - found) / np.maximum(np.abs(expected), 1)
    # Negated so that a NaN fails too.
    if not difference.max() <= TOLERANCE:
        raise ExportError(f"{path}: differs from the network by {difference.max():.2e} on input {expected.shape}")


def main(arguments: list[str] | None = None) -> int:
    """Export from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.export", description="Export the networks to the model repository.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: {' '.join(EXPORTS)}")
    parser.add_argument("--weights-dir", type=Path, default=WEIGHTS, help="folder of the .safetensors files")
    parser.add_argument("--repository", type=Path, default=REPOSITORY, help="Triton's model repository")
    options = parser.parse_args(arguments)
    unknown = set(options.models) - set(EXPORTS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    for name in options.models or EXPORTS:
        export = EXPORTS[name]
        weights = options.weights_dir / export.weights
        if not weights.is_file():
            sys.stderr.write(f"{weights} is missing: train the network first\n")
            return 1
        for path in export_model(export, weights, options.repository / name / "1"):
            sys.stdout.write(f"{path}: {path.stat().st_size / 2**20:.1f} MiB, equal to the network\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

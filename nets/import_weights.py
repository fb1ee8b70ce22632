"""Somebody else's weights -> a model repository that the service serves.

    python -m nets.import_weights REPOSITORY [--stn FILE] [--lprnet FILE] [--detector FILE]
    GATEWAY_MODEL_REPOSITORY=REPOSITORY make run

Read are checkpoints of the original pipeline (STN, LPRNet) and YOLOv5 v6 `.pt` files with one class; no code that is
pickled in them runs (`nets.checkpoints`). The repository begins as a copy of the shipped one; networks without a file
keep the shipped weights. Names and shapes are checked, and every exported file against its network (`nets.export`).
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from safetensors.torch import save_file
from torch import nn

from nets import export
from nets.checkpoints import CheckpointError, State, read_checkpoint
from nets.export import EXPORTS, ExportError
from nets.lprnet import LPRNet
from nets.stn import SpatialTransformer
from nets.yolov5 import ANCHORS, YOLOv5, save_detector
from plates import contract

STEM_CHANNELS: Final = 64
"""YOLOv5's first convolution at a width of one."""

BOTTLENECKS: Final = 9
"""YOLOv5's sixth module at a depth of one."""

LISTED: Final = 8
"""Differences that a message names."""


class MismatchError(Exception):
    """Weights are not those of the network that they should be."""


def load(network: nn.Module, state: State, source: Path) -> None:
    """Give a network weights; its counters of training steps don't matter and may be missing.

    Raises:
        MismatchError: names or shapes differ; the message lists which.
    """
    own = {name: tuple(value.shape) for name, value in network.state_dict().items() if value.is_floating_point()}
    given = {name: tuple(value.shape) for name, value in state.items() if value.is_floating_point()}
    problems = [f"lacks {name} {own[name]}" for name in own if name not in given]
    problems += [f"has {name} {given[name]}, which {_name(network)} doesn't" for name in given if name not in own]
    problems += [
        f"{name} is {given[name]}, not {own[name]}" for name in own if name in given and own[name] != given[name]
    ]
    if problems:
        raise MismatchError(f"{source} is no {_name(network)} of this kind: {_list(problems)}")
    network.load_state_dict({name: state[name] for name in own}, strict=False)
    network.eval()


def build_detector(state: State, source: Path) -> YOLOv5:
    """Build YOLOv5 v6 of the size that its weights have.

    Raises:
        MismatchError: they are of another structure, or tell more than one class apart.
    """
    stem, head = state.get("model.0.conv.weight"), state.get("model.24.m.0.weight")
    blocks = {match[1] for name in state if (match := re.fullmatch(r"model\.6\.m\.(\d+)\.cv1\.conv\.weight", name))}
    if stem is None or head is None or not blocks:
        raise MismatchError(f"{source} is no YOLOv5 v6 with three heads: {_list(sorted(state)[:3])}")
    outputs, remainder = divmod(len(head), len(ANCHORS[0]))
    if remainder or outputs != contract.YOLO_NET.outputs[0].shape[-1]:
        raise MismatchError(f"{source} has {outputs - 5} classes; the service knows one, the plate")
    network = YOLOv5(len(blocks) / BOTTLENECKS, len(stem) / STEM_CHANNELS)
    load(network, state, source)
    return network


def build(model: str, source: Path) -> nn.Module:
    """Read one network's weights from somebody else's checkpoint.

    Args:
        model: its name in the repository: stn, lprnet or yolo_net.
        source: the checkpoint.

    Raises:
        OSError: the file can't be read.
        CheckpointError: it is not a file of weights alone.
        MismatchError: they are another network's.
    """
    state = read_checkpoint(source)
    if model == contract.YOLO_NET.name:
        return build_detector(state, source)
    network = SpatialTransformer() if model == contract.STN.name else LPRNet()
    load(network, state, source)
    return network


def import_weights(repository: Path, sources: Mapping[str, Path]) -> list[Path]:
    """Export networks into a model repository, which is made from the shipped one where there is none.

    Args:
        repository: its folder.
        sources: the checkpoint of each network, by the network's name in the repository.

    Returns:
        The files written.

    Raises:
        OSError, CheckpointError, MismatchError: a checkpoint can't be used; nothing is written then.
        ExportError: an exported file differs from its network.
    """
    networks = {model: build(model, source) for model, source in sources.items()}
    if not repository.exists():
        shutil.copytree(export.REPOSITORY, repository, ignore=shutil.ignore_patterns("__pycache__"))
    written = []
    with tempfile.TemporaryDirectory() as folder:
        for model, network in networks.items():
            weights = Path(folder) / EXPORTS[model].weights
            if isinstance(network, YOLOv5):
                save_detector(network, weights)
            else:
                save_file(network.state_dict(), weights)
            written += export.export_model(EXPORTS[model], weights, repository / model / "1")
    return written


def _name(network: nn.Module) -> str:
    return type(network).__name__


def _list(problems: Sequence[str]) -> str:
    shown = "; ".join(problems[:LISTED])
    return f"{shown}; and {len(problems) - LISTED} more" if len(problems) > LISTED else shown


def main(arguments: list[str] | None = None) -> int:
    """Import from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.import_weights", description="Serve somebody else's weights.")
    parser.add_argument("repository", type=Path, help="model repository to write; a copy of the shipped one if new")
    files = {
        model: parser.add_argument(option, type=Path, metavar="FILE", help=what).dest
        for model, option, what in (
            (contract.STN.name, "--stn", "checkpoint of the spatial transformer"),
            (contract.LPRNET.name, "--lprnet", "checkpoint of LPRNet"),
            (contract.YOLO_NET.name, "--detector", "YOLOv5 v6 .pt file with one class"),
        )
    }
    options = parser.parse_args(arguments)
    sources = {model: source for model, name in files.items() if (source := getattr(options, name))}
    if not sources:
        parser.error("give at least one of --stn, --lprnet, --detector")
    try:
        written = import_weights(options.repository, sources)
    except (OSError, CheckpointError, MismatchError, ExportError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path in written:
        sys.stdout.write(f"{path}: equal to the network\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

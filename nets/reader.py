"""The reader: spatial transformer and LPRNet, together for training, apart for serving; their weights on disk."""

from pathlib import Path
from typing import Final

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nets.data.index import HELD_OUT_KEY
from nets.lprnet import LPRNet
from nets.stn import SpatialTransformer

WEIGHTS: Final = Path(__file__).parent / "weights"
STN_WEIGHTS: Final = WEIGHTS / "stn.safetensors"
LPRNET_WEIGHTS: Final = WEIGHTS / "lprnet.safetensors"


class Reader(nn.Module):
    """Crops (n, 3, 24, 94) -> logits (n, 23, 18)."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.stn = SpatialTransformer()
        self.lprnet = LPRNet(dropout)

    def forward(self, crops: Tensor) -> Tensor:
        """Straighten and read crops."""
        logits: Tensor = self.lprnet(self.stn(crops))
        return logits


def load_stn(path: Path | None = None) -> SpatialTransformer:
    """Return the spatial transformer in evaluation mode, with the weights of `path` or the shipped ones."""
    stn = SpatialTransformer()
    stn.load_state_dict(load_file(path or STN_WEIGHTS))
    return stn.eval()


def load_lprnet(path: Path | None = None) -> LPRNet:
    """Return LPRNet in evaluation mode, with the weights of `path` or the shipped ones."""
    lprnet = LPRNet()
    lprnet.load_state_dict(load_file(path or LPRNET_WEIGHTS))
    return lprnet.eval()


def load_reader(folder: Path = WEIGHTS) -> Reader:
    """Return both in evaluation mode, with the weights that `save_reader` wrote to a folder."""
    reader = Reader()
    reader.stn = load_stn(folder / STN_WEIGHTS.name)
    reader.lprnet = load_lprnet(folder / LPRNET_WEIGHTS.name)
    return reader.eval()


def save_reader(reader: Reader, folder: Path = WEIGHTS, held_out: int | None = None) -> None:
    """Write both networks' weights as float32 safetensors to a folder.

    Args:
        reader: the networks.
        folder: where to.
        held_out: the fold of the photos that they haven't learnt from, -1: there is none; None: nobody knows.
    """
    metadata = None if held_out is None else {HELD_OUT_KEY: str(held_out)}
    folder.mkdir(parents=True, exist_ok=True)
    for network, name in ((reader.stn, STN_WEIGHTS.name), (reader.lprnet, LPRNET_WEIGHTS.name)):
        state = {
            key: (value.float() if value.is_floating_point() else value).detach().cpu().contiguous()
            for key, value in network.state_dict().items()
        }
        partial = folder / f"{name}.partial"
        save_file(state, partial, metadata)
        partial.replace(folder / name)

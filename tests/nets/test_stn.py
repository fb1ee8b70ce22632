"""The spatial transformer."""

import pytest

from plates.contract import CROP_HEIGHT, CROP_WIDTH

pytest.importorskip("torch")

import torch

from nets.data import index
from nets.stn import SpatialTransformer

pytestmark = pytest.mark.torch

UPSTREAM = index.ROOT.parent / "upstream" / "stn.pth"


def crops(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 3, CROP_HEIGHT, CROP_WIDTH, generator=torch.Generator().manual_seed(seed))


def transformer(seed: int = 0) -> SpatialTransformer:
    """Return one whose transform depends on its input, as a trained one's does."""
    torch.manual_seed(seed)
    stn = SpatialTransformer()
    torch.nn.init.normal_(stn.get_parameter("fc_loc.2.weight"), std=0.05)
    return stn.eval()


def test_untrained_it_returns_its_input() -> None:
    batch = crops(3)

    with torch.no_grad():
        straightened = SpatialTransformer().eval()(batch)

    assert torch.allclose(straightened, batch, atol=1e-4)


def test_a_shift_moves_the_picture() -> None:
    stn = SpatialTransformer().eval()
    with torch.no_grad():
        # Output position x shows input position x + 2 pixels; -1..1 spans the 93 steps between 94 pixels.
        stn.get_parameter("fc_loc.2.bias")[2] = 2 * 2 / (CROP_WIDTH - 1)
        batch = crops(1)
        straightened = stn(batch)

    assert torch.allclose(straightened[..., :-2], batch[..., 2:], atol=1e-3)


def test_a_crop_is_straightened_the_same_alone_and_in_a_batch() -> None:
    stn, batch = transformer(), crops(8)

    with torch.no_grad():
        together = stn(batch)
        alone = torch.cat([stn(crop[None]) for crop in batch])

    assert not torch.allclose(together, batch, atol=0.1), "the transform must not be the identity here"
    assert torch.allclose(together, alone, atol=1e-4)


@pytest.mark.skipif(not UPSTREAM.is_file(), reason="the original's checkpoint is not there")
def test_the_originals_checkpoint_loads() -> None:
    state = torch.load(UPSTREAM, map_location="cpu", weights_only=True)["net_state_dict"]

    SpatialTransformer().load_state_dict(state, strict=True)

"""The average of a network's weights over its training, which reads better than the last ones."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class MovingAverage:
    """An exponential moving average of a network's parameters and buffers, quick at first."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.state = {key: value.detach().clone() for key, value in network.state_dict().items()}
        self._decay = decay

    @torch.no_grad()
    def update(self, network: nn.Module, step: int) -> None:
        """Move towards the network's values after a step (from 0)."""
        decay = min(self._decay, (1 + step) / (10 + step))
        for key, value in network.state_dict().items():
            if value.is_floating_point():
                self.state[key].lerp_(value, 1 - decay)
            else:
                self.state[key].copy_(value)


def blend(before: Mapping[str, Tensor], after: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Return weights between those before a fine-tuning and those after it.

    The network often keeps what it could and can what it learnt (Wortsman et al., "Robust fine-tuning of zero-shot
    models", CVPR 2022).

    Args:
        before: a network's state.
        after: that of the same network, trained on.
        share: of `after`, 0 to 1.
    """
    return {
        key: torch.lerp(before[key], value, share) if value.is_floating_point() else value
        for key, value in after.items()
    }

"""The average of a network's weights over its training, which reads better than the last ones."""

import torch
from torch import nn


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

"""The spatial transformer that straightens a crop before it is read.

Jaderberg et al., "Spatial Transformer Networks", 2015. Structure and parameter names are the original pipeline's, so
that its checkpoints load.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_FEATURES = 32 * 14 * 2
"""Channels x width x height of what the localisation network leaves of a 24 x 94 crop."""


class SpatialTransformer(nn.Module):
    """Predicts an affine transform from a crop and resamples the crop with it.

    Input and output: (n, 3, 24, 94), normalised. Untrained it is the identity.
    """

    def __init__(self) -> None:
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(3, 32, kernel_size=3),
            nn.MaxPool2d(2, stride=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 32, kernel_size=5),
            nn.MaxPool2d(3, stride=3),
            nn.ReLU(inplace=True),
        )
        last = nn.Linear(32, 6)
        self.fc_loc = nn.Sequential(nn.Linear(_FEATURES, 32), nn.ReLU(inplace=True), last)
        nn.init.zeros_(last.weight)
        with torch.no_grad():
            last.bias.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float32))

    def transform(self, crops: Tensor) -> Tensor:
        """Return the affine matrices (n, 2, 3) from output to input positions, both in -1..1."""
        features: Tensor = self.localization(crops)
        theta: Tensor = self.fc_loc(features.flatten(1))
        return theta.view(-1, 2, 3)

    def forward(self, crops: Tensor) -> Tensor:
        """Straighten crops."""
        # Positions in bfloat16 would be off by up to a quarter of a pixel.
        theta = self.transform(crops).float()
        grid = F.affine_grid(theta, list(crops.shape), align_corners=True)
        return F.grid_sample(crops.float(), grid, mode="bilinear", padding_mode="zeros", align_corners=True)

"""LPRNet: a plate's crop -> logits of each character along the plate.

Zherzdev and Gruzdev, "LPRNet: License Plate Recognition via Deep Neural Networks", 2018. Structure and parameter names
are the original pipeline's, so that its checkpoints load. Two things differ, neither in the parameters:

- The global context is normalised per sample, not over the whole batch: a plate's text doesn't depend on what else is
  in its batch.
- The original's 3-D pooling over a 4-D tensor is written as a choice of channels and a 2-D pooling. That is the same
  (its kernel has depth 1), and ONNX can hold it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plates.alphabet import CLASSES

_CONTEXT_CHANNELS = 64 + 128 + 256 + CLASSES


class SmallBasicBlock(nn.Module):
    """A 3 x 3 convolution's receptive field from a 3 x 1 and a 1 x 3 one, inside a bottleneck."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        middle = channels_out // 4
        self.block = nn.Sequential(
            nn.Conv2d(channels_in, middle, kernel_size=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(middle, middle, kernel_size=(3, 1), padding=(1, 0)),
            nn.ReLU(inplace=True),
            nn.Conv2d(middle, middle, kernel_size=(1, 3), padding=(0, 1)),
            nn.ReLU(inplace=True),
            nn.Conv2d(middle, channels_out, kernel_size=1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """(n, channels_in, h, w) -> (n, channels_out, h, w)."""
        output: Tensor = self.block(features)
        return output


class StridedChannelPool(nn.Module):
    """Takes every k-th channel, then the maximum over 3 x 3 with stride (1, 2).

    Equals `MaxPool3d((1, 3, 3), stride=(k, 1, 2))` with the channels as depth.
    """

    def __init__(self, channel_stride: int) -> None:
        super().__init__()
        self.channel_stride = channel_stride

    def forward(self, features: Tensor) -> Tensor:
        """(n, c, h, w) -> (n, ceil(c / k), h - 2, (w - 3) // 2 + 1)."""
        if self.training:
            # The same values. The gradient of this view is channels-last; that of the slice below isn't, and on mixed
            # layouts the backward passes of the layers before it take several times as long.
            last = torch.unflatten(features.permute(0, 2, 3, 1), 3, (-1, self.channel_stride))
            chosen = last[..., 0].permute(0, 3, 1, 2)
        else:
            chosen = features[:, :: self.channel_stride]
        return F.max_pool2d(chosen, 3, stride=(1, 2))


class LPRNet(nn.Module):
    """Reads straightened crops: (n, 3, 24, 94) -> logits (n, 23, 18), characters and blank at each step.

    The logits are not normalised; a softmax over dimension 1 gives the probabilities that CTC is about.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=3),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=1),
            SmallBasicBlock(64, 128),
            nn.BatchNorm2d(128),
            nn.ReLU(),
            StridedChannelPool(2),
            SmallBasicBlock(64, 256),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            SmallBasicBlock(256, 256),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            StridedChannelPool(4),
            nn.Dropout(dropout),
            nn.Conv2d(64, 256, kernel_size=(1, 4)),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Conv2d(256, CLASSES, kernel_size=(13, 1)),
            nn.BatchNorm2d(CLASSES),
            nn.ReLU(),
        )
        self.container = nn.Conv2d(_CONTEXT_CHANNELS, CLASSES, kernel_size=1)
        # What each kept output of the backbone needs to come down to the last one's 4 x 18, by the layer's index.
        self._context_pools = {
            2: nn.AvgPool2d(5, stride=5),
            6: nn.AvgPool2d(5, stride=5),
            # A mean over 4 x 10 with stride (4, 2), in two steps for speed: over 4 x 2, then over 5 neighbours.
            13: nn.Sequential(nn.AvgPool2d((4, 2)), nn.AvgPool2d((1, 5), stride=1)),
            22: nn.Identity(),
        }

    def forward(self, crops: Tensor) -> Tensor:
        """Read crops."""
        context: list[Tensor] = []
        features = crops
        for index, layer in enumerate(self.backbone):
            features = layer(features)
            if index in self._context_pools:
                context.append(_normalise(self._context_pools[index](features)))
        logits: Tensor = self.container(torch.cat(context, dim=1))
        return logits.float().mean(dim=2)


def _normalise(features: Tensor) -> Tensor:
    """Divide each sample by the mean of its squares over channels, height and width."""
    exact = features.float()
    return exact / exact.square().mean(dim=(1, 2, 3), keepdim=True).clamp_min(1e-12)

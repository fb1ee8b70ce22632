"""The moving average of weights."""

import pytest

pytest.importorskip("torch")

import torch

from nets.averaging import MovingAverage

pytestmark = pytest.mark.torch


def test_the_average_follows_the_network() -> None:
    network = torch.nn.BatchNorm1d(2)
    average = MovingAverage(network, decay=0.9)
    with torch.no_grad():
        network.weight.fill_(3.0)
        network.get_buffer("num_batches_tracked").fill_(7)

    average.update(network, step=10_000)

    assert torch.allclose(average.state["weight"], torch.full((2,), 1.2))
    assert average.state["num_batches_tracked"] == 7


def test_early_averages_forget_the_random_start() -> None:
    network = torch.nn.Linear(1, 1, bias=False)
    average = MovingAverage(network, decay=0.999)
    with torch.no_grad():
        network.weight.fill_(5.0)

    for step in range(20):
        average.update(network, step)

    assert average.state["weight"].item() == pytest.approx(5.0, abs=0.2)

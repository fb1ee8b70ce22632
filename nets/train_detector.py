"""Train YOLOv5 on photos of plates, from scratch or from where it was stopped.

    python -m nets.train_detector [--steps 12000 | --minutes 60] [--threads 2] [--start-from FILE] [--fresh]

Most of the time goes into small pictures, of which a CPU sees many; the last part into large ones, as the service
uses. What is kept is an exponential moving average of the weights. Pictures are made in a process of its own.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm  # type: ignore[import-untyped]

from nets.averaging import MovingAverage
from nets.data import index
from nets.data.drawn import draw_plates, draw_scenes
from nets.data.photos import decode
from nets.data.scenes import SceneMaker
from nets.detection_loss import DetectionLoss
from nets.evaluate_detector import WEIGHTS, evaluate, held_out_photos, summary
from nets.mining import find_lookalikes
from nets.training import keep_freed_memory, load_checkpoint, save_checkpoint, seed_everything, warmup_cosine
from nets.yolov5 import YOLOv5, load_detector, save_detector

RUNS: Final = Path(__file__).resolve().parents[1] / "runs" / "detector"


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the training with pictures of one size."""

    until: float
    """Share of the training at which it ends."""
    size: int
    batch: int


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that decides what comes out; stored in the checkpoint."""

    steps: int = 12_000
    seconds: float = 0.0
    """Length of the training in time spent training (pauses don't count), where `steps` is 0: what comes out depends
    on the machine then."""
    seed: int = 0
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.03
    warmup: int = 300
    """Steps over which the learning rate rises."""
    clip_norm: float = 10.0
    ema_decay: float = 0.998
    drawn_plates: int = 800
    drawn_scenes: int = 40
    held_out: int = index.HELD_OUT_FOLD
    """Fold of the photos that isn't trained on but measured; -1: none, for weights to be shipped."""


PHASES: Final = (Phase(0.4, 256, 8), Phase(0.7, 320, 8), Phase(1.0, 640, 4))
"""What a plate in a photo of 640 pixels looks like, a window of 320 shows as well, at a quarter of the cost; only
plates that fill the photo need all of it."""

BAR: Final = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
"""(The total is a time or a number of steps.)"""


class Batches(Dataset[tuple[Tensor, Tensor]]):
    """Training batches by number: a function of the number and the seed alone, so that a resumed training goes on."""

    def __init__(self, maker: SceneMaker, size: int, batch: int, seed: int) -> None:
        self.maker, self.size, self.batch, self.seed = maker, size, batch, seed

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        """Return BGR images (batch, size, size, 3) uint8 and targets (n, 6), see `DetectionLoss`."""
        rng = np.random.default_rng((self.seed, step))
        made = [self.maker.make(rng, self.size) for _ in range(self.batch)]
        images = np.stack([image for image, _ in made])
        targets = [
            np.column_stack([np.full(len(boxes), number), np.zeros(len(boxes)), _centred(boxes)])
            for number, (_, boxes) in enumerate(made)
        ]
        return torch.from_numpy(images), torch.from_numpy(np.concatenate(targets).astype(np.float32))


def _centred(boxes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.hstack([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]])


class Trainer:
    """The state of a training: network, average, optimiser, position."""

    def __init__(self, config: Config, network: YOLOv5, folder: Path, trained: bool = False) -> None:
        """Begin a training; `trained` says that the network can find plates already."""
        self.config, self.folder, self.trained = config, folder, trained
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = MovingAverage(self.network, config.ema_decay)
        self.loss = DetectionLoss(self.network)
        self.optimizer = torch.optim.AdamW(
            _groups(self.network, config.weight_decay), lr=config.learning_rate, fused=True
        )
        self.step = 0
        self.seconds = 0.0

    @property
    def checkpoint(self) -> Path:
        """Where the state is kept."""
        return self.folder / "last.pt"

    @property
    def progress(self) -> float:
        """Share of the training that is done."""
        if self.config.steps:
            return self.step / self.config.steps
        return self.seconds / self.config.seconds

    def resume(self) -> bool:
        """Go on from the checkpoint, where there is one.

        Raises:
            ValueError: it comes from another recipe.
        """
        state = load_checkpoint(self.checkpoint)
        if state is None:
            return False
        if state["config"] != asdict(self.config):
            raise ValueError(
                f"{self.checkpoint} was written with {state['config']}: repeat those settings or start --fresh"
            )
        self.network.load_state_dict(state["network"])
        self.average.state = state["average"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]
        return True

    def save(self) -> None:
        """Write the checkpoint, and the averaged weights beside it."""
        save_checkpoint(
            self.checkpoint,
            network=self.network.state_dict(),
            average=self.average.state,
            optimizer=self.optimizer.state_dict(),
            step=self.step,
            seconds=self.seconds,
            config=asdict(self.config),
        )
        save_detector(self.averaged, self.folder / "detector.safetensors", self.config.held_out)

    @property
    def averaged(self) -> YOLOv5:
        """A network with averaged weights."""
        network = YOLOv5(self.network.depth, self.network.width, self.network.classes)
        network.load_state_dict(self.average.state)
        return network

    def train_step(self, images: Tensor, targets: Tensor) -> dict[str, float]:
        """Learn from one batch, see `Batches`; return the terms of the loss.

        Raises:
            FloatingPointError: the loss is not finite.
        """
        factor = self.learning_rate_factor()
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * factor
        self.network.train()
        inputs = images.permute(0, 3, 1, 2).flip(1).to(memory_format=torch.channels_last).float() / 255
        with torch.autocast("cpu", torch.bfloat16):
            heads = self.network(inputs)
        parts = self.loss(heads, targets)
        if not torch.isfinite(parts.total):
            raise FloatingPointError(f"the loss is {parts.total.item()} at step {self.step}")
        self.optimizer.zero_grad()
        parts.total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip_norm)
        self.optimizer.step()
        self.average.update(self.network, self.step)
        self.step += 1
        return {"box": parts.box.item(), "obj": parts.objectness.item()}

    def learning_rate_factor(self) -> float:
        """Return the factor of the learning rate: it rises by steps, then falls with the share that is done."""
        warmup, parts = self.config.warmup, 10_000
        if self.step < warmup:
            return warmup_cosine(self.step, warmup, warmup)
        return warmup_cosine(round(self.progress * parts), parts, 0)


def _groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Decay the convolutions' weights only, not biases and normalisations."""
    decayed = [p for p in network.parameters() if p.ndim > 1]
    others = [p for p in network.parameters() if p.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def training_photos(held_out: int) -> list[index.LabelledImage]:
    """Return the photos of every fold but one."""
    return [photo for photo in index.load() if photo.fold != held_out]


def scene_maker(config: Config) -> SceneMaker:
    """Read every photo that may be trained on into memory, and draw the plates that are pasted in."""
    bar = tqdm(training_photos(config.held_out), desc="photos", unit="", mininterval=1)
    decoded = [(photo.kind, decode(photo)) for photo in bar]
    rng = np.random.default_rng(config.seed)
    return SceneMaker(
        [photo for kind, photo in decoded if kind == "scene"] + draw_scenes(rng, config.drawn_scenes),
        [photo for kind, photo in decoded if kind == "crop"],
        draw_plates(rng, config.drawn_plates),
    )


def batches(maker: SceneMaker, phase: Phase, config: Config, start: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches from number `start` on, made by another process."""
    dataset = Batches(maker, phase.size, phase.batch, config.seed)
    # Forked, so that the photos aren't copied. OpenCV's threads stay behind in this process; a child that believed it
    # had them would wait for them for ever.
    cv2.setNumThreads(1)
    return iter(
        DataLoader(
            dataset,
            batch_size=None,
            sampler=cast("Any", count(start)),
            num_workers=1,
            prefetch_factor=6,
            multiprocessing_context="fork",
        )
    )


def train(trainer: Trainer, save_every: float, evaluate_every: float) -> None:
    """Train to the end, saving and evaluating every so many seconds of training."""
    config = trainer.config
    maker = scene_maker(config)
    held_out = held_out_photos(config.held_out) if config.held_out >= 0 else []
    saved = evaluated = trainer.seconds
    total = config.steps or round(config.seconds)
    with tqdm(total=total, initial=round(trainer.progress * total), bar_format=BAR, mininterval=5) as bar:
        for phase in PHASES:
            if trainer.progress >= phase.until:
                continue
            if trainer.step or trainer.trained:
                maker.lookalikes = find_lookalikes(trainer.averaged, maker.scenes)
                bar.write(f"step {trainer.step}: {len(maker.lookalikes)} look-alikes to learn from")
            bar.set_description(f"{phase.size} px")
            began = time.monotonic()
            for images, targets in batches(maker, phase, config, trainer.step):
                terms = trainer.train_step(images, targets)
                trainer.seconds += time.monotonic() - began
                bar.set_postfix(step=trainer.step, **terms, refresh=False)
                bar.update(min(total, math.floor(trainer.progress * total)) - bar.n)
                if trainer.seconds - saved >= save_every:
                    trainer.save()
                    saved = trainer.seconds
                if held_out and trainer.seconds - evaluated >= evaluate_every:
                    bar.write(summary(evaluate(trainer.averaged, held_out)))
                    evaluated = trainer.seconds
                if trainer.progress >= phase.until:
                    break
                began = time.monotonic()
    trainer.save()
    if held_out:
        tqdm.write(summary(evaluate(trainer.averaged, held_out)))


def main(arguments: list[str] | None = None) -> int:
    """Train from the command line; return the exit status."""
    defaults = Config()
    parser = argparse.ArgumentParser(prog="nets.train_detector", description="Train the detector; resumes by default.")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, default=defaults.steps)
    length.add_argument("--minutes", type=float, help="time spent training instead of steps")
    # One core is for the process that makes the pictures: threads of PyTorch that wait for each other are slow.
    threads = max(1, torch.get_num_threads() - 1)
    parser.add_argument("--threads", type=int, default=threads, help="threads of PyTorch")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--learning-rate", type=float, default=defaults.learning_rate, help="the highest one")
    parser.add_argument("--held-out", type=int, default=defaults.held_out, help="fold to measure only; -1: none")
    parser.add_argument("--fresh", action="store_true", help="forget the checkpoint")
    parser.add_argument("--start-from", type=Path, help="weights to begin with instead of random ones")
    parser.add_argument("--folder", type=Path, default=RUNS, help="where checkpoints go")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="where the result goes")
    options = parser.parse_args(arguments)
    if not index.available():
        sys.stderr.write(f"the labelled photos are not at {index.ROOT}\n")
        return 1
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    seed_everything(options.seed)
    config = Config(
        steps=0 if options.minutes else options.steps,
        seconds=60 * (options.minutes or 0),
        seed=options.seed,
        learning_rate=options.learning_rate,
        held_out=options.held_out,
    )
    network = load_detector(options.start_from) if options.start_from else YOLOv5()
    trainer = Trainer(config, network, options.folder, trained=options.start_from is not None)
    if not options.fresh and trainer.resume():
        sys.stderr.write(f"resumed at step {trainer.step}, {trainer.progress:.0%} done\n")
    train(trainer, save_every=180, evaluate_every=600)
    save_detector(trainer.averaged, options.weights, config.held_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

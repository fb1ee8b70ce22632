"""Train STN and LPRNet end to end: `python -m nets.train_reader`.

CTC loss over 18 steps, AdamW with warm-up and a cosine, an exponential moving average of the weights as the result.
Samples are real plates and drawn ones of every kind; fold 4 of the photos is only measured (`--held-out`). A
checkpoint is written every few hundred steps and the next start goes on from it. `--start-from` begins with given
weights.
"""

import argparse
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]

from nets.averaging import MovingAverage
from nets.data import index
from nets.data.readings import HeldOut, Plate, ReadingSampler, cut_plates, held_out
from nets.reader import WEIGHTS, Reader, load_reader, save_reader
from nets.training import keep_freed_memory, load_checkpoint, save_checkpoint, seed_everything, warmup_cosine
from plates import alphabet
from plates.contract import TIME_STEPS
from plates.decoding import decode
from plates.distance import edit_distance

RUNS: Final = Path("runs/reader")

_logger = logging.getLogger("nets.train_reader")


@dataclass(frozen=True, slots=True)
class Config:
    """The recipe; what a checkpoint must agree on to be continued."""

    steps: int = 24_000
    cycles: int = 2
    """Times that the learning rate rises and falls (Loshchilov and Hutter, "SGDR", 2017)."""
    batch: int = 32
    seed: int = 1
    learning_rate: float = 1.5e-3
    """LPRNet's, at its highest."""
    stn_learning_rate: float = 3e-4
    """A fast transformer throws plates out of the picture before LPRNet can tell it so."""
    weight_decay: float = 0.01
    warmup: int = 400
    """Steps at the start of each cycle."""
    gradient_norm: float = 5.0
    """Longer gradients are cut to this."""
    ema_decay: float = 0.999
    real_share: float = 0.4
    """Of photographed plates among the samples; the rest is drawn."""
    dropout: float = 0.0
    """The original has 0.5. A training this short, on samples that never repeat, doesn't overfit."""
    bf16: bool = True
    """Forward pass in bfloat16."""
    held_out: int = index.HELD_OUT_FOLD
    """Fold of the photos that isn't trained on but measured; -1: none, for weights to be shipped."""


class NonFiniteLossError(ArithmeticError):
    """The loss is not a number: nothing that follows could be right."""


def train(
    config: Config,
    real: Sequence[Plate],
    measured: Mapping[str, HeldOut],
    folder: Path,
    checkpoint_every: int = 200,
    measure_every: int = 600,
    start_from: Reader | None = None,
) -> Reader:
    """Train from the checkpoint in `folder`, or from scratch where there is none.

    Args:
        config: the recipe.
        real: plates to train on.
        measured: named sets to read every `measure_every` steps and at the end.
        folder: for checkpoint.pt and best/ (the averaged weights that read most of `measured`).
        checkpoint_every: steps.
        measure_every: steps.
        start_from: weights to begin with instead of random ones; a checkpoint comes before them.

    Returns:
        The network with the averaged weights, in evaluation mode.

    Raises:
        NonFiniteLossError: the loss is infinite or not a number.
        ValueError: the checkpoint comes from another recipe.
    """
    seed_everything(config.seed)
    reader = Reader(config.dropout).train()
    if start_from is not None:
        reader.load_state_dict(start_from.state_dict())
    reader.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    average = MovingAverage(reader, config.ema_decay)
    optimizer = _optimizer(reader, config)
    start, best = 0, 0.0
    checkpoint = folder / "checkpoint.pt"
    if state := load_checkpoint(checkpoint):
        if state["config"] != asdict(config):
            raise ValueError(f"{checkpoint} was written with {state['config']}: repeat those settings or start --fresh")
        reader.load_state_dict(state["reader"])
        average.state = state["average"]
        optimizer.load_state_dict(state["optimizer"])
        start, best = state["step"], state["best"]
        _logger.info("going on from step %d", start)

    cycle = -(-config.steps // config.cycles)
    with tqdm(total=config.steps, initial=start, desc="reader", unit="step", mininterval=5) as bar:
        for step, (crops, texts) in enumerate(_batches(ReadingSampler(real, config.real_share), config, start), start):
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * warmup_cosine(step % cycle, cycle, config.warmup)
            torch.manual_seed(config.seed + step)  # The same dropout after a resumption.
            logits = _forward(reader, crops, config.bf16)
            loss = ctc_loss(logits, texts)
            if not torch.isfinite(loss):
                raise NonFiniteLossError(f"the loss is {loss.item()} at step {step}")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(reader.parameters(), config.gradient_norm)
            optimizer.step()
            average.update(reader, step)

            done = step + 1
            bar.update()
            if done % 20 == 0:
                bar.set_postfix(loss=f"{loss.item():.3f}", exact=f"{_exact(logits, texts):.2f}", refresh=False)
            if measured and (done % measure_every == 0 or done == config.steps):
                _logger.info("step %d", done)
                share = fmean(exact_shares(_averaged(average), measured).values())
                if share >= best:
                    best = share
                    save_reader(_averaged(average), folder / "best", config.held_out)
            if done % checkpoint_every == 0 or done == config.steps:
                save_checkpoint(
                    checkpoint,
                    config=asdict(config),
                    step=done,
                    best=best,
                    reader=reader.state_dict(),
                    average=average.state,
                    optimizer=optimizer.state_dict(),
                )
    return _averaged(average)


def ctc_loss(logits: Tensor, texts: Sequence[str]) -> Tensor:
    """Return the mean CTC loss of logits (n, 23, 18), each divided by its text's length."""
    targets = [torch.tensor(alphabet.encode(text)) for text in texts]
    return F.ctc_loss(
        logits.float().log_softmax(dim=1).permute(2, 0, 1),
        torch.cat(targets),
        input_lengths=torch.full((len(texts),), TIME_STEPS),
        target_lengths=torch.tensor([len(target) for target in targets]),
        blank=alphabet.BLANK,
    )


def _optimizer(reader: Reader, config: Config) -> torch.optim.AdamW:
    groups: list[dict[str, Any]] = []
    for network, rate in ((reader.stn, config.stn_learning_rate), (reader.lprnet, config.learning_rate)):
        parameters = list(network.parameters())
        # Biases and normalisation are not decayed.
        for decay, chosen in (
            (config.weight_decay, [parameter for parameter in parameters if parameter.ndim > 1]),
            (0.0, [parameter for parameter in parameters if parameter.ndim <= 1]),
        ):
            groups.append({"params": chosen, "weight_decay": decay, "lr": rate, "peak": rate})
    return torch.optim.AdamW(groups)


def _batches(sampler: ReadingSampler, config: Config, start: int) -> Iterator[tuple[Tensor, list[str]]]:
    """Yield the batches from step `start` on, the next one made while this one is learnt from.

    Each step has a generator of its own, so that a resumed training sees what an uninterrupted one would.
    """

    def make(step: int) -> tuple[NDArray[np.uint8], list[str]]:
        return sampler.batch(config.batch, np.random.default_rng((config.seed, step)))

    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(make, start)
        for step in range(start, config.steps):
            images, texts = upcoming.result()
            if step + 1 < config.steps:
                upcoming = pool.submit(make, step + 1)
            yield normalised(images), texts


def normalised(images: NDArray[np.uint8]) -> Tensor:
    """Turn crops (n, 24, 94, 3) into the network's input (n, 3, 24, 94), (BGR - 127.5) / 128, channels last."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().sub_(127.5).div_(128)


def _forward(reader: Reader, crops: Tensor, bf16: bool) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16) if bf16 else nullcontext():
        logits: Tensor = reader(crops)
    return logits


def _exact(logits: Tensor, texts: Sequence[str]) -> float:
    read, _ = decode(logits.detach().float().numpy())
    return sum(a == b for a, b in zip(read, texts, strict=True)) / len(texts)


def _averaged(average: MovingAverage) -> Reader:
    reader = Reader()
    reader.load_state_dict(average.state)
    return reader.eval()


@torch.no_grad()
def exact_shares(reader: Reader, measured: Mapping[str, HeldOut]) -> dict[str, float]:
    """Return the share of each set that a network reads exactly, and log it with the share of wrong characters."""
    shares = {}
    for name, plates in measured.items():
        read: list[str] = []
        for part in np.array_split(plates.crops, -(-len(plates.crops) // 64)):
            read += decode(reader(torch.from_numpy(part)).numpy())[0]
        exact = sum(a == b for a, b in zip(read, plates.texts, strict=True)) / len(read)
        errors = sum(edit_distance(a, b) for a, b in zip(read, plates.texts, strict=True))
        _logger.info(
            "%s: %d plates, exact %.4f, character errors %.4f",
            name,
            len(read),
            exact,
            errors / sum(map(len, plates.texts)),
        )
        shares[name] = exact
    return shares


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m nets.train_reader", description=__doc__.split("\n", 1)[0])
    for field in fields(Config):
        flag = "--" + field.name.replace("_", "-")
        if isinstance(field.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(flag, type=type(field.default), default=field.default)
    parser.add_argument("--threads", type=int, default=0, help="of torch; 0: as many as it finds good")
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of the checkpoints")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="folder of the result")
    parser.add_argument("--fresh", action="store_true", help="start over instead of going on")
    parser.add_argument("--start-from", type=Path, help="folder of weights to begin with instead of random ones")
    return parser.parse_args()


def measured_sets(images: Sequence[index.LabelledImage]) -> dict[str, HeldOut]:
    """Return what is measured on photos that aren't trained on, by name; nothing without photos."""
    if not images:
        return {}
    scenes = [image for image in images if image.kind == "scene"]
    return {
        "scenes": held_out(scenes, jitter=False),
        "scenes, boxes off": held_out(scenes, jitter=True),
        "crops": held_out([image for image in images if image.kind == "crop"], jitter=False),
    }


def main() -> None:
    """Train with the photos of ../shared/data and write the weights."""
    arguments = _arguments()
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    cv2.setNumThreads(1)
    keep_freed_memory()
    if arguments.fresh:
        (arguments.runs / "checkpoint.pt").unlink(missing_ok=True)
    config = Config(**{field.name: getattr(arguments, field.name) for field in fields(Config)})
    images = index.load()
    real = cut_plates([image for image in images if image.fold != config.held_out])
    measured = measured_sets([image for image in images if image.fold == config.held_out])
    _logger.info("%d real plates, %s", len(real), config)
    started = time.monotonic()
    initial = load_reader(arguments.start_from) if arguments.start_from else None
    reader = train(config, real, measured, arguments.runs, start_from=initial)
    save_reader(reader, arguments.weights, config.held_out)
    _logger.info("done in %.0f minutes", (time.monotonic() - started) / 60)


if __name__ == "__main__":
    main()

"""Train the reader anew with one thing changed at a time, for a short while, and count what that does.

    python -m nets.ablate_training [--steps 2400] [--docs]

The trainings are shorter than the one that is shipped and read less; they are compared with each other. Each resumes
where it was stopped, in a folder of its own under runs/.
"""

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import cv2
import torch
from rich.console import Console

from nets import report
from nets.data import index
from nets.data.readings import HeldOut, Plate, cut_plates
from nets.evaluate_rendered import as_net, evaluate, mean
from nets.train_reader import Config, exact_shares, measured_sets, train
from nets.training import keep_freed_memory

RUNS: Final = Path("runs/ablation")

COLUMNS: Final = ("learns from", "scenes", "boxes off", "crops", "drawn, clean", "drawn, degraded")

DRAWN_OF_EACH_KIND: Final = 50


def variants(config: Config) -> dict[str, Config]:
    """Return what is compared, the whole recipe first."""
    return {
        "photos and drawn plates": config,
        "photos only": replace(config, real_share=1.0),
        "drawn plates only": replace(config, real_share=0.0),
    }


def ablate(
    compared: Mapping[str, Config], real: Sequence[Plate], measured: Mapping[str, HeldOut], folder: Path
) -> report.Grid:
    """Train each variant and count what it reads of photos and of drawn plates."""
    rows = []
    for number, (name, config) in enumerate(compared.items()):
        reader = train(config, real, {}, folder / str(number))
        drawn = mean(evaluate(as_net(reader), DRAWN_OF_EACH_KIND, seed=0))
        shares = [*exact_shares(reader, measured).values(), drawn.clean, drawn.degraded]
        rows.append((name, *map(report.percent, shares)))
    return report.Grid(COLUMNS, rows)


def main(arguments: list[str] | None = None) -> int:
    """Compare from the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="nets.ablate_training", description="Change one thing about the training.")
    parser.add_argument("--steps", type=int, default=2400, help="of each training")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/model-card.md")
    options = parser.parse_args(arguments)
    if not index.available():
        sys.stderr.write(f"the labelled photos are not at {index.ROOT}\n")
        return 1
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(1)
    keep_freed_memory()
    config = Config(steps=options.steps)
    photos = index.load()
    real = cut_plates([photo for photo in photos if photo.fold != config.held_out])
    measured = measured_sets([photo for photo in photos if photo.fold == config.held_out])
    grid = ablate(variants(config), real, measured, RUNS)
    Console().print(grid.rich())
    if options.docs:
        report.write_section(report.CARD, "training", grid.markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())

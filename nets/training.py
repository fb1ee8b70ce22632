"""What both trainings share: seeds, the learning rate's course, checkpoints that survive a kill, memory."""

import ctypes
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python's, numpy's and torch's generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - for libraries that draw from the global generator
    torch.manual_seed(seed)


def warmup_cosine(step: int, total: int, warmup: int, floor: float = 0.01) -> float:
    """Return the factor of the learning rate: linear from 0 over `warmup` steps, then half a cosine down to `floor`."""
    if step < warmup:
        return (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))


def save_checkpoint(path: Path, **state: Any) -> None:
    """Write a checkpoint whole or not at all: a kill in the middle leaves the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """Return the state written by `save_checkpoint`, or None where there is none. Executes no pickled code."""
    if not path.is_file():
        return None
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def keep_freed_memory() -> None:
    """Let glibc keep what tensors free: returning it and faulting it in again costs half of the time."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        m_trim_threshold, m_mmap_max = -1, -4  # malloc.h
        libc.mallopt(m_trim_threshold, 2**31 - 1)
        libc.mallopt(m_mmap_max, 0)

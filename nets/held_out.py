"""The labelled photos that aren't trained on where anything is counted, and what is to be read in them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from nets import repository as repositories
from nets.data import index
from nets.metrics import Label


class NothingToEvaluateError(Exception):
    """The labelled photos are not there, or the networks know them already."""


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo to read, and what is to come out."""

    path: Path
    labels: tuple[Label, ...]
    complete: bool
    """Whether every plate is labelled, so that any other answer is a mistake."""
    group: str = ""
    """Pictures of the same photo share it."""


def scenes(root: Path = index.ROOT) -> list[Photo]:
    """Return the scenes of the held-out fold and the photos without plates.

    Raises:
        NothingToEvaluateError: the photos are not there.
    """
    return _labelled("scene", root) + [Photo(path, (), True, path.name) for path in index.negatives(root)]


def crops(root: Path = index.ROOT) -> list[Photo]:
    """Return the crops of the held-out fold: one plate each.

    Raises:
        NothingToEvaluateError: the photos are not there.
    """
    return _labelled("crop", root)


def check(repository: Path, *, published: bool, say: Callable[[str], object]) -> None:
    """Say so where a repository's networks have learnt from these photos: they read them better than other ones.

    Args:
        repository: folder of the models.
        published: whether the figures go into a document.
        say: what is done with the sentence.

    Raises:
        NothingToEvaluateError: they have, and the figures would be published.
    """
    if learnt := repositories.learnt_from_all(repository):
        sentence = (
            f"{', '.join(learnt)} in {repository} have learnt from all folds of the photos, so that what is counted on "
            "these is better than what others will see. Export weights that were trained with fold "
            f"{index.HELD_OUT_FOLD} held out into a copy of that folder, and count with --repository."
        )
        if published:
            raise NothingToEvaluateError(sentence)
        say(sentence)


def _labelled(kind: Literal["scene", "crop"], root: Path) -> list[Photo]:
    if not index.available(root):
        raise NothingToEvaluateError(f"There is nothing to evaluate on: the labelled photos are not at {root}.")
    return [
        Photo(
            image.path,
            tuple(Label(plate.box, plate.text, plate.type, image.source) for plate in image.plates),
            image.complete,
            image.group,
        )
        for image in index.load(root)
        if image.kind == kind and image.fold == index.HELD_OUT_FOLD
    ]


def halves(photos: Sequence[Photo]) -> tuple[list[Photo], list[Photo]]:
    """Split photos so that neither a photo nor a plate is on both sides; the same way every time."""
    parents: dict[Hashable, Hashable] = {}

    def root_of(node: Hashable) -> Hashable:
        while (parent := parents.setdefault(node, node)) != node:
            node = parent
        return node

    for photo in photos:
        for label in photo.labels:
            if label.text:
                parents[root_of(("text", label.text))] = root_of(("group", photo.group))
    first: list[Photo] = []
    second: list[Photo] = []
    for photo in photos:
        name = repr(root_of(("group", photo.group))).encode()
        (first if sha256(name).digest()[0] % 2 else second).append(photo)
    return first, second

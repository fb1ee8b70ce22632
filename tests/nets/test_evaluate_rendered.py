"""Counting what is read of drawn plates."""

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")

from nets import evaluate_rendered
from nets.data import degrade, plates, readings
from nets.data.kinds import KINDS
from nets.data.readings import Image
from nets.reader import load_reader
from plates.alphabet import BLANK, encode
from plates.geometry import Floats

pytestmark = pytest.mark.torch


def spelled(texts: list[str]) -> NDArray[np.float32]:
    """Return logits that spell texts, blanks between their characters."""
    logits = np.zeros((len(texts), 23, 18), np.float32)
    for row, text in zip(logits, texts, strict=True):
        path = [BLANK] * 18
        path[: 2 * len(text) : 2] = encode(text)
        row[path, np.arange(18)] = 20
    return logits


def test_exact_texts_are_counted_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(["A123BC77"] * 10_000)
    monkeypatch.setattr(plates, "issued_text", lambda rng, kind: next(texts))
    monkeypatch.setattr(evaluate_rendered, "KINDS", {"civil": KINDS["civil"]})
    calls = 0

    def reader(crops: Floats) -> NDArray[np.float32]:
        nonlocal calls
        calls += 1
        return spelled(["A123BC77"] * len(crops) if calls == 1 else ["A123BC78"] * len(crops))

    (share,) = evaluate_rendered.evaluate(reader, 4, seed=0)

    assert share == evaluate_rendered.Share("civil", 1.0, 0.0, 1.0, 0.0)


def test_what_plates_can_hold_decides_unless_read_greedily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plates, "issued_text", lambda rng, kind: "512O66477")
    monkeypatch.setattr(evaluate_rendered, "KINDS", {"diplomatic": KINDS["diplomatic"]})
    torn = spelled(["512066477"])
    torn[0, encode("O"), 6] = 19.5

    (share,) = evaluate_rendered.evaluate(lambda crops: torn.repeat(len(crops), axis=0), 4, seed=0)

    assert share.clean == 1
    assert share.degraded > share.degraded_greedy == share.clean_greedy == 0


def test_a_plate_that_lies_aslant_is_read_again_as_the_service_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plates, "issued_text", lambda rng, kind: "B840OK77")
    monkeypatch.setattr(evaluate_rendered, "KINDS", {"civil_square": KINDS["civil_square"]})
    batches: list[int] = []

    def reader(crops: Floats) -> NDArray[np.float32]:
        batches.append(len(crops))
        # Three crops of a plate are unreadable: the whole one and its two lines. Then come two that are made level.
        return spelled(["" if len(crops) == 3 else "B840OK77"] * len(crops))

    (share,) = evaluate_rendered.evaluate(reader, 1, seed=0)

    assert batches == [3, 2] * 2
    assert share.clean == share.degraded == 1


def test_the_same_seed_draws_the_same_plates() -> None:
    seen: list[list[Floats]] = [[], [], []]
    for run, seed in enumerate((1, 1, 2)):

        def reader(crops: Floats, into: list[Floats] = seen[run]) -> NDArray[np.float32]:
            into.append(crops)
            return spelled(["A123BC77"] * len(crops))

        evaluate_rendered.evaluate(reader, 2, seed)

    assert len(seen[0]) == 2 * len(KINDS)
    assert all(np.array_equal(a, b) for a, b in zip(seen[0], seen[1], strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(seen[0], seen[2], strict=True))


def test_a_degraded_plate_has_two_of_the_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[int] = []

    def fault(number: int) -> degrade.Degradation:
        def happen(image: Image, rng: np.random.Generator) -> Image:
            happened.append(number)
            return image

        return happen

    monkeypatch.setattr(degrade, "PIPELINE", tuple((0.1, fault(number)) for number in range(9)))
    evaluate_rendered.photograph(np.zeros((24, 94, 3), np.uint8), np.random.default_rng(0))

    assert len(happened) == evaluate_rendered.FAULTS == 2
    assert happened == sorted(happened)


def test_the_table_ends_with_the_mean() -> None:
    shares = [evaluate_rendered.Share("civil", 1.0, 0.5, 0.9, 0.4), evaluate_rendered.Share("taxi", 0.5, 0.5, 0.3, 0.2)]

    lines = evaluate_rendered.table(shares).splitlines()

    assert lines[2] == "| civil | 100.0% | 50.0% | 90.0% | 40.0% |"
    assert lines[-1] == "| all | 75.0% | 50.0% | 60.0% | 30.0% |"


def test_a_plate_on_a_car_is_where_its_corners_say() -> None:
    plate = readings.on_car("A123BC77", np.random.default_rng(0))
    left, top = plate.corners[0].astype(int)
    right, bottom = plate.corners[2].astype(int)

    assert plate.image[top + 3 : bottom - 3, left + 3 : right - 3].max() > 200


def test_the_shipped_weights_read_every_kind() -> None:
    shares = evaluate_rendered.evaluate(evaluate_rendered.as_net(load_reader()), 20, seed=1)

    assert all(share.clean >= 0.8 for share in shares)
    assert np.mean([share.clean for share in shares]) >= 0.96
    assert np.mean([share.degraded for share in shares]) >= 0.84

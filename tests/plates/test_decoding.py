import itertools

import numpy as np
import pytest

from plates import alphabet, decoding
from plates.alphabet import BLANK


def logits_of(path: list[int], certainty: float = 12.0) -> decoding.Floats:
    """Return logits (1, 23, len(path)) whose most probable path is this one."""
    logits = np.zeros((1, alphabet.CLASSES, len(path)), np.float32)
    logits[0, path, range(len(path))] = certainty
    return logits


def collapse(path: tuple[int, ...]) -> str:
    """Spell a path by the definition of CTC, the slow way."""
    return "".join(alphabet.CHARACTERS[label] for label, _ in itertools.groupby(path) if label != BLANK)


def test_repeats_merge_unless_a_blank_parts_them() -> None:
    b, o, blank = *alphabet.encode("BO"), BLANK
    texts, scores = decoding.decode(logits_of([blank, b, b, o, blank, o, o, blank]))
    assert texts == ["BOO"]
    assert scores[0] > 0.99


def test_the_score_is_the_probability_of_the_text_over_all_paths() -> None:
    """Compare with the sum over every one of 23^3 paths."""
    logits = np.random.default_rng(1).normal(0, 2, (1, alphabet.CLASSES, 3)).astype(np.float32)
    probabilities = np.exp(decoding.log_softmax(logits))[0]
    totals: dict[str, float] = {}
    for path in itertools.product(range(alphabet.CLASSES), repeat=3):
        text = collapse(path)
        totals[text] = totals.get(text, 0.0) + float(probabilities[path, range(3)].prod())
    (text,), scores = decoding.decode(logits)
    assert scores[0] == pytest.approx(totals[text], rel=1e-5)


def test_a_doubled_character_needs_a_blank_between() -> None:
    zero = alphabet.encode("0")[0]
    logits = logits_of([zero, BLANK, zero], certainty=1.0)
    probabilities = np.exp(decoding.log_softmax(logits))[0]
    (text,), scores = decoding.decode(logits)
    assert text == "00"
    assert scores[0] == pytest.approx(probabilities[[zero, BLANK, zero], range(3)].prod(), rel=1e-6)


def test_a_batch_reads_as_its_plates_read_alone() -> None:
    logits = np.random.default_rng(2).normal(0, 4, (40, alphabet.CLASSES, 18)).astype(np.float32)
    logits[7] = logits_of([BLANK] * 18)
    texts, scores = decoding.decode(logits)
    alone = [decoding.decode(logits[i : i + 1]) for i in range(40)]
    assert texts == [text for (text,), _ in alone]
    np.testing.assert_allclose(scores, [score[0] for _, score in alone], rtol=1e-6)
    assert len({len(text) for text in texts}) > 3


def test_nothing_but_blanks_is_an_empty_text() -> None:
    texts, scores = decoding.decode(logits_of([BLANK] * 18))
    assert texts == [""]
    assert scores[0] > 0.99


def test_no_plates_give_no_texts() -> None:
    texts, scores = decoding.decode(np.empty((0, 23, 18), np.float32))
    assert texts == []
    assert scores.shape == (0,)
    assert scores.dtype == np.float32


def test_huge_logits_stay_finite() -> None:
    _, scores = decoding.decode(logits_of([3] * 18, certainty=3e4))
    assert scores[0] == pytest.approx(1.0)

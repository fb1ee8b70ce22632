import numpy as np
import pytest

from plates import alphabet, ctc, grammar
from plates.alphabet import BLANK
from plates.ctc import Doubles
from plates.search import search

TEXTS = ("B840OK197", "A777AA777", "KH73366", "EE464752", "X080527", "O000OO77")


def path_of(text: str) -> list[int]:
    """Return 18 classes that spell a text: characters with blanks between."""
    path = [label for index in alphabet.encode(text) for label in (index, BLANK)]
    return (path + [BLANK] * 18)[:18]


def probabilities(count: int, certainty: float, seed: int = 0) -> Doubles:
    """Return noisy distributions (count, 23, 18) about the paths of texts."""
    logits = np.random.default_rng(seed).normal(0, 1.5, (count, alphabet.CLASSES, 18))
    for row, text in zip(logits, (TEXTS * count)[:count], strict=True):
        row[path_of(text), range(18)] += certainty
    return np.exp(ctc.log_softmax(logits.astype(np.float32)))


def exact_mass(distribution: Doubles, lines: int) -> float:
    """Sum over all texts of the grammar, by a forward pass over its states and the last class."""
    automaton = grammar.build()
    states = len(automaton.next)
    forward = np.zeros((states, alphabet.CLASSES))
    forward[automaton.start[lines], BLANK] = 1
    for step in distribution.T:
        after = np.zeros_like(forward)
        after[:, BLANK] = forward.sum(axis=1) * step[BLANK]
        for label in range(BLANK):
            after[:, label] += forward[:, label] * step[label]
            coming = (forward.sum(axis=1) - forward[:, label]) * step[label]
            np.add.at(after[:, label], automaton.next[:, label], coming)
        after[grammar.DEAD] = 0
        forward = after
    return float(forward[automaton.priors.any(axis=1)].sum())


@pytest.mark.parametrize("certainty", [2.0, 5.0, 9.0])
def test_probabilities_are_those_of_the_forward_algorithm(certainty: float) -> None:
    distributions = probabilities(12, certainty)
    found = search(distributions, 1)
    for plate in range(12):
        best = np.argsort(-found.probabilities[plate])[:10]
        labels = [row[row >= 0].astype(np.intp) for row in found.characters[plate, best]]
        assert all(grammar.admits(label.tolist()) for label in labels)
        assert len({tuple(label) for label in labels}) == len(labels)
        exact = np.exp(ctc.log_probability(np.log(distributions[[plate] * len(best)]), labels))
        np.testing.assert_allclose(found.probabilities[plate, best], exact, rtol=1e-6)


@pytest.mark.parametrize("certainty", [4.0, 6.0, 9.0, 12.0])
def test_what_is_missed_is_bounded_and_little_where_the_reader_is_sure(certainty: float) -> None:
    distributions = probabilities(6, certainty)
    found = search(distributions, 1)
    exact = np.array([exact_mass(distribution, 1) for distribution in distributions])
    known = found.probabilities.sum(axis=1)
    assert (known <= exact + 1e-9).all()
    assert (known + found.missed >= exact - 1e-9).all()
    if certainty == 12.0:
        assert (found.missed < 0.02).all()


@pytest.mark.parametrize("lines", [1, 2])
def test_plates_are_searched_together_as_alone(lines: int) -> None:
    distributions = probabilities(20, 4.0)
    together = search(distributions, lines)
    for plate in range(20):
        alone = search(distributions[plate : plate + 1], lines)
        np.testing.assert_allclose(np.sort(alone.probabilities[0])[-10:], np.sort(together.probabilities[plate])[-10:])
        np.testing.assert_allclose(alone.missed[0], together.missed[plate], atol=1e-6)


def test_two_lines_hold_other_texts_than_one() -> None:
    distribution = np.full((1, alphabet.CLASSES, 18), 1e-6)
    distribution[0, path_of("1234AB77"), range(18)] = 1 - 22e-6
    one, two = (search(distribution, lines) for lines in (1, 2))
    for found in (one, two):
        best = found.characters[0, found.probabilities[0].argmax()]
        assert "".join(alphabet.CHARACTERS[label] for label in best if label >= 0) == "1234AB77"
    taxi = np.full((1, alphabet.CLASSES, 18), 1e-6)
    taxi[0, path_of("KH73366"), range(18)] = 1 - 22e-6
    assert search(taxi, 1).probabilities.sum() > 0.9
    assert search(taxi, 2).probabilities.sum() < 1e-3


@pytest.mark.parametrize(("lines", "steps", "nothing"), [(1, 18, 1e-9), (2, 37, 1e-4)])
def test_a_class_that_never_comes_makes_no_nonsense(lines: int, steps: int, nothing: float) -> None:
    distribution = np.zeros((1, alphabet.CLASSES, steps))
    distribution[0, BLANK] = 1
    found = search(distribution, lines)
    assert np.isfinite(found.probabilities).all()
    assert found.probabilities.sum() < nothing

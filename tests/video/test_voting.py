"""The vote over the readings of one plate."""

import numpy as np
import pytest

from gateway.video.voting import TextVote, Verdict
from plates.alphabet import CHARACTERS

TEXT = "B840OK197"


def vote(*readings: list[tuple[str, float]]) -> Verdict:
    box = TextVote()
    for reading in readings:
        box.add(reading)
    return box.verdict()


def test_one_reading_is_what_it_says() -> None:
    verdict = vote([(TEXT, 0.9), ("B840OK191", 0.05)])
    assert verdict.text == TEXT
    assert verdict.score == pytest.approx(0.9)


def test_equal_readings_prove_no_more_than_one() -> None:
    once = vote([(TEXT, 0.7), ("B840OX197", 0.1)])
    often = vote(*[[(TEXT, 0.7), ("B840OX197", 0.1)]] * 50)
    assert often.text == once.text
    assert often.score == pytest.approx(once.score)


def test_the_text_may_be_one_that_no_frame_has_read() -> None:
    verdict = vote([("X840OK197", 0.6)], [("B840OK797", 0.6)], [("B840CK197", 0.6)])
    assert verdict.text == TEXT


def test_one_certain_reading_outweighs_several_uncertain_ones() -> None:
    blurred = [("B840OK199", 0.2)]
    assert vote(blurred, blurred, blurred, [(TEXT, 0.95)]).text == TEXT


def test_texts_of_another_length_do_not_shift_the_characters() -> None:
    assert vote([(TEXT, 0.8)], [("840OK197", 0.5)], [("840OK197", 0.4)]).text == TEXT


def test_disagreement_lowers_the_score() -> None:
    united = vote([(TEXT, 0.9)], [(TEXT, 0.9)])
    divided = vote([(TEXT, 0.9)], [("B840OK777", 0.8)])
    assert divided.text == TEXT
    assert divided.score < 0.7 < united.score


def test_nothing_read_is_no_text() -> None:
    assert vote() == Verdict("", 0.0)
    assert vote([], [("", 0.9)], [(TEXT, 0.0)]) == Verdict("", 0.0)


def test_a_reading_of_nothing_changes_nothing() -> None:
    assert vote([(TEXT, 0.8)], []) == vote([(TEXT, 0.8)])


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_readings_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    readings = [[(misread(rng, 0.3), rng.random())] for _ in range(12)]
    shuffled = [readings[index] for index in rng.permutation(len(readings))]
    first, second = vote(*readings), vote(*shuffled)
    assert first.text == second.text
    assert first.score == pytest.approx(second.score)


def test_the_vote_is_right_more_often_than_its_best_frame() -> None:
    rng = np.random.default_rng(7)
    voted = best = 0
    for _ in range(200):
        # Certainty says little about which frame is right: the vote has to come from the characters.
        readings = [[(misread(rng, 0.08), rng.uniform(0.4, 0.9))] for _ in range(8)]
        voted += vote(*readings).text == TEXT
        best += max(readings, key=lambda reading: reading[0][1])[0][0] == TEXT
    assert voted > 190 > 120 > best


def test_a_score_is_a_share() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        verdict = vote(*[[(misread(rng, 0.5), rng.random() / 2), (TEXT, rng.random() / 2)] for _ in range(4)])
        assert 0 <= verdict.score <= 1


def misread(rng: np.random.Generator, rate: float) -> str:
    """The text with each character replaced at that rate."""
    return "".join(CHARACTERS[rng.integers(22)] if rng.random() < rate else character for character in TEXT)

import itertools
import math

import numpy as np
import pytest

from plates import alphabet, contract, ctc, decoding, formats
from plates.alphabet import BLANK
from plates.formats import Format


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
    probabilities = np.exp(ctc.log_softmax(logits))[0]
    totals: dict[str, float] = {}
    for path in itertools.product(range(alphabet.CLASSES), repeat=3):
        text = collapse(path)
        totals[text] = totals.get(text, 0.0) + float(probabilities[path, range(3)].prod())
    (text,), scores = decoding.decode(logits)
    assert scores[0] == pytest.approx(totals[text], rel=1e-5)


def test_a_doubled_character_needs_a_blank_between() -> None:
    zero = alphabet.encode("0")[0]
    logits = logits_of([zero, BLANK, zero], certainty=1.0)
    probabilities = np.exp(ctc.log_softmax(logits))[0]
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


def logits_saying(text: str, certainty: float = 12.0) -> decoding.Floats:
    """Return logits (1, 23, 18) of a reader that sees this text: a blank follows each character."""
    path = [label for index in alphabet.encode(text) for label in (index, BLANK)]
    return logits_of((path + [BLANK] * contract.TIME_STEPS)[: contract.TIME_STEPS], certainty)


def hint(logits: decoding.Floats, step: int, character: str, value: float) -> None:
    """Make a reader see another character at a step, too."""
    logits[0, alphabet.encode(character)[0], step] = value


def test_a_clear_plate_is_read_with_its_format_and_region() -> None:
    (reading,) = decoding.read(logits_saying("B840OK197"))
    assert (reading.text, reading.format, reading.region, reading.lines) == ("B840OK197", Format.CIVIL, "197", 1)
    assert reading.score > 0.99
    assert len(reading.character_scores) == 9
    assert min(reading.character_scores) > 0.99
    assert reading.candidates[0] == decoding.Candidate("B840OK197", reading.score)


@pytest.mark.parametrize(
    ("seen", "text"),
    [("B84OOK197", "B840OK197"), ("8840OK197", "B840OK197"), ("B8400K197", "B840OK197"), ("B840OKB7", "B840OK87")],
)
def test_the_place_decides_between_look_alikes(seen: str, text: str) -> None:
    """The reader sees one of a pair twice as clearly as the other, which is what stands there on most plates."""
    logits = logits_saying(seen, 10.0)
    for position, (wrong, right) in enumerate(zip(seen, text, strict=True)):
        if wrong != right:
            hint(logits, 2 * position, right, 10.0 - math.log(2))
    (reading,) = decoding.read(logits)
    assert reading.text == text
    assert reading.score > 0.8


def test_what_is_seen_clearly_wins_although_it_fits_nothing() -> None:
    (reading,) = decoding.read(logits_saying("123ABO02"))
    assert (reading.text, reading.format, reading.region) == ("123ABO02", Format.UNKNOWN, "")
    assert reading.score > 0.9
    assert min(reading.character_scores) > 0.9


def test_the_less_a_russian_plate_is_expected_the_less_is_bent_to_one() -> None:
    logits = logits_saying("B84OOK197", 10.0)
    hint(logits, 6, "0", 10.0 - math.log(5))
    assert decoding.read(logits, grammar_odds=10.0)[0].text == "B840OK197"
    assert decoding.read(logits, grammar_odds=1.0)[0].text == "B84OOK197"


def test_scores_of_all_candidates_come_to_one_at_most_and_the_best_is_first() -> None:
    rng = np.random.default_rng(3)
    logits = np.concatenate([logits_saying("B840OK197", 8.0)] * 30)
    logits += rng.normal(0, 1.2, logits.shape).astype(np.float32)
    readings = decoding.read(logits)
    assert sum(reading.score > 0.5 for reading in readings) > 10
    for reading in readings:
        scores = [candidate.score for candidate in reading.candidates]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) <= 1 + 1e-9
        assert len(scores) <= contract.CANDIDATES
        assert len({candidate.text for candidate in reading.candidates}) == len(scores)
        assert len(reading.character_scores) == len(reading.text)
        assert all(reading.score <= score <= 1 for score in reading.character_scores)
        assert reading.format == formats.parse(reading.text)[0]


def test_the_unsure_character_is_the_one_with_the_low_score() -> None:
    logits = logits_saying("B840OK197", 12.0)
    hint(logits, 4, "6", 11.5)
    (reading,) = decoding.read(logits)
    assert reading.text == "B840OK197"
    assert [candidate.text for candidate in reading.candidates][:2] == ["B840OK197", "B860OK197"]
    assert min(range(9), key=lambda place: reading.character_scores[place]) == 2
    assert reading.character_scores[2] == pytest.approx(1 / (1 + math.exp(-0.5)), abs=0.01)


def test_a_repeated_digit_is_counted_by_the_probability_of_whole_texts() -> None:
    """The most probable single path spells 77; the many paths that spell 777 together are more probable."""
    seven, blank = alphabet.encode("7")[0], BLANK
    logits = logits_saying("A111AA", 14.0)
    logits[0, :, 12:] = 0
    for step, parted in enumerate([0.0, 0.45, 0.0, 0.45, 0.0, 0.0]):
        logits[0, [seven, blank], 12 + step] = 9.0, 9.0 + parted - 0.3
    texts, _ = decoding.decode(logits)
    (reading,) = decoding.read(logits)
    by_text = {candidate.text: candidate.score for candidate in reading.candidates}
    assert reading.score == max(by_text.values())
    exact = {
        text: float(np.exp(ctc.log_probability(ctc.log_softmax(logits), [np.array(alphabet.encode(text))]))[0])
        for text in by_text
    }
    assert reading.text == max(exact, key=exact.__getitem__)
    assert by_text["A111AA777"] / by_text["A111AA77"] == pytest.approx(exact["A111AA777"] / exact["A111AA77"], rel=1e-6)
    assert texts[0] in by_text


def test_two_lines_are_read_by_their_own_formats() -> None:
    (one,) = decoding.read(logits_saying("1234AB77"))
    (two,) = decoding.read(decoding.join_lines(np.concatenate([logits_saying("1234"), logits_saying("AB77")])), 2)
    assert (one.format, two.format) == (Format.MILITARY, Format.MOTORCYCLE)
    assert (one.lines, two.lines) == (1, 2)
    assert two.region == "77"


def test_the_end_of_a_line_and_the_beginning_of_the_other_are_two_characters() -> None:
    letter, seven = alphabet.encode("A7")
    upper = [letter, *[seven] * (contract.TIME_STEPS - 1)]
    lower = [*[seven] * (contract.TIME_STEPS - 1), letter]
    joined = decoding.join_lines(np.concatenate([logits_of(upper), logits_of(lower)]))
    assert joined.shape == (1, alphabet.CLASSES, 2 * contract.TIME_STEPS + 1)
    assert decoding.decode(joined)[0] == ["A77A"]


def test_a_line_that_shows_nothing_at_all_can_be_searched() -> None:
    sure_of_blanks = logits_of([BLANK] * contract.TIME_STEPS) * 50
    (reading,) = decoding.read(decoding.join_lines(np.concatenate([sure_of_blanks] * 2)), 2)
    assert np.isfinite(reading.score)


def test_a_diplomats_plate_has_a_d() -> None:
    (reading,) = decoding.read(logits_saying("001O00177"))
    assert (reading.text, reading.format, reading.region) == ("001D00177", Format.DIPLOMATIC, "77")


def test_temperature_takes_from_how_sure_it_is_and_not_from_what_is_read() -> None:
    logits = logits_saying("B840OK197", 9.0)
    cold, warm = (decoding.read(logits, temperature=temperature)[0] for temperature in (1.0, 1.6))
    assert cold.text == warm.text
    assert warm.score < cold.score


def test_a_reader_that_sees_nothing_has_no_candidates() -> None:
    (reading,) = decoding.read(logits_of([BLANK] * contract.TIME_STEPS))
    assert (reading.text, reading.score, reading.candidates, reading.character_scores) == ("", 0.0, (), ())
    assert (reading.format, reading.region) == (Format.UNKNOWN, "")


@pytest.mark.parametrize("lines", [1, 2])
def test_a_batch_is_read_as_its_plates_alone(lines: int) -> None:
    logits = np.random.default_rng(2).normal(0, 3, (40, alphabet.CLASSES, 18)).astype(np.float32)
    logits[::3] = logits_saying("KH73366", 6.0) + logits[::3] / 2
    logits[7] = logits_of([BLANK] * 18)
    for index, together in enumerate(decoding.read(logits, lines)):
        (alone,) = decoding.read(logits[index : index + 1], lines)
        assert alone.text == together.text
        assert alone.score == pytest.approx(together.score, rel=1e-4)


def test_no_plates_give_no_readings() -> None:
    assert decoding.read(np.empty((0, 23, 18), np.float32)) == []

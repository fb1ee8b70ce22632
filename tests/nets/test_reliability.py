import math

import pytest

from nets.metrics import Answer, Label, Sample
from nets.reliability import Scored, expected_calibration_error, log_loss, reliability, scored

BOX = (0.0, 0.0, 100.0, 20.0)


def texts(score: float, right: int, wrong: int) -> list[Scored]:
    return [Scored(score, True)] * right + [Scored(score, False)] * wrong


def test_scores_that_come_true_have_no_error() -> None:
    assert expected_calibration_error(texts(0.75, 3, 1) + texts(0.5, 5, 5)) == pytest.approx(0)


def test_the_error_is_the_gap_of_each_bin_weighted_by_its_texts() -> None:
    sure_and_half_right, doubtful_and_right = texts(0.95, 3, 3), texts(0.25, 2, 0)
    error = expected_calibration_error(sure_and_half_right + doubtful_and_right)
    assert error == pytest.approx((6 * 0.45 + 2 * 0.75) / 8)


def test_bins_hold_every_score_from_zero_to_one_once() -> None:
    bins = reliability([Scored(score, True) for score in (0.0, 0.1, 0.11, 1.0)], bins=10)
    assert [bin_.count for bin_ in bins] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert (bins[9].score, bins[9].accuracy) == (1.0, 1.0)
    assert math.isnan(bins[5].score)


def test_sure_mistakes_cost_most() -> None:
    assert log_loss(texts(0.5, 1, 1)) == pytest.approx(math.log(2))
    assert log_loss(texts(0.9, 0, 1)) > log_loss(texts(0.6, 0, 1)) > log_loss(texts(0.6, 1, 0))
    assert math.isfinite(log_loss(texts(1.0, 0, 1) + texts(0.0, 1, 0)))


def test_nothing_scored_is_not_measured() -> None:
    assert math.isnan(expected_calibration_error([]))
    assert math.isnan(log_loss([]))


def test_held_back_texts_count_and_plates_without_a_label_or_an_answer_do_not() -> None:
    held_back = Answer(BOX, "", 1.0, 0.3, "A123BC77")
    samples = [
        Sample("photo", Label(BOX, "A123BC77"), held_back, 1.0),
        Sample("photo", Label(BOX, "M001MM99"), held_back, 1.0),
        Sample("photo", Label(BOX, None), held_back, 1.0),
        Sample("photo", Label(BOX, "A123BC77"), None, 0.0),
    ]
    assert scored(samples) == [Scored(0.3, True), Scored(0.3, False)]

import math

import pytest

from nets import goals
from nets.goals import Goal
from nets.metrics import Answer, Label, Report

BOX = (0.0, 0.0, 100.0, 20.0)

MORE = Goal("more is better", 0.9, 0.95)
LESS = Goal("less is better", 0.05, 0.02, at_most=True)


@pytest.mark.parametrize(
    ("goal", "value", "verdict"),
    [
        (MORE, 0.95, "aim"),
        (MORE, 0.9, "pass"),
        (MORE, 0.899, "FAIL"),
        (LESS, 0.02, "aim"),
        (LESS, 0.05, "pass"),
        (LESS, 0.051, "FAIL"),
        (MORE, math.nan, "-"),
    ],
)
def test_a_value_is_judged_by_what_must_be_and_what_is_aimed_at(goal: Goal, value: float, verdict: str) -> None:
    assert goal.verdict(value) == verdict


def test_what_fails_and_what_was_not_measured_is_missed() -> None:
    assert goals.missed({MORE: 0.92, LESS: 0.2}) == [LESS]
    assert goals.missed({MORE: math.nan}) == [MORE]


def test_the_figures_of_whole_photos() -> None:
    report = Report()
    read = Answer(BOX, "A123BC77", 0.9, 0.8, "A123BC77")
    report.add([Label(BOX, "A123BC77")], [read], complete=True)
    report.add([Label(BOX, "M001MM99")], [read], complete=True)
    report.add([], [read], complete=True)
    figures = goals.end_to_end(report)
    assert figures[goals.RECALL] == 1
    assert figures[goals.PRECISION] == pytest.approx(2 / 3)
    assert figures[goals.MEAN_IOU] == 1
    assert figures[goals.EXACT_END_TO_END] == 0.5
    assert figures[goals.WRONG] == 0.5
    assert figures[goals.CALIBRATION] == pytest.approx(0.3)

import math

import numpy as np
import pytest

from nets.metrics import Answer, Label, Report, Sample, Tally, match
from plates.geometry import Floats

LEFT = (0.0, 0.0, 100.0, 20.0)
RIGHT = (200.0, 0.0, 300.0, 20.0)


def boxes(*rows: tuple[float, float, float, float]) -> Floats:
    return np.array(rows, np.float32).reshape(-1, 4)


def test_each_labelled_plate_is_found_once_and_by_the_better_scored_box() -> None:
    pairs = match(boxes(LEFT), boxes((0, 0, 90, 20), LEFT))
    assert [(label, found) for label, found, _ in pairs] == [(0, 0)]
    assert pairs[0][2] == pytest.approx(0.9)


def test_a_box_takes_the_label_that_it_covers_best() -> None:
    near = (30.0, 0.0, 130.0, 20.0)
    assert [pair[:2] for pair in match(boxes(near, LEFT), boxes(LEFT, near))] == [(1, 0), (0, 1)]


def test_less_than_half_overlap_is_not_found() -> None:
    assert match(boxes(LEFT), boxes((0, 0, 49, 20))) == []
    assert len(match(boxes(LEFT), boxes((0, 0, 51, 20)))) == 1


@pytest.mark.parametrize(("labels", "found"), [((), (LEFT,)), ((LEFT,), ()), ((), ())])
def test_nothing_matches_nothing(
    labels: tuple[tuple[float, float, float, float], ...], found: tuple[tuple[float, float, float, float], ...]
) -> None:
    assert match(boxes(*labels), boxes(*found)) == []


def test_a_photo_with_a_right_a_wrong_and_a_missed_plate() -> None:
    labels = [Label(LEFT, "A123BC77"), Label(RIGHT, "M001MM99"), Label((0, 100, 50, 110), "E555EE55")]
    answers = [Answer(LEFT, "A123BC77"), Answer(RIGHT, "M007MM99"), Answer((0, 200, 90, 220), "X000XX00")]
    report = Report()
    report.add(labels, answers, complete=True)
    everything = report.everything
    assert (everything.plates, everything.found, everything.texts, everything.exact, everything.wrong) == (
        3,
        2,
        3,
        1,
        1,
    )
    assert everything.recall == pytest.approx(2 / 3)
    assert everything.exact_of_all == pytest.approx(1 / 3)
    assert everything.exact_of_found == pytest.approx(1 / 2)
    assert everything.wrong_of_all == pytest.approx(1 / 3)
    assert everything.character_error_rate == pytest.approx(1 / 16)
    assert everything.mean_iou == pytest.approx(1)
    assert report.precision == pytest.approx(2 / 3)
    assert [tally.plates for tally in report.buckets] == [0, 1, 0, 2, 0]
    assert (report.headline.plates, report.headline.found, report.headline.exact) == (2, 2, 1)


def test_an_extra_answer_is_no_mistake_where_not_every_plate_is_labelled() -> None:
    report = Report()
    report.add([Label(LEFT, None)], [Answer(LEFT, "A123BC77"), Answer(RIGHT, "M001MM99")], complete=False)
    assert report.judged == 0
    assert math.isnan(report.precision)


def test_a_plate_that_nobody_needs_to_find_is_neither_right_nor_wrong() -> None:
    report = Report()
    ghost = (0.0, 200.0, 90.0, 220.0)
    report.add([Label(LEFT, None)], [Answer(LEFT), Answer(RIGHT), Answer(ghost)], complete=True, ignored=[RIGHT])
    assert (report.judged, report.right) == (2, 1)
    missed = Report()
    missed.add([Label(LEFT, None)], [Answer(LEFT)], complete=True, ignored=[RIGHT])
    assert (missed.judged, missed.precision, missed.everything.plates) == (1, 1.0, 1)


def test_every_answer_on_a_photo_without_plates_is_a_mistake() -> None:
    report = Report()
    report.add([], [Answer(LEFT)], complete=True)
    assert (report.photos, report.judged, report.precision) == (1, 1, 0.0)


def test_a_plate_without_a_text_counts_for_finding_only() -> None:
    report = Report()
    report.add([Label(LEFT, None)], [Answer(LEFT, "A123BC77")], complete=True)
    assert (report.everything.found, report.everything.texts, report.everything.wrong) == (1, 0, 0)
    assert report.headline.plates == 0


def test_an_empty_answer_is_missing_and_not_wrong() -> None:
    tally = Tally.of([Sample("photo", Label(LEFT, "A123BC77"), Answer(LEFT, ""), 1.0)])
    assert (tally.exact, tally.wrong, tally.edits) == (0, 0, 8)


@pytest.mark.parametrize(("width", "findable", "headline"), [(29, 0, 0), (30, 1, 0), (59, 1, 0), (60, 1, 1)])
def test_what_is_promised_begins_at_exact_widths(width: int, findable: int, headline: int) -> None:
    report = Report()
    report.add([Label((0, 0, width, 17), "A123BC77")], [], complete=True)
    assert (report.findable.plates, report.headline.plates) == (findable, headline)


def test_plates_can_be_counted_by_what_their_label_says() -> None:
    report = Report()
    report.add([Label(LEFT, "A123BC77", "yellow"), Label(RIGHT, "M001MM99")], [Answer(LEFT, "A123BC77")], False)
    assert report.tally(lambda label: label.type == "yellow").exact == 1
    assert report.tally(lambda label: label.type == "standard").found == 0


def test_precision_is_at_least_what_it_is_when_everything_unlabelled_is_a_mistake() -> None:
    report = Report()
    report.add([Label(LEFT, None)], [Answer(LEFT), Answer(RIGHT)], complete=False)
    report.add([Label(LEFT, None)], [Answer(LEFT)], complete=True)
    assert report.precision == 1.0
    assert report.precision_at_least == pytest.approx(2 / 3)
    assert [extra.answer.box for extra in report.extras] == [RIGHT]


def detections(*found: tuple[bool, float], plates: int) -> Report:
    """A report of so many plates, one photo each, and of (right, score) finds on photos of their own."""
    report = Report()
    right = [score for is_right, score in found if is_right]
    for number in range(plates):
        answers = [Answer(LEFT, detection_score=right[number])] if number < len(right) else []
        report.add([Label(LEFT, None)], answers, complete=False)
    for is_right, score in found:
        if not is_right:
            report.add([], [Answer(LEFT, detection_score=score)], complete=True)
    return report


@pytest.mark.parametrize(
    ("found", "plates", "expected"),
    [
        (((True, 0.9), (True, 0.8)), 2, 1.0),
        (((True, 0.9), (False, 0.1)), 1, 1.0),
        (((False, 0.9), (True, 0.1)), 1, 1 / 2),
        (((True, 0.9), (False, 0.5), (True, 0.4)), 2, (1 + 2 / 3) / 2),
        # The precision at a recall is the best at that recall or a higher one.
        (((False, 0.9), (True, 0.8), (True, 0.7)), 2, 2 / 3),
        (((True, 0.9),), 4, 1 / 4),
        ((), 3, 0.0),
    ],
)
def test_average_precision_is_the_area_under_precision_over_recall(
    found: tuple[tuple[bool, float], ...], plates: int, expected: float
) -> None:
    assert detections(*found, plates=plates).average_precision == pytest.approx(expected)


def test_average_precision_of_nothing_is_not_measured() -> None:
    assert math.isnan(Report().average_precision)

"""What the networks must show, figure by figure, and whether they do."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nets.metrics import Report
from nets.reliability import expected_calibration_error, scored


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure, the value at which the work is done, and the one that it goes on towards."""

    figure: str
    must: float
    aim: float
    at_most: bool = False
    """Whether less is better."""

    def verdict(self, value: float) -> str:
        """Return "aim", "pass" or "FAIL" for a value, and "-" for NaN: not measured."""
        if math.isnan(value):
            return "-"
        if self._reaches(value, self.aim):
            return "aim"
        return "pass" if self._reaches(value, self.must) else "FAIL"

    def _reaches(self, value: float, bound: float) -> bool:
        return value <= bound if self.at_most else value >= bound


RECALL: Final = Goal("detection recall at IoU 0.5, plates >= 30 px wide", 0.95, 0.99)
PRECISION: Final = Goal("detection precision, complete scenes and negatives", 0.95, 0.99)
MEAN_IOU: Final = Goal("mean IoU of matched boxes", 0.78, 0.85)
EXACT_SCENES: Final = Goal("exact given the true box, scenes, plates >= 60 px wide", 0.95, 0.985)
EXACT_CROPS: Final = Goal("exact given the true box, all crops", 0.93, 0.975)
EXACT_END_TO_END: Final = Goal("exact end to end, plates >= 60 px wide", 0.90, 0.96)
WRONG: Final = Goal("wrong texts given out, end to end", 0.04, 0.01, at_most=True)
CALIBRATION: Final = Goal("expected calibration error of the score", 0.05, 0.02, at_most=True)

Figures = Mapping[Goal, float]
"""What was measured; NaN where there was nothing to measure."""


def end_to_end(report: Report) -> dict[Goal, float]:
    """Return the figures that need nothing but what became of whole photos."""
    return {
        RECALL: report.findable.recall,
        PRECISION: report.precision,
        MEAN_IOU: report.everything.mean_iou,
        EXACT_END_TO_END: report.headline.exact_of_all,
        WRONG: report.everything.wrong_of_all,
        CALIBRATION: expected_calibration_error(scored(report.samples)),
    }


def missed(figures: Figures) -> list[Goal]:
    """Return the goals whose "must" isn't reached; not measured is not reached."""
    return [goal for goal, value in figures.items() if goal.verdict(value) in {"FAIL", "-"}]

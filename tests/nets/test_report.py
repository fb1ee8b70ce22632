import math
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from nets import goals, report, report_sheet
from nets.confusion import confusion
from nets.metrics import Answer, Label, Report
from nets.reliability import Scored, reliability
from nets.report import Grid
from nets.report_figures import confusion_svg, reliability_svg

LEFT = (10.0, 10.0, 110.0, 30.0)
RIGHT = (210.0, 10.0, 310.0, 30.0)
SVG = "{http://www.w3.org/2000/svg}"


def test_a_grid_becomes_a_table_of_a_document() -> None:
    assert Grid(("width", "found"), [("all", "1")]).markdown() == "| width | found |\n| --- | ---: |\n| all | 1 |\n"


def test_plates_are_laid_out_by_a_property_of_their_labels_the_commonest_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Report()
    counted.add([Label(LEFT, None, "yellow")], [], complete=False)
    counted.add([Label(LEFT, "A123BC77"), Label(RIGHT, None)], [Answer(LEFT, "A123BC77")], complete=False)
    monkeypatch.setattr(report, "RARE", 1)
    rows = report.by_label(counted, "type", lambda label: label.type).rows
    assert [row[:3] for row in rows] == [("standard", "2", "50.0%"), ("yellow", "1", "0.0%")]


def test_rare_values_are_counted_together() -> None:
    counted = Report()
    counted.add([Label(LEFT, None)] * report.RARE, [], complete=False)
    counted.add([Label(LEFT, None, "trailer")], [], complete=False)
    assert [row[:2] for row in report.by_label(counted, "type", lambda label: label.type).rows] == [
        ("standard", "5"),
        ("trailer", "1"),
    ]
    counted.add([Label(LEFT, None, "yellow")], [], complete=False)
    assert [row[:2] for row in report.by_label(counted, "type", lambda label: label.type).rows] == [
        ("standard", "5"),
        ("2 others", "2"),
    ]


def test_goals_say_what_was_measured_and_what_must_be() -> None:
    rows = report.goal_grid({goals.WRONG: 0.03, goals.RECALL: math.nan}).rows
    assert rows[0] == (goals.WRONG.figure, "0.030", "<= 0.04", "<= 0.01", "pass")
    assert rows[1][1:] == ("-", ">= 0.95", ">= 0.99", "-")


def test_a_section_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_text("before\n<!-- begin: nets -->\nold\n<!-- end: nets -->\nafter\n<!-- begin: other -->\n")
    for text in ("new \\1", "newer"):
        report.write_section(path, "nets", text)
        assert path.read_text() == (
            f"before\n<!-- begin: nets -->\n\n{text}\n\n<!-- end: nets -->\nafter\n<!-- begin: other -->\n"
        )


def test_a_section_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_text("nothing\n")
    with pytest.raises(ValueError, match="no section 'nets'"):
        report.write_section(path, "nets", "text")
    assert path.read_text() == "nothing\n"


def texts(drawing: str, kind: str = "text") -> list[str | None]:
    root = ElementTree.fromstring(drawing)  # noqa: S314 - our own drawing
    return [element.text for element in root.iter(f"{SVG}{kind}")]


def test_a_reliability_diagram_has_a_point_per_filled_bin() -> None:
    bins = reliability([Scored(0.95, True), Scored(0.93, False), Scored(0.15, False)])
    drawing = reliability_svg({"<all>": bins})
    assert texts(drawing, "title") == ["1 texts", "2 texts"]
    assert "<all> (3 texts)" in texts(drawing)


def test_a_confusion_matrix_shows_mistakes_and_no_right_characters() -> None:
    shown = texts(confusion_svg(confusion([("0", "O")] * 7 + [("1", "1")] * 50)))
    assert "7" in shown
    assert "50" not in shown


def photo(tmp_path: Path) -> str:
    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.full((120, 400, 3), 128, np.uint8))
    return str(path)


def test_worst_are_the_surest_mistakes_then_finds_that_are_no_plates_then_what_is_missing(tmp_path: Path) -> None:
    counted = Report()
    name = photo(tmp_path)
    doubtful, sure = (Answer(LEFT, "A123BC77", 0.9, score, "A123BC77") for score in (0.6, 0.9))
    counted.add([Label(LEFT, "M001MM99")], [doubtful], complete=True, photo=name)
    counted.add([Label(LEFT, "M001MM99")], [sure], complete=True, photo=name)
    counted.add([Label(LEFT, "M001MM99")], [], complete=True, photo=name)
    counted.add([Label(LEFT, "A123BC77")], [sure, Answer(RIGHT, "", 0.7)], complete=True, photo=name)
    cases = report_sheet.worst(counted)
    assert [(case.heading, case.detail) for case in cases] == [
        ("label M001MM99", "read A123BC77 0.90"),
        ("label M001MM99", "read A123BC77 0.60"),
        ("not labelled", " 0.70"),
        ("label M001MM99", "not found, 100 px"),
    ]
    assert report_sheet.worst(counted, limit=1) == cases[:1]


def test_a_contact_sheet_shows_each_case_even_at_the_border(tmp_path: Path) -> None:
    name = photo(tmp_path)
    cases = [report_sheet.Case(name, box, "label", "read") for box in (LEFT, (-20.0, -5.0, 30.0, 8.0))] * 3
    sheet = report_sheet.contact_sheet(cases)
    assert (sheet == 128).all(axis=2).any()
    path = tmp_path / "folder" / "sheet.png"
    report_sheet.save(cases, path)
    saved = cv2.imread(str(path))
    assert saved is not None
    assert saved.shape == sheet.shape


def test_a_contact_sheet_without_cases_is_white() -> None:
    assert (report_sheet.contact_sheet([]) == 255).all()

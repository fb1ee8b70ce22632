import pytest

from nets.confusion import NOTHING, SYMBOLS, align, commonest, confusion


@pytest.mark.parametrize(
    ("label", "text", "pairs"),
    [
        ("", "", []),
        ("A1", "A1", [("A", "A"), ("1", "1")]),
        ("A12", "A32", [("A", "A"), ("1", "3"), ("2", "2")]),
        ("A12", "A2", [("A", "A"), ("1", NOTHING), ("2", "2")]),
        ("A2", "A12", [("A", "A"), (NOTHING, "1"), ("2", "2")]),
        ("A", "", [("A", NOTHING)]),
    ],
)
def test_characters_are_paired_with_the_fewest_edits(label: str, text: str, pairs: list[tuple[str, str]]) -> None:
    assert align(label, text) == pairs


def test_counts_have_a_row_for_the_label_and_a_column_for_what_was_read() -> None:
    counts = confusion([("B8", "88"), ("B8", "B8"), ("0", "")])
    assert counts.sum() == 5
    assert counts[SYMBOLS.index("B"), SYMBOLS.index("8")] == 1
    assert counts[SYMBOLS.index("8"), SYMBOLS.index("8")] == 2
    assert counts[SYMBOLS.index("0"), SYMBOLS.index(NOTHING)] == 1


def test_the_commonest_mistakes_come_first_and_right_characters_are_none() -> None:
    counts = confusion([("0", "O")] * 3 + [("8", "B")] + [("1", "1")] * 9)
    assert commonest(counts) == [("0", "O", 3), ("8", "B", 1)]
    assert commonest(counts, limit=1) == [("0", "O", 3)]


def test_a_character_that_no_plate_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="substring"):
        confusion([("A", "Z")])

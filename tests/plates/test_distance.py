"""Levenshtein's distance."""

import pytest

from plates.distance import edit_distance


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("A123BC77", "A123BC77", 0),
        ("", "A12", 3),
        ("A123BC77", "A123BC777", 1),
        ("A123BC77", "A128BC77", 1),
        ("A123BC77", "123BC7", 2),
        ("AB", "BA", 2),
    ],
)
def test_edit_distance_counts_insertions_deletions_and_replacements(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b) == distance
    assert edit_distance(b, a) == distance

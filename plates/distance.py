"""How far texts are from each other."""


def edit_distance(a: str, b: str) -> int:
    """Return how many characters must be inserted, deleted or replaced to make `b` of `a` (Levenshtein)."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1]

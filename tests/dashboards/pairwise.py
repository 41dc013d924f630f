"""Few rows of many columns in which every two values meet: what one column does to another is seen, at a tenth of the
loads."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

Row = tuple[str, ...]


def pairwise(columns: Mapping[str, Sequence[str]]) -> list[Row]:
    """Rows that hold every pair of values of two columns at least once, those that meet most new pairs first.

    Greedy and always the same for the same columns. How a row is found: among all rows, the one with most new pairs.
    """
    open_pairs = {
        (one, two, first, second)
        for (one, firsts), (two, seconds) in combinations(enumerate(columns.values()), 2)
        for first, second in product(firsts, seconds)
    }
    candidates = list(product(*columns.values()))
    rows: list[Row] = []
    while open_pairs:
        best = max(candidates, key=lambda row: len(pairs_of(row) & open_pairs))
        open_pairs -= pairs_of(best)
        rows.append(best)
    return rows


def pairs_of(row: Row) -> set[tuple[int, int, str, str]]:
    """The pairs that a row holds, each with its columns."""
    return {(one, two, first, second) for (one, first), (two, second) in combinations(enumerate(row), 2)}

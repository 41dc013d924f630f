"""Memory, slow and plain: how much of what a team borrowed still counts, halved with every half-life."""

from collections.abc import Iterable

# 2^-n at whole half-lives and a straight line between, so that it stays whole numbers: at most 6.1 % above the curve.
_ONE = 1 << 32
_FORGOTTEN = 33  # half-lives after which nothing is left


def remembered_parts(
    spans: Iterable[tuple[int, int, int]], now_ms: int, half_life_ms: int, counts_permille: int
) -> int:
    """The average that a team borrowed, weighted by how recent it is, in parts, times `counts_permille`.

    `spans` are (start_at, end_at, borrowed part-milliseconds), in epoch milliseconds, as in the ledger's
    `quota_hourly`; what lies after `now_ms` does not count. Somebody who borrowed 8 GPUs for ever is remembered
    with 8 GPUs. Raises ValueError when the half-life is not above zero.
    """
    if half_life_ms <= 0:
        raise ValueError("a half-life is longer than zero")
    weighed = sum(
        borrowed_pms * _weight(now_ms - (start_ms + end_ms) // 2, half_life_ms)
        for start_ms, end_ms, borrowed_pms in spans
        if start_ms < end_ms <= now_ms
    )
    # The weights of all the past add up to 1.5 half-lives: three quarters of one, and half of that before it, …
    return weighed * 2 * counts_permille // (3 * half_life_ms * _ONE * 1000)


def _weight(age_ms: int, half_life_ms: int) -> int:
    halvings, rest_ms = divmod(age_ms, half_life_ms)
    if halvings >= _FORGOTTEN:
        return 0
    whole = _ONE >> halvings
    return whole - whole * rest_ms // (2 * half_life_ms)

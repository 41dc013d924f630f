"""Explaining a fair share: each step from the pool down to the team, in words and figures."""

from collections.abc import Iterator

from quartermaster.fairshare.division import Division, Path, Round, Share, Turn
from quartermaster.parts import GPU_PARTS
from quartermaster.text import visible


def explain(division: Division, team: str) -> list[str]:
    """How the team's share came about, a step a line. Raises KeyError when there is no such team."""
    share = division.of(team)
    lines = [
        f"{gpus(division.available_parts)} are available, dealt in units of {gpus(division.unit_parts)}."
    ]
    for depth in range(1, len(share.path) + 1):
        path = share.path[:depth]
        lines += _level(division.rounds[path[:-1]], division.shares[path], division.unit_parts)
    lines.append(f"{visible(team)}: {gpus(share.parts)}.")
    return lines


def gpus(parts: int) -> str:
    """`16 GPUs`, `1 GPU`, `2.5 GPUs`; to the thousandth, with ≈ where that is not exact."""
    thousandths, rest = divmod(abs(parts) * 1000, GPU_PARTS)
    thousandths += 2 * rest >= GPU_PARTS
    whole, fraction = divmod(thousandths, 1000)
    number = f"{whole:,}.{fraction:03d}".rstrip("0").rstrip(".")
    text = f"{'≈' if rest else ''}{'−' if parts < 0 else ''}{number}"
    return f"{text} GPU{'' if number == '1' else 's'}"


def _level(round_: Round, share: Share, unit_parts: int) -> Iterator[str]:
    name, told = visible(share.path[-1]), share.entitlement
    if round_.path:
        yield f"{_named(round_.path)} divides its {gpus(round_.given_parts)} among its members."
    if round_.overpromised:
        yield (
            f"More is promised here than there can be: {gpus(round_.promised_parts)} of "
            f"{gpus(round_.most_parts)}."
        )
    yield _wish(name, share)
    yield _promise(name, share, round_)
    if share.wants_parts == share.assured_parts:
        yield f"{name} wants no more: {gpus(share.parts)}."
        return
    turn = next(turn for turn in round_.turns if told.priority == turn.priority)
    yield _turn(name, share, turn)
    if turn.left_parts and turn.wanted_parts > turn.left_parts:
        yield _standing(name, share, unit_parts)


def _wish(name: str, share: Share) -> str:
    told = share.entitlement
    request = "its members want" if told.members else f"asks for {gpus(told.request_parts)}"
    if told.members:
        text = f"{name}: {request} {gpus(share.wants_parts)}"
    else:
        text = f"{name} {request}"
        if share.wants_parts != told.request_parts:
            text += f", of which {gpus(share.wants_parts)} count"
    return text + (f" (limit {gpus(told.limit_parts)})." if told.limit_parts is not None else ".")


def _promise(name: str, share: Share, round_: Round) -> str:
    if not share.promised_parts:
        return f"{name} has no guarantee."
    text = f"Its guarantee is {gpus(share.promised_parts)}; it asks for {gpus(share.claim_parts)} of that"
    if share.assured_parts == share.claim_parts:
        return text + " and gets it."
    return (
        f"{text} and gets {gpus(share.assured_parts)}: {gpus(round_.claimed_parts)} of guarantees are asked for "
        f"and only {gpus(round_.given_parts)} are there, so each gets the same part of its guarantee."
    )


def _turn(name: str, share: Share, turn: Turn) -> str:
    if not turn.left_parts:
        return f"Nothing is left for priority {turn.priority}; {name} stays at {gpus(share.parts)}."
    others = len(turn.names) - 1
    among = f"{name} and {others} other{'s' if others > 1 else ''}" if others else f"{name} alone"
    text = f"At priority {turn.priority} {gpus(turn.left_parts)} are left, and {among} want"
    text += ("" if others else "s") + f" {gpus(turn.wanted_parts)} more"
    if turn.wanted_parts <= turn.left_parts:
        return f"{text}: all get it, {name} {gpus(share.spare_parts)}."
    return f"{text}: {name} gets {gpus(share.spare_parts)} of them."


def _standing(name: str, share: Share, unit_parts: int) -> str:
    told = share.entitlement
    begins = f"{gpus(told.remembered_parts)} of past borrowing + " if told.remembered_parts else ""
    now = told.remembered_parts + share.spare_parts
    if share.parts == share.wants_parts:
        reason = "that is all it wants"
    else:
        after = gpus((now + unit_parts) // told.weight)
        reason = f"a unit more would be {after}, and others stand lower or come first"
    return (
        f"The next unit goes to whoever is least above its guarantee for its weight: {name} stands at "
        f"({begins}{gpus(share.spare_parts)}) ÷ weight {told.weight} = {gpus(now // told.weight)}; {reason}."
    )


def _named(path: Path) -> str:
    return "/".join(map(visible, path))

"""The manifest of a closed period: what was closed, as canonical JSON, and the hash of it. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from hashlib import sha256

from analytics.money.calendar import Period
from analytics.money.statement import to_cents
from quartermaster.clock import to_iso

_NOBODY = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What one team was told; a team of None: what no team bears."""

    statement: str  # 7-003
    team: str | None
    department: str
    cost_centre: str
    currency: str
    amount: Decimal  # in cents
    exact_amount: Decimal


@dataclass(frozen=True, slots=True)
class Owed:
    """The sum of a team's lines in one currency."""

    team: str | None
    department: str
    cost_centre: str
    currency: str
    exact_amount: Decimal


@dataclass(frozen=True, slots=True)
class Content:
    """A table that was closed: how many rows, and the hash of what stands in them."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A file that was written, and the hash of its bytes."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Closing:
    """Which closing of which period it is, and by which program."""

    period: Period
    calendar: str
    number: int
    replaces: int | None
    previous: tuple[int, str] | None  # number and hash of the closing before it, of whatever period
    versions: Mapping[str, str]  # program, ledger, and what wrote the files


def statements_of(number: int, owed: Sequence[Owed]) -> list[Statement]:
    """The statements of a closing: cents by largest remainder within each currency, numbered in order of name."""
    found: list[Statement] = []
    for currency in sorted({each.currency for each in owed}):
        mine = sorted(
            (each for each in owed if each.currency == currency), key=lambda one: one.team or _NOBODY
        )
        cents = to_cents({each.team or _NOBODY: each.exact_amount for each in mine})
        for each in mine:
            found.append(
                Statement(
                    f"{number}-{len(found) + 1:03d}",
                    each.team,
                    each.department,
                    each.cost_centre,
                    currency,
                    cents[each.team or _NOBODY],
                    each.exact_amount,
                )
            )
    return found


def manifest_of(
    closing: Closing, statements: Sequence[Statement], contents: Sequence[Content], pieces: Sequence[Piece]
) -> str:
    """The manifest: canonical JSON (sorted keys, no spaces, UTF-8). Amounts are text, for they are exact."""
    period = closing.period
    totals = {
        currency: {
            "amount": str(sum((one.amount for one in statements if one.currency == currency), Decimal(0))),
            "exact_amount": str(
                sum((one.exact_amount for one in statements if one.currency == currency), Decimal(0))
            ),
        }
        for currency in sorted({one.currency for one in statements})
    }
    return canonical(
        {
            "period": period.period,
            "calendar": closing.calendar,
            "time_zone": period.time_zone,
            "start_day": period.start_day,
            "end_day": period.end_day,
            "start_at": to_iso(period.start_ms),
            "end_at": to_iso(period.end_ms),
            "number": closing.number,
            "replaces": closing.replaces,
            "previous": closing.previous and {"number": closing.previous[0], "sha256": closing.previous[1]},
            "versions": dict(closing.versions),
            "totals": totals,
            "tables": [asdict(each) for each in contents],
            "files": [asdict(each) for each in pieces],
        }
    )


def canonical(value: object) -> str:
    """JSON in one form: keys sorted, no spaces, no escapes but the needed ones. Decimals become text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def hash_of(text: str | bytes) -> str:
    """SHA-256 of the bytes, of text in UTF-8, in hexadecimal."""
    return sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()

"""Waste: what is idle now, what was idle in a week, what asks for more than it uses, and what each costs a month."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from analytics.findings import Priced
from analytics.found import Kind
from analytics.money.rates import read_prices
from analytics.reports.figures import GPU_HOUR_PMS, Report
from analytics.scope import Scope
from analytics.views.rows import rows
from quartermaster.clock import DAY_MS, HOUR_MS, to_datetime
from quartermaster.parts import GPU_PARTS, mig_slices
from sql.ledger import Ledger

MONTH_MS = 365 * DAY_MS // 12
_LEAST_PMS = 24 * GPU_HOUR_PMS  # what held less is too short to be resized
_CERTAIN = 8  # tenths of the held time that must be known
_MEMORY = re.compile(r"(?<!\d)(\d{2,3})\s?GB", re.IGNORECASE)
_CUTTABLE = ("A30", "A100", "H100", "H200", "H800", "A800", "GH200", "B100", "B200", "GB200", "B300")
# What a slice has of the GPU: sevenths of its compute, eighths of its memory.
_SLICES = ((1, 1), (2, 2), (3, 4))
_MILLIONTH = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Noted:
    """What was noticed of a workload: since and until when (None: still so), what it cost so far, and a month."""

    kind: Kind
    subject: str
    team: str
    person_id: int | None
    since_ms: int
    until_ms: int | None
    parts: int  # that it holds (1 GPU = 168,000)
    idle_devices: int
    devices: int
    coverage_permille: int | None
    cost: Decimal | None
    a_month: Decimal | None
    currency: str
    doubts: int
    reported_only: bool


@dataclass(frozen=True, slots=True)
class Fitting:
    """A workload of whole GPUs that never used more than `sevenths` of one: what it held in the week and its peaks, and
    what a month of such slices would save (None: no price)."""

    title: str
    team: str
    model: str
    held_pms: int
    sevenths: int
    activity_peak_permille: int
    memory_peak_mib: int
    saves_a_month: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class Waste:
    """The waste that a reader may see of a week, beside its report: what was noted meanwhile, and what would fit a
    slice. `currency` is that of all its amounts ("": they have none, or several)."""

    noted: tuple[Noted, ...]
    fitting: tuple[Fitting, ...]
    currency: str

    @property
    def lasting(self) -> tuple[Noted, ...]:
        """What is still so."""
        return tuple(each for each in self.noted if each.until_ms is None)

    @property
    def forgotten(self) -> tuple[Noted, ...]:
        """The workspaces that were forgotten, still or for a time."""
        return tuple(each for each in self.noted if each.kind is Kind.forgotten)


def waste(ledger: Ledger, scope: Scope, report: Report) -> Waste:
    """The waste beside a week's report, of its team or of all that the reader may see.

    Raises InputError for a team that is not theirs, as for one that is unknown; LedgerError.
    """
    if report.team is not None:
        scope.require(report.team)
    given: dict[str, object] = {
        "teams": scope.bound if report.team is None else [report.team],
        "first_day": report.days[0],
        "last_day": report.days[-1],
        "start_at": to_datetime(report.start_ms),
        "end_at": to_datetime(report.end_ms),
        "least_pms": _LEAST_PMS,
    }
    with ledger.reading() as cursor:
        prices = Priced(read_prices(cursor), report.end_ms - 1)
        noted = tuple(_noted(row) for row in rows(cursor, "waste", "noted", **given))
        small = rows(cursor, "waste", "small", **given)
    priced = [found for row in small if (found := _fitting(row, prices, report.known_ms))]
    currencies = {each.currency for each in (*noted, *priced) if each.currency}
    return Waste(noted, tuple(priced), currencies.pop() if len(currencies) == 1 else "")


def a_month(amount: Decimal, span_ms: int) -> Decimal:
    """What comes to `amount` in a span comes to in a month: a twelfth of 365 days."""
    return (amount * MONTH_MS / max(1, span_ms)).quantize(_MILLIONTH, ROUND_HALF_EVEN)


def _noted(row: dict[str, Any]) -> Noted:
    gpus = Decimal(row["gpus"] or 0)
    return Noted(
        kind=Kind(row["kind"]),
        subject=row["subject"],
        team=row["team"],
        person_id=row["person_id"],
        since_ms=row["since_ms"],
        until_ms=row["until_ms"],
        parts=int(gpus * GPU_PARTS),
        idle_devices=row["idle_devices"],
        devices=row["devices"],
        coverage_permille=row["coverage_permille"],
        cost=row["cost"],
        a_month=_pace(row, gpus),
        currency=row["currency"] or "",
        doubts=row["doubts"],
        reported_only=row["reported_only"],
    )


def _pace(row: dict[str, Any], gpus: Decimal) -> Decimal | None:
    """What it costs a month: by the price of its idle GPU-hours, or by what it cost since it began."""
    if row["cost"] is None:
        return None
    hours = Decimal(row["idle_gpu_hours"] or 0)
    if hours:
        idle = gpus * row["idle_devices"] / row["devices"] if row["devices"] else gpus
        return a_month(row["cost"] / hours * idle, HOUR_MS)
    span_ms = row["noted_ms"] - row["since_ms"]
    return a_month(row["cost"], span_ms) if span_ms > 0 else None


def _fitting(row: dict[str, Any], prices: Priced, known_ms: int) -> Fitting | None:
    held, unknown = int(row["held"]), int(row["unknown"])
    if (held - unknown) * 10 < held * _CERTAIN or not row["computing"]:
        return None
    sevenths = fitting_sevenths(row["model"], row["activity_peak_permille"], row["memory_peak_mib"])
    if sevenths is None:
        return None
    price = prices.of(row["cluster"], row["pool"], row["model"])
    saved = held * (7 - sevenths) // 7
    return Fitting(
        f"{row['kind']} {row['namespace']}/{row['name']}",
        row["team"],
        row["model"],
        held,
        sevenths,
        row["activity_peak_permille"],
        row["memory_peak_mib"],
        None if price is None else a_month(price[0] * saved / GPU_HOUR_PMS, known_ms),
        price[1] if price else "",
    )


def fitting_sevenths(model: str, activity_peak_permille: int, memory_peak_mib: int) -> int | None:
    """The smallest MIG slice of a seven-sliced GPU that would have done, by its sevenths of compute; None where none
    would, MIG cannot cut the model, or its name does not say its memory."""
    words: Sequence[str] = re.split(r"[^A-Z0-9]+", model.upper())
    memory = _MEMORY.search(model)
    if memory is None or not set(_CUTTABLE) & set(words) or mig_slices(model) != 7:
        return None
    whole_mib = int(memory[1]) * 1000 * 1000 * 1000 // (1024 * 1024)
    for sevenths, eighths in _SLICES:
        if memory_peak_mib * 8 <= whole_mib * eighths and activity_peak_permille * 7 <= 1000 * sevenths:
            return sevenths
    return None

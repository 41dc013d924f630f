"""A quarter in the life of the books, from facts to closings, and what a brute-force accountant says of it.

Four GPUs in Berlin from October to December: clocks that change, pods that are told late, an end that was wrong, a
price that changes within an hour, an invoice that differs, a dispute, a period opened again, and another currency.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from analytics.business import days_between
from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from analytics.money.close import close, reopen
from analytics.money.corrections import correct
from analytics.money.disputes import decide_dispute, raise_dispute
from analytics.money.invoices import Invoice, InvoiceLine, import_invoice
from analytics.money.ready import Terms
from analytics.usage import roll_up
from quartermaster import records
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS
from sql.declare import declare
from sql.ledger import Ledger

ZONE, CLUSTER, MODEL, GPUS = "Europe/Berlin", "main", "NVIDIA H100", 4
START, END = from_iso("2026-10-01T00:00:00+02:00"), from_iso("2027-01-01T00:00:00+01:00")
PRICES = (  # from when, currency, and how much a GPU-hour
    (START, "EUR", Fraction(2)),
    (from_iso("2026-11-15T12:30:00+01:00"), "EUR", Fraction("3.1")),
    (from_iso("2026-12-01T00:00:00+01:00"), "USD", Fraction("2.5")),
)
INVOICE = Fraction("7234.56")  # for all of November
CREDIT = Fraction(5)  # what alpha's dispute brought it
CONFIGURATION = f"""
business: {{time_zone: {ZONE}}}
clusters: [{{name: {CLUSTER}}}]
pools: [{{name: training}}]
teams: [{{name: alpha, department: research, cost_centre: "1"}}, {{name: beta}}]
team_rules: [{{team: alpha, namespace: "a"}}, {{team: beta, namespace: "b"}}]
rate_cards:
  - {{card: a, author: anna, from: 2026-10-01T00:00:00+02:00, prices: [{{gpu_hour: "2"}}]}}
  - {{card: b, author: anna, from: 2026-11-15T12:30:00+01:00, prices: [{{gpu_hour: "3.1"}}]}}
  - {{card: c, author: anna, from: 2026-12-01T00:00:00+01:00, currency: USD, prices: [{{gpu_hour: "2.5"}}]}}
"""


@dataclass(frozen=True)
class Pod:
    """A pod on one GPU; `wrong_end` is when it was thought to end at first."""

    name: str
    namespace: str
    gpu: int
    start: str
    end: str
    told: str = ""  # from when the ledger knows of it; empty: in time
    wrong_end: str = ""
    mended: str = ""  # from when the ledger knows its true end

    @property
    def span(self) -> tuple[int, int]:
        return from_iso(self.start), from_iso(self.end)


PODS = (
    Pod("a0", "a", 0, "2026-10-01T00:00:00+02:00", "2026-11-30T18:00:00+01:00"),
    Pod("a1", "a", 1, "2026-10-03T07:10:00Z", "2026-12-24T12:00:00Z"),
    Pod("b0", "b", 2, "2026-10-10T06:20:30Z", "2026-12-20T07:10:07Z"),
    Pod("night", "a", 3, "2026-10-24T23:00:00Z", "2026-10-25T03:30:00Z"),  # over the hour that comes twice
    Pod("late", "b", 3, "2026-10-28T10:00:00Z", "2026-10-28T15:00:00Z", told="2026-11-10T00:00:00Z",
        wrong_end="2026-10-28T20:00:00Z", mended="2026-11-12T00:00:00Z"),
    Pod("later", "a", 3, "2026-10-30T01:00:00Z", "2026-10-30T02:20:00Z", told="2026-12-08T00:00:00Z"),
    Pod("b1", "b", 3, "2026-11-05T00:30:00Z", "2026-11-20T00:30:00Z"),
)  # fmt: skip


class Quarter:
    """The quarter in a ledger; `live` goes through it."""

    def __init__(self, ledger: Ledger, books: Path) -> None:
        self.ledger, self.calendar = ledger, Calendar(ZONE)
        self.terms = Terms(
            self.calendar, 0, "bert", [CLUSTER], grace_ms=5 * 24 * HOUR_MS, books=books, two_persons=True
        )
        self.batches = 0

    def live(self) -> None:
        """From the first fact to the last closing."""
        surroundings = Surroundings({}, Path("/nowhere"), Path.read_text)
        declare(self.ledger, parse_configuration(CONFIGURATION, "q", surroundings).need(), START)
        self._fleet()
        self._until("2026-11-03T00:00:00Z")
        self._close("2026-10", "2026-11-06T12:00:00Z")
        self._until("2026-11-10T06:00:00Z")  # the late pod comes, and is corrected
        self._until("2026-11-12T06:00:00Z")  # its end was wrong: a second correction
        self._dispute("2026-11-20T09:00:00Z")
        self._until("2026-12-02T00:00:00Z")
        self._invoice("2026-12-03T00:00:00Z")
        self._close("2026-11", "2026-12-07T00:00:00Z")
        self._until("2026-12-08T06:00:00Z")  # another late pod of October, corrected in December
        self._reopen("2026-10", "2026-12-09T00:00:00Z")
        self._close("2026-10", "2026-12-09T01:00:00Z")
        self._until("2027-01-02T00:00:00Z")
        self._close("2026-12", "2027-01-07T00:00:00Z")

    def _append(self, **rows: list[object]) -> None:
        self.batches += 1
        self.ledger.append(f"told/1/{self.batches}", rows)

    def _fleet(self) -> None:
        devices = [
            records.Device(
                CLUSTER, device_id(CLUSTER, f"G{n}"), START, None, "n", n, f"G{n}", "gpu", GPU_PARTS
            )
            for n in range(GPUS)
        ]
        self._append(
            nodes_versions=[records.Node(CLUSTER, "n", START, None, "training", MODEL, GPUS)],
            devices_versions=list(devices),
            authority_versions=[records.Authority(CLUSTER, 1, START, None, "kubernetes", 0)],
        )

    def _until(self, instant: str) -> None:
        """Tell what is known by then, roll up, charge, correct."""
        now_ms = from_iso(instant)
        for pod in PODS:
            self._tell(pod, now_ms)
        complete = records.Watermark(CLUSTER, "kubernetes", "holders", now_ms)
        self._append(watermarks=[complete])
        roll_up(self.ledger, now_ms, ZONE)
        charge(self.ledger, now_ms, ZONE)
        correct(self.ledger, now_ms, ZONE)

    def _tell(self, pod: Pod, now_ms: int) -> None:
        start, end = pod.span
        if now_ms < max(start, from_iso(pod.told) if pod.told else 0):
            return
        known_end = from_iso(pod.wrong_end) if pod.wrong_end and now_ms < from_iso(pod.mended) else end
        number, workload = content_id("pod", pod.name), content_id("workload", pod.name)
        is_over = known_end <= now_ms
        claim = records.Allocation(
            CLUSTER, number, start, start, known_end if is_over else None, "kubernetes", workload, "n",
            pod.namespace, pod.name, gpu_parts=GPU_PARTS, revision=now_ms // HOUR_MS,
        )  # fmt: skip
        device = device_id(CLUSTER, f"G{pod.gpu}")
        holding = records.Holding(
            CLUSTER, content_id("holding", CLUSTER, number, device), start, claim.end_at, number, device,
            GPU_PARTS, "kubelet", now_ms // HOUR_MS,
        )  # fmt: skip
        owner = records.Workload(CLUSTER, workload, start, None, "batch", "Job", pod.namespace, pod.name)
        known = self.ledger.query(
            "select epoch_ms(end_at) as end_ms from allocations where allocation_id = ?", [number]
        ).to_series()
        if len(known) and known[0] == claim.end_at:
            return
        self._append(allocations_versions=[claim], holdings_versions=[holding], workloads_versions=[owner])

    def _close(self, name: str, instant: str) -> None:
        close(self.ledger, name, replace(self.terms, now_ms=from_iso(instant)))

    def _reopen(self, name: str, instant: str) -> None:
        terms = replace(self.terms, now_ms=from_iso(instant), reason="two pods were told too late")
        opened = reopen(self.ledger, name, terms)
        charge(self.ledger, terms.now_ms, ZONE, [day.day for day in opened.period.days])
        correct(self.ledger, terms.now_ms, ZONE)

    def _dispute(self, instant: str) -> None:
        lines = self.ledger.query(
            "select charge_id from charges where team = 'alpha' and business_day = '2026-10-05' and kind = 'base' "
            "order by charge_id"
        ).to_series()
        now_ms = from_iso(instant)
        raised = raise_dispute(self.ledger, lines[0], None, "in repair", actor="vera", now_ms=now_ms)
        decide_dispute(
            self.ledger,
            raised.dispute_id,
            _decimal(CREDIT),
            "some of it",
            actor="bert",
            time_zone=ZONE,
            now_ms=now_ms,
        )

    def _invoice(self, instant: str) -> None:
        line = InvoiceLine(CLUSTER, MODEL, None, _decimal(INVOICE), "EUR")
        invoice = Invoice("R-11", "colocation", "r.csv", (line,))
        now_ms = from_iso(instant)
        import_invoice(self.ledger, "2026-11", invoice, calendar=self.calendar, actor="vera", now_ms=now_ms)


def brute_force() -> dict[tuple[str, str], Fraction]:
    """What each team owes in each currency by all that is known in the end, exactly: hour by hour, without a ledger."""
    owed: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    november = Calendar(ZONE).named("2026-11")
    for day in days_between(START, END, ZONE):
        held: dict[str, Fraction] = defaultdict(Fraction)
        cost = Fraction(0)
        currency = "EUR"
        edges = [*(start for start, _, _ in PRICES), END]
        for (since, currency_then, price), until in zip(PRICES, edges[1:], strict=True):
            start, end = max(day.start_ms, since), min(day.end_ms, until)
            if start >= end:
                continue
            currency = currency_then
            cost += GPUS * Fraction(end - start, HOUR_MS) * price
            for pod in PODS:
                hours = Fraction(max(0, min(pod.span[1], end) - max(pod.span[0], start)), HOUR_MS)
                team = {"a": "alpha", "b": "beta"}[pod.namespace]
                held[team] += hours
                owed[team, currency] += hours * price
        if november.start_ms <= day.start_ms < november.end_ms:
            asked = INVOICE * (day.end_ms - day.start_ms) / (november.end_ms - november.start_ms)
            for team, hours in held.items():
                owed[team, currency] += (asked - cost) * hours / sum(held.values())
    owed["alpha", "EUR"] -= CREDIT
    return dict(owed)


def _decimal(amount: Fraction) -> Decimal:
    return Decimal(amount.numerator) / Decimal(amount.denominator)

"""Pricing: usage, segments and what else is given, turned into lines of cost by SQL, step by step."""

from collections.abc import Sequence

import polars as pl

from analytics.business import Day
from analytics.money.rates import Prices, money_sql
from analytics.money.segments import NANO, Row, lay
from quartermaster.clock import HOUR_MS, to_datetime
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor

NANO_GPU_HOUR_PMS = GPU_PARTS * HOUR_MS * 1000  # pms × price in 10⁻⁹ ÷ this = 10⁻⁶ of the currency
OWNER = "an owner asks for its guarantee"  # enforcer.plan.Cause.OWNER, as deeds tell it

# The tables of facts that few cards ask for, as they are without any.
EMPTY = {
    "profiles": "cluster varchar, device_id bigint, profile varchar",
    "preemptible": "cluster varchar, allocation_id bigint",
    "asked": "cluster varchar, allocation_id bigint, start_at timestamptz, end_at timestamptz, cpu_milli bigint, "
    "memory_mib bigint",
    "lost": "cluster varchar, allocation_id bigint, stopped_at timestamptz",
    "beside": "segment bigint, team varchar, workload_id bigint, measure varchar, quantity_micro hugeint, "
    "micros hugeint, price_nano bigint, rate_id bigint",
    "energy": "segment bigint, team varchar, workload_id bigint, kwh_nano bigint, quantity_micro hugeint, "
    "micros hugeint",
    "promised": "segment bigint, team varchar, guaranteed hugeint, lent hugeint",
    "system_workloads": "card bigint, cluster varchar, workload_id bigint",
}
_INSTANT = pl.Datetime("ms", "UTC")
_GLOB = pl.Schema({"card": pl.Int64(), "namespace_glob": pl.String()})
_TARIFF = pl.Schema(
    {
        "cluster": pl.String(),
        "start_at": _INSTANT,
        "end_at": _INSTANT,
        "kwh_nano": pl.Int64(),
        "pue_permille": pl.Int64(),
    }
)


def lay_profiles(cursor: Cursor, prices: Prices) -> None:
    """Put the table `profiles` where the cursor finds it: the MIG instances that have a price of their own."""
    globs = [(glob,) for glob in sorted(prices.profile_globs)]
    lay(cursor, "profile_globs", pl.Schema({"profile_glob": pl.String()}), list[Row](globs))
    _lay_query(cursor, "profiles", money_sql("profiles"), wanted=bool(globs))


def lay_facts(cursor: Cursor, prices: Prices, clusters: set[str], days: Sequence[Day]) -> None:
    """Put what the cards ask of the ledger beside usage where the cursor finds it: preemptible allocations, lost
    work, requests, workloads of system namespaces, tariffs. What no card asks for stays empty."""
    globs = [
        (number, glob)
        for number, card in enumerate(prices.cards)
        for glob in card.terms.system_namespaces
        if card.terms.share_system != "own"
    ]
    lay(cursor, "system_globs", _GLOB, list[Row](globs))
    _lay_query(cursor, "preemptible", money_sql("preemptible"), wanted="preemptible" in prices.measures)
    _lay_query(
        cursor, "asked", money_sql("asked"), wanted=bool({"cpu_hour", "memory_gib_hour"} & prices.measures)
    )
    _lay_query(cursor, "lost", money_sql("lost"), wanted=prices.lost_at_most_ms > 0, cause=OWNER)
    _lay_query(cursor, "system_workloads", money_sql("system_workloads"), wanted=bool(globs))
    spans = [
        (cluster, to_datetime(start), to_datetime(end), int(tariff.kwh_price * NANO), tariff.pue_permille)
        for cluster in sorted(clusters)
        for day in days
        for start, end, tariff in prices.tariff_spans(cluster, day.start_ms, day.end_ms)
    ]
    lay(cursor, "tariff_spans", _TARIFF, list[Row](spans))


def make_lines(cursor: Cursor, prices: Prices) -> None:
    """Make the table `new_lines` of what was laid: the columns of `charges` but `recorded_at`."""
    _make(cursor, "spent")
    _make(cursor, "cost")
    _make(cursor, "beside", wanted=bool({"cpu_hour", "memory_gib_hour"} & prices.measures))
    _make(cursor, "energy", wanted=any(card.terms.bill_energy for card in prices.cards))
    _make(cursor, "promised", wanted=bool({"reserved", "lent"} & prices.measures))
    _make(cursor, "taken")
    _make(cursor, "shares")
    _make(cursor, "new_lines")


def _make(cursor: Cursor, name: str, *, wanted: bool = True) -> None:
    text = money_sql("lines" if name == "new_lines" else name)
    given = {"nano_gpu_hour_pms": NANO_GPU_HOUR_PMS} if "$nano_gpu_hour_pms" in text else {}
    _lay_query(cursor, name, text, wanted=wanted, **given)


def _lay_query(cursor: Cursor, name: str, text: str, *, wanted: bool, **given: object) -> None:
    """The query's answer as a table; without a wish for it an empty one, and the ledger is not asked."""
    if wanted:
        cursor.execute(f"create or replace temp table {name} as {text}", given)
    else:
        cursor.execute(f"create or replace temp table {name} ({EMPTY[name]})")

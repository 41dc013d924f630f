"""What a rate card says beyond its prices: discounts, weights, commitments and the like, from its JSON."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quartermaster.clock import DAY_MS

MICRO = 1_000_000
_LOST_PERMILLE = {"bill": 0, "half": 500, "credit": 1000}


@dataclass(frozen=True, slots=True)
class Commitment:
    """What a team pays each calendar month for parts of a pool, which it then holds without paying for them."""

    team: str
    pool: str
    cluster: str
    parts: int
    month_micros: int  # of the card's currency


@dataclass(frozen=True, slots=True)
class Terms:
    """A card's terms; each as by default where the card says nothing."""

    lost_permille: int = 0  # of the cost of lost work, what is credited
    lost_at_most_ms: int = DAY_MS
    idle_coverage_permille: int = 900
    share_system: str = "own"
    system_namespaces: tuple[str, ...] = ()
    weights: tuple[tuple[str, int], ...] = ()
    discounts: tuple[
        tuple[str, int], ...
    ] = ()  # a pattern for teams, and permille off; the first that matches
    commitments: tuple[Commitment, ...] = ()
    bill_energy: bool = False


DEFAULTS = Terms()


def read_terms(text: str) -> Terms:
    """The terms that a card's `terms` in the ledger say."""
    said: dict[str, Any] = json.loads(text)
    return Terms(
        lost_permille=_LOST_PERMILLE[said.get("lost", "bill")],
        lost_at_most_ms=said.get("lost_at_most_ms", DAY_MS),
        idle_coverage_permille=said.get("idle_coverage_permille", 900),
        share_system=said.get("system", "own"),
        system_namespaces=tuple(said.get("system_namespaces", ())),
        weights=tuple(sorted(said.get("weights", {}).items())),
        discounts=tuple((team, off) for team, off in said.get("discounts", ())),
        commitments=tuple(_commitment(each) for each in said.get("commitments", ())),
        bill_energy=said.get("bill_energy", False),
    )


def _commitment(said: dict[str, Any]) -> Commitment:
    month_micros = int(Decimal(said["month"]) * MICRO)
    return Commitment(said["team"], said["pool"], said["cluster"], said["parts"], month_micros)

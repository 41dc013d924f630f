"""Late usage as the roll-up tells it: differences to rows of a closed period."""

from typing import Any
from uuid import uuid4

import polars as pl

from analytics.money.charges import charge
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from tests.money.books import SUMS, Books


def tell(books: Books, start: str, hours: float, team: str | None, gpus: float, **given: Any) -> None:
    """A difference of `gpus` for `hours` from `start`, above or below zero: of a team's workload, or of free time."""
    pms = round(gpus * GPU_PARTS) * round(hours * HOUR_MS)
    row: dict[str, Any] = dict.fromkeys(SUMS, 0)
    kinds = ("held_pms", "idle_pms") if team else ("unallocated_pms",)
    row |= {"capacity_pms": pms} | dict.fromkeys(kinds, pms)
    workload = given.pop("workload", f"{team}-job") if team else None
    row |= {
        "cluster": "demo",
        "pool": "training",
        "model": "NVIDIA H100",
        "node": "n1",
        "device_id": 1,
        "team": team,
    }
    row |= {"workload_id": content_id("workload", workload) if workload else None}
    row |= {"allocation_id": content_id("pod", workload) if workload else None}
    row |= {"row_start_at": from_iso(start), "row_end_at": from_iso(start) + round(hours * HOUR_MS)} | given
    books.store.append(f"late/{uuid4().hex}", {"usage_late": pl.DataFrame([row])})


def shut(books: Books) -> None:
    """Charge all that there is, and let October be closed: what a closing leaves behind, without its proofs."""
    charge(books.ledger, 0, "UTC")
    span = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-11-01T00:00:00Z", "time_zone": "UTC"}
    days = {"start_day": "2026-10-01", "end_day": "2026-11-01"}
    books.add(
        "periods_versions", period="2026-10", revision=0, state="closed", number=1, sha256="0", **span, **days
    )
    books.fill()

"""A finding: something that analysis noticed, with its figures, and why one may doubt it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Kind(StrEnum):
    """What may be noticed."""

    idle = "idle workload"
    forgotten = "forgotten workspace"
    partly_idle = "partly idle workload"
    stalled = "stalled workload"
    never_started = "never started"
    idle_quota = "idle quota"
    starving = "starving owner"
    borrower = "borrower on another's guarantee"
    never_used = "guarantee never used"
    always_used = "guarantee always used"


@dataclass(frozen=True)
class Found:
    """What was noticed about a subject, true since `since_ms`.

    `evidence` is fit for JSON. `doubts` are the reasons why nobody may act on an idle workload for this; with none it
    is idle beyond doubt: each device known and idle by two signals, fresh, past its grace, undisputed, in a pool that
    is seen to compute.
    """

    cluster: str
    kind: Kind
    subject: str
    since_ms: int
    team: str
    pool: str
    signals: tuple[str, ...]
    coverage_permille: int | None
    cost: Decimal | None  # so far, at the prices of the instant; None: no price, or nothing to price
    currency: str
    evidence: Mapping[str, object]
    doubts: tuple[str, ...] = ()

    @property
    def fit(self) -> bool:
        """Whether it is idle beyond doubt, and of a kind about which something may be done."""
        idles = self.kind in {Kind.idle, Kind.forgotten}
        return idles and not self.doubts and not self.evidence.get("reported_only", False)

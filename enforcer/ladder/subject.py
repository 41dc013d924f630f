"""The workload that somebody asks to keep: found by its name or its UID, and how long it may be kept."""

from collections.abc import Sequence
from dataclasses import dataclass

from enforcer.book import rows
from enforcer.ladder.rung import keepable_until_ms, steps_of
from enforcer.ladder.told import notified
from quartermaster.config.policy import PolicyPart
from sql.catalog import Cursor


@dataclass(frozen=True, slots=True)
class Subject:
    """A workload that holds GPUs now; `since_ms`: since when it is found idle, None: it is not."""

    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    since_ms: int | None

    @property
    def title(self) -> str:
        """`Notebook lab/drafts`."""
        return f"{self.kind} {self.namespace}/{self.name}"


def find(cursor: Cursor, clusters: Sequence[str], wanted: str) -> list[Subject]:
    """All in these clusters that `Kind/namespace/name`, `namespace/name` or a UID may mean. Raises LedgerError."""
    given = {"clusters": list(clusters), "subject": wanted}
    return [Subject(**row) for row in rows(cursor, "subjects", given).iter_rows(named=True)]


def limit(cursor: Cursor, subject: Subject, policy: PolicyPart, at_ms: int) -> int | None:
    """Until when it may be kept, as far as the ledger knows its idleness; None: nothing is taken of its kind."""
    steps = steps_of(policy, subject.kind, serving=False)
    if steps is None:
        return None
    if subject.since_ms is None:
        return keepable_until_ms(steps, at_ms, ())
    notices = notified(cursor, subject.cluster, at_ms).get(subject.uid, ())
    return keepable_until_ms(steps, subject.since_ms, notices)

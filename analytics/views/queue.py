"""The queue: who waits for GPUs, how long, in which place, and why; and what a reader's teams hold meanwhile."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from analytics.reports.tables import gpus
from analytics.scope import Scope
from analytics.views.rows import Row, rows
from quartermaster.clock import DAY_MS
from sql.ledger import Cursor, Ledger

LOOKED_BACK_MS = 7 * DAY_MS


@dataclass(frozen=True, slots=True)
class Wait:
    """A workload that waits, or waited. `place` of `waiting`: among those that wait for the pool, by how long; None: it
    waits no more. `why`: sentences."""

    cluster: str
    pool: str
    team: str
    kind: str
    namespace: str
    name: str
    uid: str
    person_id: int | None
    parts: int
    pods: int
    since_ms: int
    until_ms: int | None
    place: int | None
    waiting: int
    why: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`PyTorchJob nlp/llm-finetune`; its namespace alone where the owner is not known."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.name else f"a workload of {self.namespace}"

    def lasting_ms(self, now_ms: int) -> int:
        """How long it waited, or has waited until now."""
        return max(0, (now_ms if self.until_ms is None else self.until_ms) - self.since_ms)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a team held of its guarantee in a pool, in the last hour that is known."""

    guaranteed_parts: int
    held_parts: int


@dataclass(frozen=True, slots=True)
class Free:
    """A pool's free parts now, and the most on one node."""

    parts: int
    most_parts: int


@dataclass(frozen=True, slots=True)
class Held:
    """A workload that holds GPUs now. The times are epoch ms; None: it is not found idle, nobody keeps it."""

    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    person_id: int | None
    team: str | None
    parts: int
    since_ms: int
    idle_since_ms: int | None
    kept_until_ms: int | None
    given_back: bool

    @property
    def title(self) -> str:
        """`Notebook/lab/drafts`, as requests name it."""
        return f"{self.kind}/{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Queue:
    """The queue at an instant: those who wait, those who waited in the week before it, and what is held."""

    at_ms: int
    now: tuple[Wait, ...]
    ended: tuple[Wait, ...]
    held: tuple[Held, ...]

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams of all these, by name."""
        waits = {wait.team for wait in (*self.now, *self.ended)}
        return tuple(sorted(waits | {each.team for each in self.held if each.team is not None}))

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that are waited for, by name."""
        return tuple(sorted({wait.pool for wait in (*self.now, *self.ended) if wait.pool}))

    def free_to_decide(self, person: int, owned: Scope) -> tuple[Held, ...]:
        """The workloads that a person may keep or give back: their own, and those of the teams that they own."""
        return tuple(
            each
            for each in self.held
            if each.person_id == person or (owned.admits(each.team) if each.team else owned.whole)
        )

    def of(self, team: str | None, pool: str | None) -> "Queue":
        """The same of one team and of the waits for one pool; None: of all."""

        def fits(wait: Wait) -> bool:
            return team in {None, wait.team} and pool in {None, wait.pool}

        return Queue(
            self.at_ms,
            tuple(filter(fits, self.now)),
            tuple(filter(fits, self.ended)),
            tuple(each for each in self.held if team in {None, each.team}),
        )


def queue(ledger: Ledger, scope: Scope, now_ms: int, person: int | None = None) -> Queue:
    """The queue as a reader may see it, and what the reader's teams hold, with what is the `person`'s own: at `now_ms`
    (epoch ms), or when it was last known. Raises LedgerError."""
    with ledger.reading() as cursor:
        return _queue(cursor, scope, _known_ms(cursor, now_ms), person)


def _known_ms(cursor: Cursor, now_ms: int) -> int:
    heard_ms = rows(cursor, "queue", "heard")[0]["until_ms"]
    return now_ms if heard_ms is None else min(now_ms, heard_ms)


def _queue(cursor: Cursor, scope: Scope, now_ms: int, person: int | None) -> Queue:
    given = {"teams": scope.bound, "person": person, "at_ms": now_ms, "from_ms": now_ms - LOOKED_BACK_MS}
    found = rows(cursor, "queue", "waits", **given)
    standings = {
        (row["cluster"], row["pool"], row["team"]): Standing(row["guaranteed_parts"], row["held_parts"])
        for row in rows(cursor, "queue", "standings", **given)
    }
    free = _free(cursor) if scope.whole else {}
    answers = _answers(cursor, now_ms)
    held = tuple(Held(**row) for row in rows(cursor, "queue", "held", **given))
    waits = [_wait(row, standings, free, answers) for row in found]
    return Queue(
        now_ms,
        tuple(wait for wait in waits if wait.until_ms is None),
        tuple(wait for wait in waits if wait.until_ms is not None),
        held,
    )


def why(
    wait: Wait, reason: str, standing: Standing | None, free: Free | None, answer: str
) -> tuple[str, ...]:
    """Why it waits, in sentences: what its scheduler says, whose GPUs it asks for, what is free, what is planned."""
    told = [_sentence(reason)] if reason else []
    if standing is not None:
        told.append(_standing(wait, standing))
    if free is not None:
        told.append(_room(wait.parts // max(1, wait.pods), wait.parts, free))
    if answer:
        told.append(f"The last plan: {_sentence(answer)}")
    return tuple(told)


def _standing(wait: Wait, standing: Standing) -> str:
    promised, left = standing.guaranteed_parts, standing.guaranteed_parts - standing.held_parts
    if not promised:
        return f"Team {wait.team} has no guarantee here: it borrows what others leave."
    holds = f"Team {wait.team} holds {gpus(standing.held_parts)} of its guaranteed {gpus(promised)} GPUs"
    if left >= wait.parts:
        return f"{holds}: what it asks for is its own."
    if left > 0:
        return f"{holds}: {gpus(left)} of what it asks for is its own, the rest is borrowed."
    return f"{holds}: more is borrowed, when others leave some."


def _room(pod_parts: int, parts: int, free: Free) -> str:
    if not free.parts:
        return "No GPU of the pool is free."
    there, most = (
        f"{gpus(free.parts)} GPUs of the pool are free",
        f"at most {gpus(free.most_parts)} on one node",
    )
    if free.parts >= parts and free.most_parts < pod_parts:
        return f"{there}, but {most}, and a pod asks for {gpus(pod_parts)}."
    return f"{there}." if free.parts == free.most_parts else f"{there}, {most}."


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _wait(
    row: Row,
    standings: Mapping[tuple[str, str, str], Standing],
    free: Mapping[tuple[str, str], Free],
    answers: Mapping[tuple[str, str], str],
) -> Wait:
    reason = row.pop("reason")
    wait = Wait(**row)
    if wait.until_ms is not None:
        return wait
    standing = standings.get((wait.cluster, wait.pool, wait.team))
    answer = answers.get((wait.cluster, wait.uid), "")
    return replace(wait, why=why(wait, reason, standing, free.get((wait.cluster, wait.pool)), answer))


def _free(cursor: Cursor) -> dict[tuple[str, str], Free]:
    return {
        (row["cluster"], row["pool"]): Free(row["free_parts"], row["most_parts"])
        for row in rows(cursor, "queue", "free")
    }


def _answers(cursor: Cursor, now_ms: int) -> dict[tuple[str, str], str]:
    """What the last plans answered, by cluster and UID: the verdict, and how it comes about."""
    found: dict[tuple[str, str], str] = {}
    for row in rows(cursor, "queue", "answers", at_ms=now_ms):
        body = cast(dict[str, Any], json.loads(row["body"]))
        for answer in cast(Sequence[dict[str, Any]], body.get("answers", [])):
            words = [str(answer.get("verdict", "")), str(answer.get("words", ""))]
            found[row["cluster"], str(answer.get("uid", ""))] = "; ".join(filter(None, words))
    return found

"""Sources: from which facts a pod's intervals were made: who told what when, what is estimated, who is believed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sql
from analytics.business import business_day
from analytics.why import Subject, find_subject
from quartermaster.clock import to_iso
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger

_QUERIES = Path(sql.__file__).parent / "queries" / "why"
_EVER = (0, 2**53)  # within what a timestamp holds
EVIDENCE = {"dra": "its claims (dra)", "kubelet": "the kubelet", "label": "the exporter's labels"}


@dataclass(frozen=True)
class Telling:
    """One version of a claim as a source told it. The times are the source's own; `recorded_ms` is ours.

    What is before `sure_from_ms` and after `sure_until_ms` (None: still so) is estimated.
    """

    revision: int
    recorded_ms: int
    source: str
    node: str
    pod_uid: str
    gpu_parts: int
    bound_ms: int
    started_ms: int | None
    ended_ms: int | None
    evidence: str  # of the end
    sure_from_ms: int
    sure_until_ms: int | None
    withdraws: bool
    in_force: bool


@dataclass(frozen=True)
class Named:
    """A device that was named for a claim, by which evidence; `counts`: it is the best there is."""

    device_id: int
    place: str  # node/index; empty where no device of this id is known
    parts: int
    evidence: str
    revision: int
    recorded_ms: int
    start_ms: int
    end_ms: int | None
    in_force: bool
    counts: bool


@dataclass(frozen=True)
class Span:
    """Who was believed about holders from when to when; the lowest rank wins."""

    source: str
    rank: int
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class Hole:
    """What was not observed, and why. `covers` is holders or telemetry; an empty node is the whole cluster."""

    covers: str
    source: str
    node: str
    reason: str
    start_ms: int
    end_ms: int | None


@dataclass(frozen=True)
class Disagreement:
    """Where labels named another device than the one that counts."""

    start_ms: int
    end_ms: int | None
    labels_say: str
    state: str


@dataclass(frozen=True)
class Claim:
    """One claim of the pod, the sentence about it, and all that it was made from."""

    allocation_id: int
    sentence: str
    tellings: tuple[Telling, ...]
    devices: tuple[Named, ...]
    believed: tuple[Span, ...]
    gaps: tuple[Hole, ...]
    disagreements: tuple[Disagreement, ...]


def sources(
    ledger: Ledger,
    name: str,
    time_zone: str,
    now_ms: int,
    *,
    day: str | None = None,
    cluster: str | None = None,
) -> tuple[Subject, tuple[Claim, ...]]:
    """The claims of a pod (`pod` or `namespace/pod`), newest last, of one business day or of all times.

    Raises InputError for a name that no pod has (it tells the nearest), one that several have, or a day on which
    the pod had no claim.
    """
    subject = find_subject(ledger, name, "pod", cluster)
    span = _EVER if day is None else _bounds(day, time_zone)
    facts = _Facts(ledger, subject, now_ms)
    claims = facts.claims(span)
    if not claims:
        raise InputError(f"there is no claim of {subject} on {day}", "leave --day out for all of them")
    return subject, claims


def _bounds(day: str, time_zone: str) -> tuple[int, int]:
    found = business_day(day, time_zone)
    return found.start_ms, found.end_ms


@dataclass(frozen=True)
class _Facts:
    """The ledger's facts about one pod."""

    ledger: Ledger
    subject: Subject
    now_ms: int

    def claims(self, span: tuple[int, int]) -> tuple[Claim, ...]:
        pod = {"cluster": self.subject.cluster, "id": self.subject.id}
        told = self._rows("tellings", **pod, from_ms=span[0], until_ms=span[1])
        by_claim: dict[int, list[Telling]] = {}
        for row in told:
            by_claim.setdefault(row.pop("allocation_id"), []).append(Telling(**row))
        named: dict[int, list[Named]] = {}
        if by_claim:
            for row in self._rows("devices", cluster=self.subject.cluster, allocations=list(by_claim)):
                place = row.pop("place") or ""
                named.setdefault(row.pop("allocation_id"), []).append(Named(place=place, **row))
        found = [self._claim(key, theirs, named.get(key, [])) for key, theirs in by_claim.items()]
        return tuple(sorted(found, key=lambda claim: (claim.tellings[-1].bound_ms, claim.allocation_id)))

    def _claim(self, key: int, tellings: Sequence[Telling], devices: Sequence[Named]) -> Claim:
        start_ms = min(each.bound_ms for each in tellings)
        counting = [each for each in tellings if each.in_force] or tellings
        ends = [self.now_ms if each.ended_ms is None else each.ended_ms for each in counting]
        end_ms = max([*ends, start_ms + 1])
        within = {"cluster": self.subject.cluster, "from_ms": start_ms, "until_ms": end_ms}
        nodes = sorted({each.node for each in tellings if each.node})
        believed = tuple(Span(**row) for row in self._rows("believed", **within))
        gaps = tuple(Hole(**row) for row in self._rows("gaps", **within, nodes=nodes))
        apart = tuple(
            Disagreement(**row) for row in self._rows("disagreements", **within, id=self.subject.id)
        )
        sentence = _sentence(self.subject, tellings, devices, believed)
        return Claim(key, sentence, tuple(tellings), tuple(devices), believed, gaps, apart)

    def _rows(self, name: str, **parameters: object) -> list[dict[str, Any]]:
        return self.ledger.query(
            (_QUERIES / f"{name}.sql").read_text(encoding="utf-8"), parameters
        ).to_dicts()


def _sentence(
    subject: Subject, tellings: Sequence[Telling], devices: Sequence[Named], believed: Sequence[Span]
) -> str:
    source = tellings[-1].source
    told = f"{source} told it in {len(tellings)} version{'s' if len(tellings) > 1 else ''}"
    last = next((each for each in tellings if each.in_force), None)
    if last is None:
        return f"A claim of {subject} was withdrawn: {told}, the last at {instant(tellings[-1].recorded_ms)}."
    end = (
        f"to {instant(last.ended_ms)} ({last.evidence or 'its end'})"
        if last.ended_ms is not None
        else "and still does"
    )
    held = f"{last.gpu_parts / GPU_PARTS:g} GPU{'' if last.gpu_parts == GPU_PARTS else 's'} of {last.node}"
    parts = [f"Pod {subject.id} held {held} from {instant(last.bound_ms)} (bound) {end}", told]
    if last.started_ms is None:
        parts.append("its containers never started")
    parts += _estimated(last)
    counting = [each for each in devices if each.counts]
    if counting:
        places = ", ".join(sorted({each.place or f"device {each.device_id}" for each in counting}))
        parts.append(f"{EVIDENCE.get(counting[0].evidence, counting[0].evidence)} named {places}")
    else:
        parts.append("nobody named its devices: it is laid on free ones, and what they did is unknown")
    parts.append(_belief(source, last, believed))
    return "; ".join(parts) + "."


def _estimated(last: Telling) -> list[str]:
    found: list[str] = []
    if last.sure_from_ms > last.bound_ms:
        found.append(f"estimated up to {instant(last.sure_from_ms)}")
    if last.sure_until_ms is not None and (last.ended_ms is None or last.sure_until_ms < last.ended_ms):
        found.append(f"estimated from {instant(last.sure_until_ms)} on")
    return found


def _belief(source: str, last: Telling, believed: Sequence[Span]) -> str:
    """Whether the source counts: it does only where it is believed; the others' words are kept."""
    spans = [
        each
        for each in believed
        if each.start_ms < (last.ended_ms if last.ended_ms is not None else each.end_ms)
        and each.end_ms > last.bound_ms
    ]
    others = sorted({each.source for each in spans} - {source})
    if not spans:
        return "nobody is believed about holders then, so it counts nowhere"
    if not others:
        return f"{source} is believed (rank {spans[0].rank})"
    if len({each.source for each in spans}) == len(others):
        return f"{' and '.join(others)} is believed then, so it is kept and counts nowhere"
    mine = ", ".join(
        f"{instant(each.start_ms)} to {instant(each.end_ms)}" for each in spans if each.source == source
    )
    return f"it counts only while {source} is believed: {mine}"


def instant(at_ms: int) -> str:
    """The instant for people, in UTC: to the second, and to the millisecond where it is none."""
    text = to_iso(at_ms)
    return text[:19].replace("T", " ") + ("" if at_ms % 1000 == 0 else f".{at_ms % 1000:03d}")

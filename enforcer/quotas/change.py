"""Quota changes: what fields of a quota object are to be, why, and the patch that makes them so. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from collector.kubernetes.lent import QUOTA, Fields, Lent, same
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping
from enforcer.act.effects import Operation, Patch, pointer
from enforcer.quotas.backends import BACKENDS, read_cap
from enforcer.quotas.cap import Cap, whole_gpus

_MARK = pointer(("metadata", "annotations", QUOTA))


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """Fields `before`, as its people wrote them, and `after`, as they are to be: the same where they are put back.

    Without fields our annotation alone is taken off.
    """

    cap: Cap
    team: str
    pool: str
    before: Fields
    after: Fields
    words: str

    @property
    def goes_back(self) -> bool:
        """Whether the object is afterwards as its people wrote it."""
        return self.after == self.before

    @property
    def raises(self) -> bool:
        """Whether more is promised afterwards than is now; a limit on borrowing promises nothing."""
        return any(
            (whole_gpus(value) or 0) > (whole_gpus(self.cap.fields[name]) or 0)
            for name, value in self.after.items()
            if name in self.cap.promising
        )


def patch_of(change: QuotaChange, path: str, raw: Json, settings: Settings, at_ms: int) -> Patch | None:
    """The patch; None where the object is not any more what the change was made for."""
    cap = read_cap(raw, change.cap.kind, settings)
    if cap is None or _state(cap) != _state(change.cap):
        return None
    metadata = mapping(raw.get("metadata"))
    differing = {name: value for name, value in change.after.items() if not same(cap.fields[name], value)}
    values = list(BACKENDS[cap.kind].operations(raw, differing)) if differing else []
    mark = list(_marking(change, metadata, settings.cluster, at_ms))
    if not mark and not values:
        return None
    proof = mark[-1] if mark else values[-1]
    return Patch(path, cap.uid, cap.version, (*mark, *values), proof)


def shows(change: QuotaChange, raw: Json, settings: Settings) -> bool:
    """Whether an object is as the change makes it."""
    cap = read_cap(raw, change.cap.kind, settings)
    if cap is None:
        return not change.after
    return all(same(cap.fields.get(name), value) for name, value in change.after.items())


def _marking(change: QuotaChange, metadata: Json, cluster: str, at_ms: int) -> Iterator[Operation]:
    if change.goes_back:
        if change.cap.marked:
            yield Operation("remove", _MARK)
        return
    if not metadata.get("annotations"):
        yield Operation("add", "/metadata/annotations", {})
    lent = Lent(at_ms, cluster, change.cap.uid, change.before, change.after)
    yield Operation("add", _MARK, lent.written())


def _state(cap: Cap) -> tuple[object, ...]:
    return cap.uid, cap.read, cap.moved, cap.marked

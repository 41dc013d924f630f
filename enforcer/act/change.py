"""Changes: from an owner as it is, the patch that stops it; from one that carries our mark, the patch back. Pure.

What is put back is checked as strictly as if a stranger had written it, for anybody may edit annotations: only the
field of the kind's own way, and only a value that it can have had.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from collector.kubernetes.values import Json, mapping, text
from enforcer.act.effects import Operation, Patch, Serve, pointer
from enforcer.act.mark import STOPPED_AT, Mark, is_marked, mark_of
from enforcer.act.way import Way

_ANNOTATIONS = ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class Change:
    """A patch of an owner, or what a Hub is asked for; the fields it changes, before and after (null: absent)."""

    patch: Patch | Serve
    before: Mapping[str, object]
    after: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NoChange:
    """That there is nothing to be changed, and why."""

    words: str


@dataclass(frozen=True, slots=True)
class Meant:
    """Under which an owner is stopped: what its mark says beside the object's own."""

    at_ms: int
    cluster: str
    plan_hash: str
    epoch: int
    act: str


def stop(way: Way, path: str, seen: Json, meant: Meant) -> Change | NoChange:
    """The patch that stops the owner at `path`, and marks it with what was there."""
    metadata = mapping(seen.get("metadata"))
    if is_down(way, seen):
        return NoChange("it is stopped already" + ("" if is_marked(seen) else ", and not by us"))
    found = _reach(way, seen)
    if found is None or not way.is_kept(found.value):
        return NoChange(f"its {pointer(way.field)} is not what it can be")
    before = {pointer(found.first_absent or way.field): found.value}
    mark = Mark(
        meant.at_ms, meant.cluster, meant.plan_hash, meant.epoch, meant.act, text(metadata.get("uid")), before
    )
    there = Operation("add", STOPPED_AT, mark.written())
    value = way.down(meant.at_ms)
    operations = (
        *(() if metadata.get("annotations") else (Operation("add", pointer(_ANNOTATIONS), {}),)),
        there,
        *(Operation("add", pointer(each), {}) for each in found.absent_parents if each != _ANNOTATIONS),
        Operation("add", pointer(way.field), value),
    )
    return Change(_patch(path, seen, operations, there), before, {pointer(way.field): value})


def start(way: Way, path: str, seen: Json, recorded: Mapping[str, object] | None = None) -> Change | NoChange:
    """The patch that puts back what our stop found, and takes our mark off.

    `recorded` is what the audit has of it, which counts before what the mark says, and without a mark. Of an owner
    that somebody else has started meanwhile the mark alone is taken off.
    """
    mark, off = mark_of(seen), Operation("remove", STOPPED_AT)
    if not is_marked(seen) and (recorded is None or not is_down(way, seen)):
        return NoChange("it was not stopped by us" if recorded is None else "it is not stopped")
    if not is_down(way, seen):
        return Change(_patch(path, seen, (off,), off), {}, {})
    before = recorded if recorded is not None else mark.before if mark is not None else None
    if before is None:
        return NoChange("its mark cannot be read, so it is not known what was there")
    places = {pointer(way.field[:length]): way.field[:length] for length in range(2, len(way.field) + 1)}
    places.pop(pointer(_ANNOTATIONS), None)
    if len(before) != 1 or not before.keys() <= places.keys():
        return NoChange("its mark names a field that we never change")
    ((where, value),) = before.items()
    if not way.is_kept(value) or (value is not None and places[where] != way.field):
        return NoChange("its mark names a value that cannot have been there")
    back = _back(way, seen, places[where], value)
    now = _reach(way, seen)
    told = {pointer(way.field): None if now is None else now.value}
    operations = (off, back) if is_marked(seen) else (back,)
    return Change(_patch(path, seen, operations, operations[0]), told, {where: value})


def is_down(way: Way, seen: Json) -> bool:
    """Whether the owner's field says that it is stopped."""
    found = _reach(way, seen)
    return found is not None and way.is_down(found.value)


def _back(way: Way, seen: Json, place: tuple[str, ...], value: object) -> Operation:
    if value is not None:
        return Operation("add", pointer(way.field), value)
    inside: object = seen
    for name in place:
        inside = mapping(inside).get(name)
    # What was absent as a whole is taken away as a whole, unless somebody has put something else into it since.
    alone = place == way.field or list(mapping(inside)) == list(way.field[len(place) :][:1])
    return Operation("remove", pointer(place if alone else way.field))


@dataclass(frozen=True, slots=True)
class _Found:
    """A field on an object: its value (None: absent), and which of the objects it stands in are absent."""

    value: object
    absent_parents: tuple[tuple[str, ...], ...] = ()
    first_absent: tuple[str, ...] = field(default=())


def _reach(way: Way, seen: Json) -> _Found | None:
    """The field; None where something else than an object stands in its way."""
    inside = seen
    for depth, name in enumerate(way.field[:-1], 1):
        below: object = inside.get(name)
        if below is None:
            absent = tuple(way.field[:each] for each in range(depth, len(way.field)))
            first = next(_recorded(absent), way.field)
            return _Found(None, absent, first)
        if not isinstance(below, dict):
            return None
        inside = cast(Json, below)
    return _Found(inside.get(way.field[-1]))


def _recorded(absent: tuple[tuple[str, ...], ...]) -> Iterator[tuple[str, ...]]:
    """Annotations come and go by themselves: they are not recorded as having been absent."""
    return (each for each in absent if len(each) > 1 and each != _ANNOTATIONS)


def _patch(path: str, seen: Json, operations: tuple[Operation, ...], proof: Operation) -> Patch:
    metadata = mapping(seen.get("metadata"))
    return Patch(
        path, text(metadata.get("uid")), text(metadata.get("resourceVersion")), operations, proof=proof
    )

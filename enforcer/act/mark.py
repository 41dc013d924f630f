"""The mark on what we stopped: an annotation that says when, by which plan, and what was there before."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from collector.kubernetes.values import Json, instant_ms, mapping, text, whole
from enforcer.act.effects import pointer
from quartermaster.clock import to_iso

STOPPED = "quartermaster/stopped"
STOPPED_AT = pointer(("metadata", "annotations", STOPPED))
# Ours has a few hundred characters; a longer one is somebody's joke.
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands in `quartermaster/stopped`.

    `before` has the changed field by its JSON pointer as it was; null where it was absent. `uid` is the object's own:
    controllers copy annotations to what they make.
    """

    at_ms: int
    cluster: str
    plan_hash: str
    epoch: int
    act: str
    uid: str
    before: Mapping[str, object] = field(default_factory=dict[str, object])

    def written(self) -> str:
        """As the annotation's value."""
        told = {
            "at": to_iso(self.at_ms),
            "cluster": self.cluster,
            "plan": self.plan_hash,
            "epoch": self.epoch,
            "act": self.act,
            "uid": self.uid,
            "before": dict(self.before),
        }
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    def is_of(self, plan_hash: str, epoch: int, act: str) -> bool:
        """Whether it is of this act."""
        return (self.plan_hash, self.epoch, self.act) == (plan_hash, epoch, act)


def mark_of(seen: Json) -> Mark | None:
    """The mark that an object carries; None without one, or where it is unreadable or another object's."""
    metadata = mapping(seen.get("metadata"))
    value = mapping(metadata.get("annotations")).get(STOPPED)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    try:
        told = mapping(json.loads(value))
    except (ValueError, RecursionError):
        return None
    at_ms = instant_ms(told.get("at"))
    if at_ms is None or told.get("uid") != metadata.get("uid"):
        return None
    return Mark(
        at_ms,
        text(told.get("cluster")),
        text(told.get("plan")),
        whole(told.get("epoch")),
        text(told.get("act")),
        text(told.get("uid")),
        mapping(told.get("before")),
    )


def is_marked(seen: Json) -> bool:
    """Whether the annotation is there at all, whatever it says."""
    return STOPPED in mapping(mapping(seen.get("metadata")).get("annotations"))

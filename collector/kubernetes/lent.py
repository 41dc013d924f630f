"""What a quota object was before the enforcer moved it, as the annotation on it says.

Who may write the annotation may write the quota itself, so it is believed as much as that; but only while the fields
are still as the enforcer left them. What anybody has written since is theirs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from collector.kubernetes.values import Json, instant_ms, mapping, quantity, text
from quartermaster.clock import to_iso

QUOTA = "quartermaster/quota"
# Ours has some hundred characters for each flavor; a longer one is somebody's joke.
_LONGEST = 16_384
_MOST_FIELDS = 256
Fields = Mapping[str, str | None]  # quantities by the field's name, as they are written; None: absent


@dataclass(frozen=True, slots=True)
class Lent:
    """What stands in the annotation: since when, of which cluster's enforcer, and fields before and after."""

    at_ms: int
    cluster: str
    uid: str
    before: Fields = field(default_factory=dict[str, "str | None"])
    after: Fields = field(default_factory=dict[str, "str | None"])

    def written(self) -> str:
        """As the annotation's value."""
        told = {
            "at": to_iso(self.at_ms),
            "cluster": self.cluster,
            "uid": self.uid,
            "before": dict(self.before),
            "after": dict(self.after),
        }
        return json.dumps(told, sort_keys=True, separators=(",", ":"))


def lent_of(raw: Json) -> Lent | None:
    """What an object's annotation says; None without one, or where it is unreadable or another object's."""
    metadata = mapping(raw.get("metadata"))
    value = mapping(metadata.get("annotations")).get(QUOTA)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    try:
        told = mapping(json.loads(value))
    except (ValueError, RecursionError):
        return None
    at_ms, before, after = instant_ms(told.get("at")), _fields(told.get("before")), _fields(told.get("after"))
    if at_ms is None or before is None or after is None or before.keys() != after.keys():
        return None
    if told.get("uid") != metadata.get("uid"):
        return None
    return Lent(at_ms, text(told.get("cluster")), text(told.get("uid")), before, after)


def is_lent(raw: Json) -> bool:
    """Whether the annotation is there at all, whatever it says."""
    return QUOTA in mapping(mapping(raw.get("metadata")).get("annotations"))


def before(lent: Lent | None, name: str, now: object) -> object:
    """What a field was before it was moved; as it is now, where it was not, or somebody has changed it since."""
    if lent is None or name not in lent.after or not same(lent.after[name], now):
        return now
    return lent.before[name]


def same(one: object, other: object) -> bool:
    """Whether two fields say the same amount, or are both absent."""
    return one == other or (quantity(one) is not None and quantity(one) == quantity(other))


def _fields(told: object) -> Fields | None:
    values = mapping(told)
    if not 0 < len(values) <= _MOST_FIELDS:
        return None
    found: dict[str, str | None] = {}
    for name, value in values.items():
        amount = quantity(value) if isinstance(value, str) else None
        if value is not None and (amount is None or amount < 0):
            return None
        found[text(name)] = value
    return found

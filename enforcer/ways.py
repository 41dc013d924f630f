"""Ways in words: how a workload of each kind is stopped and started again, and what no restart brings back."""

from enforcer.act.way import QUEUED_WAY, SCALED_WAY, WAYS, Ways

_MEMORY = "what its processes have in memory"
_LOST = {
    "Notebook": (_MEMORY, "work that is not saved"),
    "StatefulSet": (_MEMORY,),
    "workspace": (_MEMORY, "work that is not saved"),
    "RayCluster": (_MEMORY,),
    "RayJob": ("the whole run: it starts over",),
}


def way_down(
    ways: Ways, kind: str, *, group: str | None = None, queued: bool = False, scaled: bool = False
) -> str:
    """How the owner of such a workload is stopped; "" where nothing is known that would bring it back.

    `group` is the owner's API group, where it is known: another group's kind of the same name has no way. `queued`:
    Kueue manages it, and takes it out of its queue. `scaled`: KEDA scales it, and scales it to zero.
    """
    way = ways.get(kind)
    if way is None or (group is not None and group != way.group):
        return ""
    return (QUEUED_WAY if queued else SCALED_WAY if scaled else way).words


def lost_for_good(kind: str) -> tuple[str, ...]:
    """What a restart does not bring back, in words. Of a kind that is not known nothing is known to be kept."""
    return _LOST.get(kind, () if kind in WAYS else (_MEMORY,))

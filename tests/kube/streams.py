"""Streams that an API server might send, made by Hypothesis: nodes and pods with their traps, each kind a bit late."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from typing_extensions import override

from quartermaster.clock import HOUR_MS
from tests.kube.accountant import Line
from tests.kube.raws import T0, claim, device, gpu_container, iso, node, pod, resource_slice, with_claims

Draw = Any
WHOLE, SHARED, CUT, CLAIMED = "whole", "shared", "cut", "claimed"
LAST_S = 7000
END_MS = T0 + 2 * HOUR_MS
MIG = "nvidia.com/mig-1g.10gb"
BEFALLS = ("cordoned", "lost", "sick", "leaves", "shared otherwise")
ENDS = ("finishes", "deleted", "forced", "collected", "unwritten", "told late", "goes on", "goes on")


class Stream(list[Line]):
    """The lines, in words short enough to be read when a test fails."""

    story: tuple[str, ...] = ()

    @override
    def __repr__(self) -> str:
        return f"<{len(self)} lines: {'; '.join(self.story)}>"


# A claim is told before its pod is gone, half a second after the binding at the least: else it depends on the batches
# whether the pod is still remembered.
LATE_MS = {
    "nodes": [0, 1, 9, 120, 700],
    "pods": [0, 1, 9, 120, 700],
    "resourceclaims": [0, 1, 9, 120],
    "resourceslices": [0],
}


@dataclass
class World:
    """What happens, by the second at which it does: (seconds, kind, type, object)."""

    draw: Draw
    events: list[tuple[float, str, str, dict[str, Any]]] = field(
        default_factory=list[tuple[float, str, str, dict[str, Any]]]
    )
    away: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])

    @property
    def story(self) -> tuple[str, ...]:
        """All of it, in order."""
        told: list[str] = []
        for seconds, kind, how, raw in sorted(self.events, key=lambda event: event[0]):
            state = raw.get("status", {}).get("phase") or raw.get("spec", {}).get("unschedulable") or ""
            told.append(f"{seconds} {how} {kind} {raw['metadata']['name']} {state}".strip())
        return tuple(told)

    def happens(self, seconds: float, kind: str, raw: dict[str, Any], how: str = "MODIFIED") -> None:
        self.events.append((seconds, kind, how, raw))

    def second(self, least: float, most: float) -> float:
        """An instant between two others, to the millisecond."""
        return self.draw(st.integers(int(least * 1000), int(most * 1000))) / 1000

    def fleet(self) -> None:
        """Four nodes: whole GPUs, time-slices, MIG, and GPUs that DRA gives; with what may befall them."""
        slices: dict[str, str] = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "2"}
        cut = {"nvidia.com/gpu.count": "1"}
        made: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
            WHOLE: ({"gpus": 8}, {}),
            SHARED: ({"gpus": 8}, slices),
            CUT: ({"gpus": 0, "capacity": {MIG: "7"}}, cut),
            CLAIMED: ({"gpus": 0}, {}),
        }
        self.happens(
            0, "resourceslices", resource_slice([device(n, f"GPU-d{n}") for n in range(4)], node=CLAIMED)
        )
        for name, (given, labels) in made.items():
            self.happens(0.001, "nodes", node(name, labels=labels, **given), "ADDED")
            self.befalls(name, given, labels)

    def befalls(self, name: str, given: dict[str, Any], labels: dict[str, str]) -> None:
        at = 10.0
        for what in self.draw(st.lists(st.sampled_from(BEFALLS), max_size=2)):
            at, back = self.second(at, at + 2000), 0.0
            back = self.second(at + 2, at + 1500)
            taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": iso(at)}
            if what == "cordoned":
                spec = {"unschedulable": True, "taints": [taint]}
                self.happens(at, "nodes", node(name, labels=labels, spec=spec, **given))
            elif what == "lost":
                self.happens(at, "nodes", node(name, labels=labels, ready="Unknown", ready_at=at, **given))
            elif what == "sick" and given["gpus"]:
                self.happens(at, "nodes", node(name, labels=labels, allocatable=given["gpus"] - 1, **given))
            elif what == "shared otherwise" and name == SHARED:
                halves = {**labels, "nvidia.com/gpu.replicas": "2"}
                self.happens(at, "nodes", node(name, labels=halves, gpus=4))
            elif what == "leaves" and name != CLAIMED:
                self.happens(at, "nodes", node(name, labels=labels, **given), "DELETED")
                self.away.append((name, at - 2, back + 2))
            lost: dict[str, Any] = {"ready_at": back} if what == "lost" else {}
            self.happens(back, "nodes", node(name, labels=labels, **lost, **given))
            at = back + 1

    def life(self, number: int) -> None:
        """A pod from its creation to its end, however it comes."""
        where = self.draw(
            st.sampled_from([WHOLE, WHOLE, SHARED, CUT, CLAIMED] if number < 2 else [WHOLE, SHARED, CUT])
        )
        name, created = f"p{number}", self.second(1, 5000)
        bound = self.second(created, created + 60)
        if any(node == where and at <= bound <= back for node, at, back in self.away):
            return  # nobody is bound to a node that is not there
        started = self.draw(st.none() | st.integers(0, 30_000))
        begun = None if started is None else bound + started / 1000
        unbound = self.draw(st.integers(0, 9)) == 0  # made with its node's name
        shape: dict[str, Any] = {
            "node": where,
            "creationTimestamp": iso(created),
            "spec": self.spec(where, number),
        }
        told: dict[str, Any] = {"bound": bound, "started": begun, **shape}
        if unbound:
            told["status"] = {"conditions": []}
        if where == CLAIMED:
            self.claims(number, bound)
        self.happens(created, "pods", pod(name, bound=None, **shape), "ADDED")
        unstarted: dict[str, Any] = {**told, "started": None}
        self.happens(bound, "pods", pod(name, **unstarted))
        if unbound and begun is not None:
            told["status"] = {"conditions": [], "startTime": iso(begun)}
        if begun is not None:
            self.happens(begun, "pods", pod(name, **told))
        end = self.second((begun or bound) + 0.5, (begun or bound) + 3000)
        self.ends(name, self.draw(st.sampled_from(ENDS)), end, told)
        if where == CLAIMED:
            self.happens(end + 0.02, "resourceclaims", claim(f"g{number}"))
            self.happens(end + 0.03, "resourceclaims", claim(f"g{number}"), "DELETED")

    def spec(self, where: str, number: int) -> dict[str, Any]:
        count = self.draw(st.integers(1, 3))
        if where == CLAIMED:
            return {"containers": [{"name": "main"}], **with_claims(f"g{number}")}
        if where == CUT:
            return {"containers": [{"name": "main", "resources": {"limits": {MIG: str(count)}}}]}
        early = self.draw(st.sampled_from([[], [gpu_container(count + 1, "init")]]))
        side = self.draw(st.sampled_from([[], [gpu_container(1, "side", restartPolicy="Always")]]))
        return {"containers": [gpu_container(count)], "initContainers": [*side, *early]}

    def claims(self, number: int, bound: float) -> None:
        devices = [f"gpu-{2 * number}", f"gpu-{2 * number + 1}"][: self.draw(st.integers(1, 2))]
        self.happens(
            bound, "resourceclaims", claim(f"g{number}", devices, [f"p{number}"], node=CLAIMED), "ADDED"
        )

    def ends(self, name: str, how: str, end: float, told: dict[str, Any]) -> None:
        over: dict[str, Any] = {
            **told,
            "finished": end,
            "phase": self.draw(st.sampled_from(["Succeeded", "Failed"])),
        }
        written = [{"manager": "kubelet", "subresource": "status", "time": iso(end)}]
        if how == "finishes":
            self.happens(end, "pods", pod(name, **over))
            if self.draw(st.booleans()):
                self.happens(end + 5, "pods", pod(name, **over), "DELETED")
        elif how == "deleted":
            deadline: dict[str, Any] = {"deletionTimestamp": iso(end + 25), "deletionGracePeriodSeconds": 30}
            self.happens(end - 0.4, "pods", pod(name, **told, **deadline))
            self.happens(end, "pods", pod(name, **over, **deadline))
            self.happens(end + 0.1, "pods", pod(name, **over, **deadline), "DELETED")
        elif how == "forced":
            self.happens(end, "pods", pod(name, **told, deletionTimestamp=iso(end)), "DELETED")
        elif how == "told late":  # the phase first, and only then when its containers ended
            running = pod(name, **told)
            running["status"]["phase"] = over["phase"]
            self.happens(end + 0.3, "pods", running)
            self.happens(end + 2, "pods", pod(name, **over))
        elif how in {"collected", "unwritten"}:
            fields: dict[str, Any] = {"managedFields": written} if how == "collected" else {}
            running = pod(name, **told, **fields)
            running["status"]["phase"] = "Failed"
            self.happens(end, "pods", running)
            self.happens(end + 0.2, "pods", running, "DELETED")

    def sent(self) -> Stream:
        """What arrives: each kind in its own order, each a bit late, a full list of nothing before all."""
        kinds: tuple[str, ...] = ("nodes", "resourceslices", "resourceclaims", "pods")
        lines: list[Line] = [(T0, kind, how, {}) for kind in kinds for how in ("BEGIN", "SYNCED")]
        heard: dict[str, int] = dict.fromkeys(kinds, T0)
        arrived: list[Line] = []
        for seconds, kind, how, raw in sorted(self.events, key=lambda event: event[0]):
            late = self.draw(st.sampled_from(LATE_MS[kind]))
            heard[kind] = max(heard[kind], T0 + int(seconds * 1000) + late)
            arrived.append((heard[kind], kind, how, raw))
        stream = Stream([*lines, *sorted(arrived, key=lambda line: line[0])])
        stream.story = self.story
        return stream


@st.composite
def streams(draw: Draw) -> Stream:
    """A stream of two hours from T0: four nodes, up to seven pods."""
    world = World(draw)
    world.fleet()
    for number in range(draw(st.integers(1, 7))):
        world.life(number)
    return world.sent()

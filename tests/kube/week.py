"""A week in a minute on a real control plane: what is done, and the doer's own record of it."""

import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from quartermaster.clock import from_iso
from quartermaster.parts import GPU_PARTS
from tests.kube.collecting import Collector
from tests.servers.fleet import Ground
from tests.servers.stages import ENDS_AFTER, IMAGE_FAILS, STOPS_AFTER

G = GPU_PARTS
DRA = "/apis/resource.k8s.io/v1"
# What a change takes to arrive, at most, on a machine that does other things too.
LATE_MS = 5000


@dataclass
class Fact:
    """What the script knows of a pod by its own acts, and by its own look at the API.

    `end`: it ended within; both are the same instant where the API shows it. `unseen_since`: from then on nobody
    watched, so that only before it is sure.
    """

    name: str
    parts: int
    start_ms: int
    end: tuple[int, int] | None = None
    unseen_since: int | None = None
    devices: frozenset[str] = frozenset()


@dataclass
class Week:
    """The script. `facts` by the pod's uid; `down` are the spans in which no collector lived."""

    ground: Ground
    collector: Collector
    facts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    down: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    ghosts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    nodes: dict[str, str] = field(default_factory=dict[str, str])

    def play(self) -> None:
        """Seven days, one after the other."""
        self.monday()
        self.tuesday()
        self.wednesday()
        self.thursday()
        self.friday()
        self.saturday()
        self.sunday()

    # --- the days ---------------------------------------------------------------------------------------------------

    def monday(self) -> None:
        """The fleet, the collector's first life, a gang, a notebook, a workspace, a pod of ten seconds."""
        g = self.ground
        self.nodes["one"] = g.node(gpus=8, labels={"tier": "whole"})
        self.nodes["two"] = g.node(gpus=8, labels={"tier": "whole"})
        self.nodes["shared"] = g.node(gpus=2, replicas=4, labels={"tier": "shared"})
        cut = {"tier": "cut", "nvidia.com/gpu.count": "2"}
        self.nodes["cut"] = g.node(gpus=1, resources={"nvidia.com/mig-1g.10gb": 7}, labels=cut)
        self.nodes["frail"] = g.node(gpus=4, labels={"tier": "frail"})
        self.nodes["dra"] = self.dra_node()
        self.collector.start()
        self.collector_sees("first", "whole", 1)
        g.pod("ten", gpus=1, ends_after_s=10, **self.on("whole"))
        self.job("gang", pods=4, gpus=2, ends_after_s=2)
        self.saw("ten", G)
        gang = self.pods_of_job("gang", 4)
        for name in gang:
            self.saw(name, 2 * G)
        self.workspace("lab", gpus=2)
        g.pod("jupyter-ada", gpus=1, labels={"hub.jupyter.org/username": "ada"}, **self.on("whole"))
        for name in ("lab-0", "jupyter-ada"):
            g.wait_for_pod(name)
            self.saw(name, 2 * G if name == "lab-0" else G)
        for name in gang:
            self.ended(name)

    def tuesday(self) -> None:
        """Shares: replicas of a time-slice, MIG instances, claims, an extended resource; an image that never comes."""
        g = self.ground
        g.pod("slice-a", gpus=1, **self.on("shared"))
        g.pod("slice-b", gpus=3, ends_after_s=1, **self.on("shared"))
        g.pod("mig", gpus=2, resource="nvidia.com/mig-1g.10gb", ends_after_s=2, **self.on("cut"))
        container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "g"}]}}
        claims = [{"name": "g", "resourceClaimTemplateName": "two"}]
        g.pod(
            "claims", gpus=0, containers=[container], resourceClaims=claims, ends_after_s=2, **self.on("dra")
        )
        g.pod("extended", gpus=1, **self.on("dra"))
        g.pod("stuck", gpus=1, annotations={IMAGE_FAILS: "yes"}, **self.on("whole"))
        parts = {"slice-a": G // 4, "slice-b": 3 * (G // 4), "mig": 2 * (G // 7)}
        parts |= {"claims": 2 * G, "extended": G, "stuck": G}
        for name in ("claims", "extended"):
            self.wait_bound(name)
            self.saw(name, parts[name], self.devices_of(name))
        for name in ("slice-a", "slice-b", "mig", "stuck"):
            self.saw(name, parts[name])
        for name in ("slice-b", "mig", "claims"):
            self.ended(name)

    def wednesday(self) -> None:
        """Killed for the first time: one begins and ends meanwhile, one is taken by force, one was never known."""
        g = self.ground
        g.pod("vanishes", gpus=2, **self.on("whole"))
        g.wait_for_pod("vanishes")
        self.saw("vanishes", 2 * G)
        self.collector_sees_all()
        killed = self.kill()
        g.pod("unseen", gpus=1, ends_after_s=1, **self.on("whole"))
        g.pod("ghost", gpus=1, ends_after_s=1, **self.on("whole"))
        for name in ("unseen", "ghost"):
            g.wait_for_pod(name, "Succeeded")
        self.saw("unseen", G)
        self.ended("unseen")
        ghost, ended = self.pod("ghost"), ended_of(self.pod("ghost")) or 0
        self.ghosts[ghost["metadata"]["uid"]] = Fact("ghost", G, bound_of(ghost), end=(ended, ended))
        deleted = now()
        for name in ("ghost", "vanishes"):
            g.plane.call("DELETE", f"{g.path}/pods/{name}?gracePeriodSeconds=0")
        self.revive(killed)
        self.missed("vanishes", deleted, killed)
        self.collector_sees_all()

    def thursday(self) -> None:
        """Taken away under its eyes: by eviction, by force, gracefully; the workspace comes back as another pod."""
        g = self.ground
        g.pod("forced", gpus=1, **self.on("whole"))
        g.pod("graceful", gpus=1, annotations={STOPS_AFTER: "1.5"}, **self.on("whole"))
        for name in ("forced", "graceful"):
            g.wait_for_pod(name)
            self.saw(name, G)
        self.collector_sees_all()
        g.plane.call("DELETE", f"{g.path}/pods/graceful")
        before = now()
        g.plane.call("DELETE", f"{g.path}/pods/forced?gracePeriodSeconds=0")
        self.fact("forced").end = (before, now() + LATE_MS)
        self.evict("jupyter-ada")
        self.evict("lab-0")
        g.wait(f"{g.path}/pods", lambda pods: "graceful" not in names(pods))
        self.fact("graceful").end = (before, now())
        again = g.wait_for_pod("lab-0")
        assert again["metadata"]["uid"] not in self.facts
        self.saw("lab-0", 2 * G)

    def friday(self) -> None:
        """Killed for the second time, while one is ending: what it said of its end is gone with it."""
        g = self.ground
        self.job("nightly", pods=2, gpus=1, ends_after_s=3)
        nightly = self.pods_of_job("nightly", 2)
        g.pod("slow", gpus=2, annotations={STOPS_AFTER: "1"}, **self.on("whole"))
        for name in (*nightly, "slow"):
            g.wait_for_pod(name)
            self.saw(name, 2 * G if name == "slow" else G)
        self.collector_sees_all()
        deleted = now()
        g.plane.call("DELETE", f"{g.path}/pods/slow")
        killed = self.kill()
        g.wait(f"{g.path}/pods", lambda pods: "slow" not in names(pods))
        for name in nightly:
            self.ended(name)
        self.revive(killed)
        self.missed("slow", deleted, killed)

    def saturday(self) -> None:
        """Nodes: a cordon, a sick GPU, one that is lost with its pod."""
        g = self.ground
        g.pod("orphan", gpus=3, **self.on("frail"))
        g.wait_for_pod("orphan")
        self.saw("orphan", 3 * G)
        self.collector_sees_all()
        g.plane.call("PATCH", f"/api/v1/nodes/{self.nodes['two']}", {"spec": {"unschedulable": True}}, MERGE)
        sick = {"status": {"allocatable": {"nvidia.com/gpu": "7"}}}
        g.plane.call("PATCH", f"/api/v1/nodes/{self.nodes['one']}/status", sick, MERGE)
        lost = now()
        g.lose(self.nodes["frail"])
        time.sleep(1.0)
        before = now()
        g.plane.call("DELETE", f"{g.path}/pods/orphan?gracePeriodSeconds=0")
        fact = self.fact("orphan")
        fact.end, fact.unseen_since = (before, now() + LATE_MS), lost
        self.collector_sees_all()

    def sunday(self) -> None:
        """Killed for the third time, in the middle of a burst; then all that is left ends, or goes on."""
        g = self.ground
        for number in range(3):
            g.pod(f"burst-{number}", gpus=1, ends_after_s=1 + number, **self.on("whole"))
        killed = self.kill()
        for number in range(3, 6):
            g.pod(f"burst-{number}", gpus=1, ends_after_s=2, **self.on("whole"))
        self.revive(killed)
        for number in range(6):
            g.wait_for_pod(f"burst-{number}", "Succeeded", 60)
            self.saw(f"burst-{number}", G)
            self.ended(f"burst-{number}")
        self.ended("ten")
        self.collector_sees_all()
        self.collector.end(signal.SIGTERM)

    # --- what is done -----------------------------------------------------------------------------------------------

    def on(self, tier: str) -> dict[str, Any]:
        """On the nodes of a tier, among this test's."""
        return {"nodeSelector": {**self.ground.on_own_nodes({})["nodeSelector"], "tier": tier}}

    def dra_node(self) -> str:
        """A node whose four GPUs a ResourceSlice names, and what claims are made of."""
        g = self.ground
        name = g.node(gpus=0, labels={"tier": "dra"})
        devices = [
            {
                "name": f"gpu-{index}",
                "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{name}-{index}"}},
                "capacity": {"memory": {"value": "80Gi"}},
            }
            for index in range(4)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        given = {"driver": "gpu.nvidia.com", "nodeName": name, "pool": pool, "devices": devices}
        g.plane.call("POST", f"{DRA}/resourceslices", {"metadata": {"name": f"{name}-gpus"}, "spec": given})
        exactly = {"deviceClassName": "gpu.nvidia.com", "count": 2}
        template = {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}}
        path = f"{DRA}/namespaces/{g.namespace}/resourceclaimtemplates"
        g.plane.call("POST", path, {"metadata": {"name": "two"}, "spec": template})
        return name

    def job(self, name: str, pods: int, gpus: int, ends_after_s: float) -> None:
        """A Job of so many pods at once."""
        g = self.ground
        container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
        spec = {"containers": [container], "restartPolicy": "Never", **self.on("whole")}
        template = {"metadata": {"annotations": {ENDS_AFTER: f"{ends_after_s:g}"}}, "spec": spec}
        body = {
            "metadata": {"name": name},
            "spec": {"template": template, "parallelism": pods, "completions": pods},
        }
        g.plane.call("POST", f"/apis/batch/v1/namespaces/{g.namespace}/jobs", body)

    def pods_of_job(self, name: str, count: int) -> list[str]:
        """The names of its pods, once all are bound."""
        g = self.ground
        path = f"{g.path}/pods?labelSelector=job-name={name}"
        found = g.wait(path, lambda pods: sum("nodeName" in each["spec"] for each in pods["items"]) == count)
        return names(found)

    def workspace(self, name: str, gpus: int) -> None:
        """A StatefulSet in which somebody works."""
        g = self.ground
        container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
        labels = {"app": name, "app.kubernetes.io/name": "code-server"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **self.on("whole")}}
        spec = {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        }
        path = f"/apis/apps/v1/namespaces/{g.namespace}/statefulsets"
        g.plane.call("POST", path, {"metadata": {"name": name}, "spec": spec})
        g.wait(f"{g.path}/pods", lambda pods: f"{name}-0" in names(pods))

    def evict(self, name: str) -> None:
        """By the eviction API; its end is in its status, unless it is gone before anybody looks."""
        g = self.ground
        before, fact = now(), self.fact(name)
        uid = self.pod(name)["metadata"]["uid"]
        metadata = {"name": name, "namespace": g.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        g.plane.call("POST", f"{g.path}/pods/{name}/eviction", body)
        g.wait(f"{g.path}/pods", lambda pods: uid not in [each["metadata"]["uid"] for each in pods["items"]])
        fact.end = (before // 1000 * 1000, now())

    def kill(self) -> int:
        """SIGKILL; the instant after."""
        before = now()
        self.collector.end(signal.SIGKILL)
        return before

    def revive(self, killed: int) -> None:
        """The next life."""
        self.collector.start()
        self.down.append((killed, now()))

    # --- what is known ----------------------------------------------------------------------------------------------

    def pod(self, name: str) -> dict[str, Any]:
        return self.ground.plane.call("GET", f"{self.ground.path}/pods/{name}")

    def wait_bound(self, name: str) -> dict[str, Any]:
        return self.ground.wait(
            f"{self.ground.path}/pods/{name}", lambda found: "nodeName" in found["spec"], 60
        )

    def saw(self, name: str, parts: int, devices: Iterable[str] = ()) -> None:
        """A pod is bound: since when, the API shows."""
        found = self.wait_bound(name)
        fact = Fact(name, parts, bound_of(found), devices=frozenset(devices))
        self.facts[found["metadata"]["uid"]] = fact

    def ended(self, name: str) -> None:
        """A pod ends by itself: when, the API shows."""
        g = self.ground
        found = g.wait(
            f"{g.path}/pods/{name}", lambda pod: pod["status"]["phase"] in {"Succeeded", "Failed"}, 60
        )
        end = ended_of(found)
        assert end is not None
        self.facts[found["metadata"]["uid"]].end = (end, end)

    def missed(self, name: str, deleted_ms: int, killed_ms: int) -> None:
        """A pod went while no collector lived: at the latest when the next one looked."""
        fact = self.fact(name)
        fact.end, fact.unseen_since = (deleted_ms // 1000 * 1000, now() + 60_000), killed_ms

    def fact(self, name: str) -> Fact:
        """The newest of the name that has not ended."""
        return next(fact for fact in reversed(self.facts.values()) if fact.name == name and fact.end is None)

    def devices_of(self, name: str) -> list[str]:
        """The UUIDs that the claims reserved for a pod were given, by the script's own reading."""
        g = self.ground
        uid = self.pod(name)["metadata"]["uid"]
        claims = g.plane.call("GET", f"{DRA}/namespaces/{g.namespace}/resourceclaims")["items"]
        return [
            f"GPU-{result['pool']}-{result['device'].removeprefix('gpu-')}"
            for claim in claims
            if uid in [each["uid"] for each in claim["status"].get("reservedFor", [])]
            for result in claim["status"]["allocation"]["devices"]["results"]
        ]

    def collector_sees(self, name: str, tier: str, gpus: int) -> None:
        """Wait until a pod is in the ledger: from then on the collector lives."""
        self.ground.pod(name, gpus=gpus, **self.on(tier))
        self.saw(name, gpus * G)
        self.collector_sees_all()

    def collector_sees_all(self) -> None:
        """Wait until the ledger has all pods, and the ends of those that ended."""
        wanted = {uid: fact.end is not None for uid, fact in self.facts.items()}
        self.collector.until(
            self.ground.namespace,
            lambda rows: all(
                uid in rows and (not over or rows[uid]["end_ms"] is not None) for uid, over in wanted.items()
            ),
        )


MERGE = "application/merge-patch+json"


def now() -> int:
    return time.time_ns() // 1_000_000


def names(pods: dict[str, Any]) -> list[str]:
    return [each["metadata"]["name"] for each in pods["items"]]


def bound_of(pod: dict[str, Any]) -> int:
    """The pod's binding, as the API shows it."""
    scheduled = next(each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
    return from_iso(scheduled["lastTransitionTime"])


def ended_of(pod: dict[str, Any]) -> int | None:
    """The last container's end, as the API shows it."""
    states = [each["state"].get("terminated", {}) for each in pod["status"].get("containerStatuses", [])]
    return max((from_iso(each["finishedAt"]) for each in states if each), default=None)

"""Workloads: what teams ask for, with their owners, and how each behaves from its first pod to its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from quartermaster.clock import SECOND_MS
from simulator.behaviour import Behaviour

API_GROUPS = {
    "Job": "batch",
    "PyTorchJob": "kubeflow.org",
    "Notebook": "kubeflow.org",
    "Deployment": "apps",
    "StatefulSet": "apps",
    "InferenceService": "serving.kserve.io",
}
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True)
class Pull:
    """How long an image takes until the containers start; None: it never comes."""

    milliseconds: int | None = 20 * SECOND_MS


@dataclass(frozen=True)
class WorkloadPlan:
    """A workload as its owner will submit it.

    A gang binds all its pods at once, others pod by pod. `attempts_ms` are the run times of one attempt after
    the other (a failing Job's retries, a Deployment's roll-outs); after the last it is done. `ends` says how
    attempts end.
    """

    submit_ms: int
    kind: str
    namespace: str
    name: str
    team: str  # whose quota the scheduler counts it against; "" for nobody's
    user: str
    pool: str
    resource: str  # gpu | shared | mig-<profile>
    slots_a_pod: int
    pods: int
    behaviour: Behaviour
    attempts_ms: tuple[int, ...]
    gang: bool = False
    priority: int = 0
    preemptible: bool = True
    pull: Pull = field(default_factory=Pull)
    ends: str = "succeeded"  # succeeded | failed | deleted
    labels: tuple[tuple[str, str], ...] = ()
    experiment: str = ""

    @property
    def api_group(self) -> str:
        """The API group of the owner's kind."""
        return API_GROUPS[self.kind]

    def owner_chain(self, pod: str) -> Sequence[str]:
        """kind/name from the pod upwards to the owner."""
        between = {
            "Deployment": [f"ReplicaSet/{pod.rpartition('-')[0]}"],
            "InferenceService": [f"ReplicaSet/{pod.rpartition('-')[0]}", f"Deployment/{self.name}-predictor"],
            "Notebook": [f"StatefulSet/{self.name}"],
        }
        return [f"Pod/{pod}", *between.get(self.kind, []), f"{self.kind}/{self.name}"]

    def pod_name(self, ordinal: int, attempt: int, uid: str) -> str:
        """The name that the owner's controller gives to the pod with this uid."""
        random = Random(uid)
        if self.kind == "PyTorchJob":
            return f"{self.name}-{'master-0' if ordinal == 0 else f'worker-{ordinal - 1}'}"
        if self.kind in {"Notebook", "StatefulSet"}:
            return f"{self.name}-{ordinal}"
        if self.kind == "Job":
            return (
                f"{self.name}-{ordinal}-{_suffix(random, 5)}"
                if self.pods > 1
                else f"{self.name}-{_suffix(random, 5)}"
            )
        template = Random(f"{self.namespace}/{self.name}/{attempt}")  # one ReplicaSet a roll-out
        middle = "-predictor" if self.kind == "InferenceService" else ""
        return f"{self.name}{middle}-{_suffix(template, 9)}-{_suffix(random, 5)}"


def _suffix(random: Random, length: int) -> str:
    return "".join(random.choice(_LETTERS) for _ in range(length))

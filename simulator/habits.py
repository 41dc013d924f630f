"""Habits: what each of the demo's teams asks for, how often and how long."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Habit:
    """Something a team does every `every_h` hours on average, for `hours` hours in the median."""

    owner: str  # team:namespace, the team empty for nobody's
    stem: str
    kind: str
    pool: str
    every_h: float
    hours: float
    slots: int = 1
    pods: int = 1
    resource: str = "gpu"
    gang: bool = False
    always: bool = False  # at any hour, not in working hours only
    preemptible: bool = True
    behaves: str = "training"  # training | batch; a Notebook as notebooks do
    fails: float = 0.06
    hangs: float = 0.0
    labelled: bool = False  # pods carry the team as a label

    @property
    def team(self) -> str:
        """Whose quota it counts against; empty for nobody's."""
        return self.owner.partition(":")[0]

    @property
    def namespace(self) -> str:
        """Where its pods are."""
        return self.owner.partition(":")[2]


@dataclass(frozen=True)
class Service:
    """A model server that runs all the span, with a roll-out now and then."""

    team: str
    namespace: str
    name: str
    kind: str
    pool: str
    pods: int
    resource: str = "gpu"
    rollout_days: float = 3.2


# fmt: off
HABITS = (
    Habit("language:lm-train", "pretrain", "PyTorchJob", "training", 15, 11, 8, 2, gang=True, hangs=0.08),
    Habit("language:lm-train", "finetune", "PyTorchJob", "training", 9, 6, 8),
    Habit("language:lm-exp", "ablation", "Job", "training", 5, 3, 2),
    Habit("vision:vision-train", "detector", "Job", "training", 7, 8, 8, always=True, hangs=0.05),
    Habit("vision:vision-sweep", "sweep", "Job", "training", 12, 2.5, 1, 8, always=True),
    Habit("vision:vision-train", "segment", "Job", "research", 5, 6, 4),
    Habit("recommend:recommend-jobs", "night", "Job", "training", 24, 4, 8, preemptible=False, always=True),
    Habit("genomics:bio-assembly", "fold", "Job", "training", 11, 3, 1, 6, behaves="batch"),
    Habit("genomics:bio-assembly", "align", "Job", "research", 3, 2, 1, 6, behaves="batch", fails=0.12),
    Habit("climate:climate-model", "ensemble", "PyTorchJob", "training", 20, 7, 8, 2, gang=True, always=True),
    Habit("speech:speech-lab", "asr", "Job", "research", 4, 7, 2, hangs=0.15),
    Habit("evaluation:eval-jobs", "score", "Job", "research", 1.5, 0.4, resource="mig-1g.10gb", always=True),
    Habit("evaluation:eval-jobs", "smoke", "Job", "notebooks", 1.2, 0.02, resource="shared", always=True),
    Habit(":sandbox", "try", "Job", "research", 7, 6, 2),
    Habit(":default", "test", "Job", "notebooks", 12, 9, 1, hangs=0.1),
    Habit("vision:vision-lab", "notebook", "Notebook", "research", 10, 30),
    Habit("speech:speech-lab", "notebook", "Notebook", "research", 9, 26, resource="mig-2g.20gb"),
    Habit("language:shared-lab", "notebook", "Notebook", "notebooks", 5, 22, labelled=True),
    Habit("vision:shared-lab", "notebook", "Notebook", "notebooks", 5, 26, labelled=True),
    Habit("genomics:shared-lab", "notes", "Notebook", "notebooks", 4, 20, resource="shared", labelled=True),
    Habit("speech:shared-lab", "notes", "Notebook", "notebooks", 3.5, 20, resource="shared", labelled=True),
    Habit("climate:shared-lab", "notebook", "Notebook", "notebooks", 4, 22, resource="shared"),
)
SERVICES = (
    Service("search", "search-prod", "ranker", "Deployment", "serving", 5),
    Service("search", "search-prod", "embedder", "InferenceService", "serving", 2),
    Service("recommend", "recommend-prod", "retrieval", "Deployment", "serving", 4),
    Service("recommend", "recommend-prod", "canary", "Deployment", "serving", 1, rollout_days=0.8),
    Service("evaluation", "eval-jobs", "judge", "InferenceService", "research", 1, "mig-3g.40gb"),
    Service("speech", "speech-lab", "transcribe", "StatefulSet", "research", 1, "mig-1g.10gb"),
)
# fmt: on

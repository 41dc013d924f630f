"""What is read of a cluster, resource by resource: where it is served, and what is lost without it."""

from dataclasses import dataclass

HOLDERS, QUOTA = "holders", "quota"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that is listed and watched. `covers` is what cannot be told without it."""

    kind: str  # as events call it
    plural: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    fields: str = ""  # a field selector
    covers: tuple[str, ...] = ()
    optional: bool = False  # it covers only where it is served
    without: str = ""  # what is lost where it may not be read
    namespace: str = ""  # of one namespace alone; "" of all, or of none

    def path(self, version: str) -> str:
        """Where it is, over all namespaces or in its own."""
        base = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return (
            f"{base}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{base}/{self.plural}"
        )

    @property
    def name(self) -> str:
        """How a ClusterRole names it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def title(self) -> str:
        """The name, and of which namespace it is where it is of one alone."""
        return f"{self.name} in {self.namespace}" if self.namespace else self.name


DRA, KUEUE = ("v1", "v1beta2", "v1beta1"), ("v1beta2", "v1beta1")
_OWNERS = "owners have to be asked for one by one, and what a quota refuses is not seen"

RESOURCES = (
    Resource("nodes", "nodes", covers=(HOLDERS,), without="there is no capacity"),
    Resource(
        "resourceslices",
        "resourceslices",
        "resource.k8s.io",
        DRA,
        covers=(HOLDERS,),
        optional=True,
        without="devices of DRA have no UUID",
    ),
    Resource(
        "resourceclaims",
        "resourceclaims",
        "resource.k8s.io",
        DRA,
        covers=(HOLDERS,),
        optional=True,
        without="what pods hold by DRA is not seen",
    ),
    Resource("jobs", "jobs", "batch", without=_OWNERS),
    Resource("replicasets", "replicasets", "apps", without=_OWNERS),
    Resource("statefulsets", "statefulsets", "apps", without=_OWNERS),
    Resource("pods", "pods", covers=(HOLDERS,), without="holders are not known"),
    Resource(
        "resourcequotas", "resourcequotas", covers=(QUOTA,), without="quotas of namespaces are not known"
    ),
    Resource(
        "events",
        "events",
        fields="type=Warning",
        without="what a quota refuses to Jobs and StatefulSets is not seen",
    ),
    Resource(
        "killings", "events", fields="reason=Killing", without="ends that nobody saw are bounded less closely"
    ),
    Resource(
        "clusterqueues",
        "clusterqueues",
        "kueue.x-k8s.io",
        KUEUE,
        covers=(QUOTA,),
        optional=True,
        without="Kueue's quotas are not known",
    ),
    Resource(
        "cohorts",
        "cohorts",
        "kueue.x-k8s.io",
        (*KUEUE, "v1alpha1"),
        covers=(QUOTA,),
        optional=True,
        without="quotas of Kueue's cohorts are not known",
    ),
    Resource(
        "resourceflavors",
        "resourceflavors",
        "kueue.x-k8s.io",
        KUEUE,
        without="the pool of a flavor is known by its name alone",
    ),
    Resource(
        "nodepools",
        "nodepools",
        "karpenter.sh",
        ("v1", "v1beta1"),
        without="what Karpenter may still add is not known",
    ),
    Resource(
        "nodeclaims",
        "nodeclaims",
        "karpenter.sh",
        ("v1", "v1beta1"),
        without="nodes of Karpenter that boot are not seen",
    ),
    Resource(
        "scaleups",
        "events",
        fields="reason=TriggeredScaleUp",
        without="nodes that the cluster-autoscaler asked for are not seen",
    ),
    Resource("workloads", "workloads", "kueue.x-k8s.io", KUEUE, without="what waits in Kueue is not seen"),
    Resource(
        "kai_queues",
        "queues",
        "scheduling.run.ai",
        ("v2",),
        covers=(QUOTA,),
        optional=True,
        without="KAI's quotas are not known",
    ),
    Resource(
        "podgroups",
        "podgroups",
        "scheduling.run.ai",
        ("v2alpha2",),
        without="how large gangs of KAI are is not known",
    ),
    Resource(
        "volcano_queues",
        "queues",
        "scheduling.volcano.sh",
        ("v1beta1",),
        covers=(QUOTA,),
        optional=True,
        without="Volcano's quotas are not known",
    ),
)

"""What is watched of a cluster for a plan, resource by resource, and what no plan can be made without."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from collector.kubernetes.resources import DRA, HOLDERS, KUEUE, Resource

WATCHED = (
    Resource("nodes", "nodes", covers=(HOLDERS,), without="nothing is planned"),
    Resource(
        "priorityclasses", "priorityclasses", "scheduling.k8s.io", without="what is held back has priority 0"
    ),
    Resource("jobs", "jobs", "batch", covers=(HOLDERS,), without="nothing is planned"),
    Resource("replicasets", "replicasets", "apps", covers=(HOLDERS,), without="nothing is planned"),
    Resource("statefulsets", "statefulsets", "apps", covers=(HOLDERS,), without="nothing is planned"),
    Resource("deployments", "deployments", "apps", covers=(HOLDERS,), without="nothing is planned"),
    Resource(
        "poddisruptionbudgets",
        "poddisruptionbudgets",
        "policy",
        covers=(HOLDERS,),
        without="nothing is planned",
    ),
    Resource("services", "services", covers=(HOLDERS,), without="nothing is planned"),
    Resource(
        "persistentvolumes",
        "persistentvolumes",
        without="nobody is taken for pods that have claims for volumes",
    ),
    Resource(
        "persistentvolumeclaims",
        "persistentvolumeclaims",
        without="nobody is taken for pods that have claims for volumes",
    ),
    Resource(
        "resourceslices",
        "resourceslices",
        "resource.k8s.io",
        DRA,
        covers=(HOLDERS,),
        optional=True,
        without="nothing is planned",
    ),
    Resource(
        "resourceclaims",
        "resourceclaims",
        "resource.k8s.io",
        DRA,
        covers=(HOLDERS,),
        optional=True,
        without="nothing is planned",
    ),
    Resource(
        "workloads",
        "workloads",
        "kueue.x-k8s.io",
        KUEUE,
        covers=(HOLDERS,),
        optional=True,
        without="nothing is planned",
    ),
    Resource(
        "scaledobjects",
        "scaledobjects",
        "keda.sh",
        ("v1alpha1",),
        optional=True,
        without="what KEDA scales is planned, and refused when it is to be stopped",
    ),
    Resource(
        "podgroups",
        "podgroups",
        "scheduling.run.ai",
        ("v2alpha2",),
        covers=(HOLDERS,),
        optional=True,
        without="nothing is planned",
    ),
    Resource(
        "events",
        "events",
        fields="type=Warning",
        without="what a quota refuses to Jobs and StatefulSets is not seen",
    ),
    Resource(
        "scaleups",
        "events",
        fields="reason=TriggeredScaleUp",
        without="nodes that the cluster-autoscaler asked for are not waited for",
    ),
    Resource(
        "nodeclaims",
        "nodeclaims",
        "karpenter.sh",
        ("v1", "v1beta1"),
        without="nodes of Karpenter that boot are not waited for",
    ),
    Resource("pods", "pods", covers=(HOLDERS,), without="nothing is planned"),
)


# Of no namespace: with rights in namespaces alone they are never asked for.
OF_NO_NAMESPACE = {"nodes", "priorityclasses", "persistentvolumes", "resourceslices", "nodeclaims"}


def watched_in(namespaces: Sequence[str]) -> Iterator[Resource]:
    """What is watched in these namespaces; without any, in the whole cluster."""
    for each in WATCHED:
        if not namespaces:
            yield each
        elif each.kind not in OF_NO_NAMESPACE:
            yield from (replace(each, namespace=namespace) for namespace in namespaces)


def needed(resource: Resource) -> bool:
    """Whether there is no plan without it."""
    return HOLDERS in resource.covers and not resource.optional

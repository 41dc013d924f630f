"""Laws of a scene: the order in which it is told changes nothing, and nothing that it is told breaks it."""

from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.stream import ADDED, GONE, MODIFIED, Event
from enforcer.live.resources import WATCHED
from enforcer.snapshot import Snapshot, Taking
from tests.kube.raws import at, claim, device, node, pod, resource_slice, with_claims
from tests.kube.test_demand import event, workload
from tests.live.telling import NOW, Told, above, cover, owned, owner
from tests.live.test_waiting import stopped

TAKINGS = (Taking("uid-held", "uid-train", at(300)), Taking("uid-gone", "uid-nobody", at(300)))
PYTORCH = owned("PyTorchJob", "llm", "kubeflow.org/v1")


def objects() -> list[tuple[str, dict[str, Any]]]:
    """A cluster in which most of what a scene knows is there."""
    job, web = owned("Job", "train"), owned("ReplicaSet", "rs", "apps/v1")
    beside = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}
    spark = {"spark-app-selector": "etl"}
    return [
        ("nodes", node()),
        ("nodes", node("n2", 4, labels={"zone": "a"})),
        ("nodes", node("n3", 0, labels={"zone": "b"})),
        ("jobs", owner("train", spec={"parallelism": 3})),
        ("jobs", owner("wide", 2, spec={"parallelism": 4})),
        ("jobs", owner("held", spec={"suspend": True}, annotations=stopped(name="held"))),
        ("jobs", owner("part", **above("PyTorchJob", "llm", "kubeflow.org/v1"))),
        ("above kubeflow.org/v1 PyTorchJob", owner("llm", annotations={"quartermaster/exclude": "true"})),
        ("deployments", owner("web")),
        ("replicasets", owner("rs", **above("Deployment", "web", "apps/v1"))),
        ("pods", pod("a", 2, owner=job, started=3)),
        ("pods", pod("b", 2, owner=job, bound=None, labels={"app": "train"}, spec=beside)),
        ("pods", pod("c", 1, owner=job, phase="Succeeded", finished=60)),
        ("pods", pod("d", 1, owner=web, node="n2", labels={"app": "web"}, started=4)),
        ("pods", pod("e", 1, owner=owned("Job", "part"), node="n2", started=4)),
        ("pods", pod("f", 1, owner=owned("Job", "part"), bound=None)),
        ("pods", pod("cpu", 0, node="n2")),
        ("pods", pod("driver", 0, labels=spark, started=2)),
        ("pods", pod("executor", 1, labels=spark, owner=owned("Pod", "driver", "v1"), started=2)),
        ("pods", pod("dra", 0, node="n3", started=2, spec=with_claims("g"))),
        ("resourceslices", resource_slice([device(0), device(1)], node="n3")),
        ("resourceclaims", claim("g", ["gpu-0"], ["dra"], node="n3")),
        ("poddisruptionbudgets", cover("keep", {"matchLabels": {"app": "web"}}, disruptionsAllowed=1)),
        ("services", cover("front", {"app": "web"})),
        ("events", event("uid-wide")),
        ("workloads", workload()),
        ("jobs", owner("q", spec={"suspend": True})),
    ]


TERM = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": "zone"}


@given(st.integers(0, 2**32))
def test_the_order_of_what_is_told_changes_nothing(seed: int):
    random = Random(seed)
    told = [(kind, ADDED, raw) for kind, raw in objects()]
    # Some are told twice, and some were there once and are gone at the end.
    told += [(kind, MODIFIED, raw) for kind, raw in random.sample(objects(), 5)]
    random.shuffle(told)
    once = [
        ("pods", pod("once", 3, owner=owned("Job", "once"))),
        ("jobs", owner("once")),
        ("nodes", node("n9")),
    ]
    heard = Told()
    for kind, raw in random.sample(once, 3):
        heard.see(kind, raw)
    for kind, how, raw in told:
        heard.see(kind, raw, how=how)
        if random.random() < 0.1:  # a look in between leaves nothing behind
            heard.snapshot(*TAKINGS)
    for kind, raw in random.sample(once, 3):
        heard.gone(kind, raw)
    assert heard.snapshot(*TAKINGS) == in_order()


@cache
def in_order() -> Snapshot:
    """What the objects are, told one after the other."""
    told = Told()
    for kind, raw in objects():
        told.see(kind, raw)
    return told.snapshot(*TAKINGS)


def test_what_the_laws_cluster_is():
    found = in_order()
    assert sorted((each.kind, each.name, len(each.pods)) for each in found.workloads) == [
        ("Deployment", "web", 1),
        ("Job", "train", 1),
        ("Pod", "dra", 1),
        ("PyTorchJob", "llm", 1),
        ("SparkApplication", "etl", 2),
    ]
    assert sorted((each.kind, each.name, each.count) for each in found.waiting) == [
        ("Job", "held", 1),
        ("Job", "q", 4),
        ("Job", "train", 1),
        ("Job", "wide", 4),
        ("PyTorchJob", "llm", 1),
    ]
    assert found.takings == TAKINGS[:1]
    assert [(each.name, each.most_pods) for each in found.nodes] == [("n1", 110), ("n2", 109), ("n3", 110)]


def test_what_is_missing_from_a_new_list_is_gone():
    told = Told()
    for kind, raw in objects():
        told.see(kind, raw)
    for kind in {kind for kind, _ in objects()}:
        told.listing(kind)
    found = told.snapshot()
    assert (found.nodes, found.workloads, found.waiting, found.budgets) == ((), (), (), ())
    listed = Told()
    for kind in {kind for kind, _ in objects()}:
        listed.see(kind, *(raw for other, raw in objects() if other == kind))
        listed.listing(kind, *(raw for other, raw in objects() if other == kind))
    assert listed.snapshot(*TAKINGS) == in_order()


ABSURD = st.sampled_from(
    [
        None,
        True,
        -1,
        10**40,
        1e308,
        "",
        "\x00",
        "é" * 70_000,
        "9" * 50,
        "-5",
        "1e9",
        "true",
        [],
        {},
        [[]],
        {"": {}},
    ]
)
WORDS = [
    "metadata",
    "spec",
    "status",
    "labels",
    "annotations",
    "ownerReferences",
    "template",
    "containers",
    "uid",
]


@given(st.integers(0, 2**32), ABSURD, st.data())
def test_nothing_in_an_object_breaks_it(seed: int, absurd: object, data: st.DataObject):
    random = Random(seed)
    told = Told()
    for kind, raw in objects():
        told.see(kind, raw)
    kind, raw = deepcopy(random.choice(objects()))  # what objects share is not broken for the other laws
    places = list(_places(raw))
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = random.choice(places)
        holder[key] = absurd
    told.scene.apply(Event(at(NOW), kind, random.choice([ADDED, MODIFIED, GONE]), raw))
    found = told.snapshot(*TAKINGS)
    assert all(0 <= each.parts < 2**62 for workload in found.workloads for each in workload.pods)
    assert all(0 <= each.parts < 2**62 for each in found.waiting)
    assert all(each.bound_at_ms <= found.at_ms for workload in found.workloads for each in workload.pods)


@given(
    st.sampled_from([each.kind for each in WATCHED]),
    st.recursive(
        ABSURD,
        lambda inner: (
            st.dictionaries(st.sampled_from(WORDS), inner, max_size=4) | st.lists(inner, max_size=3)
        ),
    ),
)
def test_no_object_at_all_breaks_it(kind: str, value: object):
    raw = value if isinstance(value, dict) else {"metadata": value, "spec": value, "status": value}
    told = Told()
    told.scene.apply(Event(at(NOW), kind, ADDED, raw))
    told.snapshot()


def _places(raw: Any) -> Any:
    """Every place of an object that holds something: what holds it, and under which name or number."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            yield raw, key
            yield from _places(value)
    elif isinstance(raw, list):
        for number, value in enumerate(raw):
            yield raw, number
            yield from _places(value)

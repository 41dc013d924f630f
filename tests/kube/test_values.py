"""Values of the API, read without trust."""

from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.picture import Picture
from collector.kubernetes.resources import RESOURCES
from collector.kubernetes.stream import Event
from collector.kubernetes.values import instant_ms, quantity, text
from quartermaster.clock import from_iso
from tests.kube.raws import (
    SETTINGS,
    Told,
    at,
    claim,
    device,
    iso,
    mig,
    node,
    pod,
    resource_slice,
    with_claims,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("8", Fraction(8)),
        (8, Fraction(8)),
        (0.5, Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("4k", Fraction(4000)),
        ("81559Mi", Fraction(81559 * 1024**2)),
        ("1e3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("-1", Fraction(-1)),
        ("", None),
        ("eight", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e999999999", None),
        ("9" * 100, None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_a_quantity(written: object, meant: Fraction | None):
    assert quantity(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-30T12:16:56Z", "2026-11-30T12:16:56Z"),
        ("2026-11-30T12:16:56.617676Z", "2026-11-30T12:16:56.617Z"),
        ("2026-11-30T13:16:56+01:00", "2026-11-30T12:16:56Z"),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("yesterday", None),
        (12, None),
    ],
)
def test_an_instant(written: object, meant: str | None):
    assert instant_ms(written) == (None if meant is None else from_iso(meant))


@pytest.mark.parametrize(
    "hostile", ["a\x00b", "\ud800", "x" * 70_000, "\u202egnp.exe", "=cmd|' /C calc'!A0", "\"'\n;--"]
)
def test_text_is_kept_short_and_storable(hostile: str):
    kept = text(hostile)
    assert len(kept) <= 1024
    assert "\x00" not in kept
    kept.encode()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


def paths(raw: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    return [here, *(path for key, value in items for path in paths(value, (*here, key)))]


# An object of every kind that is read, whole; each field of it may be anything.
_OBJECTS: dict[str, dict[str, Any]] = {
    "pods": pod(
        started=2, spec=with_claims("g"), annotations={"gpu-fraction": "0.5", "pod-group-name": "pg"}
    ),
    "nodes": node(allocatable=7, labels={"nvidia.com/gpu.replicas": "4"}),
    "resourceslices": resource_slice([device(0), mig(1, "1g.10gb", "9-0", "MIG-a")]),
    "resourceclaims": claim("g", ["gpu-0"], ["p"]),
    "jobs": {
        "metadata": {"name": "j", "namespace": "ns", "uid": "uid-j", "creationTimestamp": iso(0)},
        "spec": {"parallelism": 3, "completions": 3, "suspend": False, "template": {"spec": pod()["spec"]}},
        "status": {"active": 1, "succeeded": 1, "conditions": [{"type": "Failed", "status": "True"}]},
    },
    "resourcequotas": {
        "metadata": {"name": "rq", "namespace": "ns", "uid": "uid-rq"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "4"}},
    },
    "events": {
        "metadata": {"uid": "e", "creationTimestamp": iso(1)},
        "involvedObject": {"kind": "Job", "uid": "uid-j"},
        "reason": "FailedCreate",
        "message": "exceeded quota: rq",
        "firstTimestamp": iso(1),
    },
    "scaleups": {
        "metadata": {"uid": "s"},
        "involvedObject": {"kind": "Pod", "uid": "uid-p"},
        "reason": "TriggeredScaleUp",
        "message": "[{g 1->2 (max: 3)}]",
        "lastTimestamp": iso(1),
    },
    "clusterqueues": {
        "metadata": {"name": "cq", "uid": "cq"},
        "spec": {
            "cohortName": "all",
            "fairSharing": {"weight": "2"},
            "resourceGroups": [
                {"flavors": [{"name": "f", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}]}
            ],
        },
    },
    "resourceflavors": {"metadata": {"name": "f", "uid": "f"}, "spec": {"nodeLabels": {"tier": "x"}}},
    "workloads": {
        "metadata": {"name": "w", "namespace": "ns", "uid": "w", "creationTimestamp": iso(0)},
        "spec": {
            "queueName": "q",
            "podSets": [{"count": 2, "minCount": 1, "template": {"spec": pod()["spec"]}}],
        },
        "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "message": "no"}]},
    },
    "kai_queues": {
        "metadata": {"name": "k", "uid": "k"},
        "spec": {"parentQueue": "up", "resources": {"gpu": {"quota": 8, "limit": -1, "overQuotaWeight": 2}}},
    },
    "podgroups": {"metadata": {"name": "pg", "namespace": "ns", "uid": "pg"}, "spec": {"minMember": 3}},
    "volcano_queues": {
        "metadata": {"name": "v", "uid": "v"},
        "spec": {"parent": "root", "weight": 2, "deserved": {"nvidia.com/gpu": 4}, "capability": {}},
    },
    "nodepools": {
        "metadata": {"name": "np", "uid": "np"},
        "spec": {"limits": {"nvidia.com/gpu": 8}, "template": {"metadata": {"labels": {"tier": "x"}}}},
    },
    "nodeclaims": {
        "metadata": {"name": "nc", "uid": "nc", "labels": {"karpenter.sh/nodepool": "np"}},
        "status": {
            "capacity": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Initialized", "status": "True"}],
        },
    },
}
WHOLE = {
    **_OBJECTS,
    **dict.fromkeys(("replicasets", "statefulsets"), _OBJECTS["jobs"]),
    "killings": _OBJECTS["events"],
    "cohorts": _OBJECTS["clusterqueues"],
}


def test_every_kind_that_is_watched_is_here():
    assert set(WHOLE) == {each.kind for each in RESOURCES}


@given(data=st.data(), junk=JUNK, kind=st.sampled_from(sorted(WHOLE)))
def test_no_absurd_field_breaks_the_picture(data: st.DataObject, junk: Any, kind: str):
    raw = deepcopy(WHOLE[kind])
    path = data.draw(st.sampled_from(paths(raw)[1:]))
    holder: Any = raw
    for key in path[:-1]:
        holder = holder[key]
    if data.draw(st.booleans()):
        holder[path[-1]] = junk
    else:
        del holder[path[-1]]
    told = Told().see(0, "nodes", node()).see(0, "pods", pod("other", started=2))
    told.see(5, kind, WHOLE[kind]).see(6, kind, raw).take(7)
    told.see(9, kind, {"metadata": junk}).see(9, kind, {}).gone(10, kind, raw).take(11)
    assert "other" in {each.pod for each in told.allocations()}


def test_hostile_labels_are_kept_as_text():
    labels = {"a": "'; drop table samples; --", "b": "x" * 70_000, "c": "\u202e", "d": "nul\x00"}
    told = Told().see(0, "nodes", node()).see(1, "pods", pod(labels=labels))
    assert len(told.allocation().labels) < 2500
    assert "\\u0000" not in told.allocation().labels


def test_an_unknown_kind_is_passed_over():
    picture = Picture(SETTINGS)
    picture.apply(Event(at(0), "widgets", "ADDED", {"metadata": {}}))
    assert set(picture.take(at(1))) == {"authority_versions"}

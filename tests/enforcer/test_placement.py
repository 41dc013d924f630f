"""Placement and shapes: what Kubernetes would do with a pod and a node."""

from typing import Any

import pytest

from enforcer.placement import Ask, Room
from enforcer.shape import Need, Shape, Taint, Toleration, allowed
from enforcer.snapshot import Coming, Node
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import GPU, MIG, NOW, SLICE
from tests.enforcer.scenes import POOL, job, node, shape

LABELS = {"zone": "u", "rank": "5"}


@pytest.mark.parametrize(
    ("need", "expected"),
    [
        (Need("zone", "In", ("u", "v")), True),
        (Need("zone", "In", ("v",)), False),
        (Need("zone", "NotIn", ("v",)), True),
        (Need("zone", "NotIn", ("u",)), False),
        (Need("none", "NotIn", ("u",)), True),
        (Need("none", "In", ("u",)), False),
        (Need("zone", "Exists"), True),
        (Need("none", "Exists"), False),
        (Need("none", "DoesNotExist"), True),
        (Need("zone", "DoesNotExist"), False),
        (Need("rank", "Gt", ("4",)), True),
        (Need("rank", "Gt", ("5",)), False),
        (Need("rank", "Lt", ("6",)), True),
        (Need("zone", "Gt", ("4",)), False),
        (Need("none", "Lt", ("4",)), False),
        (Need("rank", "Gt", ("4", "5")), False),
        (Need("metadata.name", "In", ("n1",)), True),
        (Need("metadata.name", "In", ("n2",)), False),
        (Need("zone", "Resembles", ("u",)), False),
    ],
)
def test_one_requirement_of_an_affinity(need: Need, expected: bool) -> None:
    assert allowed(Shape((), affinity=((need,),)), "n1", LABELS, ()) is expected


def test_terms_are_alternatives_and_an_empty_one_matches_nothing() -> None:
    no, yes = Need("zone", "In", ("v",)), Need("zone", "In", ("u",))
    assert allowed(Shape((), affinity=((no,), (yes,))), "n1", LABELS, ())
    assert not allowed(Shape((), affinity=((no, yes),)), "n1", LABELS, ())
    assert not allowed(Shape((), affinity=((),)), "n1", LABELS, ())


@pytest.mark.parametrize(
    ("taint", "tolerations", "expected"),
    [
        (Taint("k", "v"), (), False),
        (Taint("k", "v", "NoExecute"), (), False),
        (Taint("k", "v", "PreferNoSchedule"), (), True),
        (Taint("k", "v"), (Toleration("k", "Equal", "v"),), True),
        (Taint("k", "v"), (Toleration("k", "Equal", "w"),), False),
        (Taint("k", "v"), (Toleration("k", "Exists"),), True),
        (Taint("k", "v"), (Toleration("", "Exists"),), True),
        (Taint("k", "v"), (Toleration("", "Equal", "v"),), False),
        (Taint("k", "v"), (Toleration("k", "Exists", effect="NoExecute"),), False),
        (Taint("k", "v"), (Toleration("k", "Exists", effect="NoSchedule"),), True),
    ],
)
def test_taints(taint: Taint, tolerations: tuple[Toleration, ...], expected: bool) -> None:
    assert allowed(Shape((), tolerations=tolerations), "n1", {}, (taint,)) is expected


def _room(*nodes: Node, held: Any = ()) -> Room:
    return Room(nodes, (), [pod for workload in held for pod in workload.pods])


def _ask(*pods: tuple[Shape, int], beside: tuple[str, ...] = ()) -> Ask:
    return Ask(POOL, pods, beside)


def test_every_resource_counts_and_so_does_the_number_of_pods() -> None:
    room = _room(node("n1", cpu_milli=10_000, memory_mib=10_000, most_pods=3))
    assert room.most(_ask((shape(1, cpu_milli=4_000), 9))) == 2
    assert room.most(_ask((shape(1, memory_mib=4_000), 9))) == 2
    assert room.most(_ask((shape(1), 9))) == 3
    assert room.most(_ask((shape(3), 9))) == 2


def test_a_pod_that_asks_for_no_cpu_fits_where_too_much_is_given_away() -> None:
    full = [job("b", "b", "n1", gpus=1, shape=shape(1, cpu_milli=70_000))]
    room = _room(node("n1"), held=full)
    assert room.fits(_ask((shape(7), 1)))
    assert not room.fits(_ask((shape(1, cpu_milli=1), 1)))


def test_slices_of_another_profile_are_of_no_use() -> None:
    sliced = Node("n1", POOL, ((MIG, 7), (GPU, 0)), ((MIG, SLICE),), 64_000, 64_000)
    room = _room(sliced)
    assert room.most(_ask((Shape(((MIG, 2),)), 9))) == 3
    assert not room.fits(_ask((Shape((("nvidia.com/mig-3g.40gb", 1),)), 1)))
    assert not room.fits(_ask((shape(1), 1)))


def test_giving_and_taking_back_leaves_the_room_as_it_was() -> None:
    held = [job("b", "b", "n1", "n2", gpus=8)]
    room = _room(node("n1"), node("n2"), held=held)
    ask = _ask((shape(8), 2))
    assert not room.fits(ask)
    room.give(held[0].pods)
    assert room.places(ask) == (("n1", ask.pods[0][0], 1), ("n2", ask.pods[0][0], 1))
    room.take(held[0].pods)
    assert room.most(ask) == 0


def test_a_pod_on_a_node_that_is_gone_gives_nothing() -> None:
    room = _room(node("n1"))
    room.give(job("b", "b", "gone", gpus=8).pods)
    assert room.most(_ask((shape(8), 9))) == 1


def test_the_fullest_nodes_are_filled_first() -> None:
    room = _room(node("n1"), node("n2"), held=[job("b", "b", "n2", gpus=6)])
    one = shape(2)
    assert [(name, count) for name, _, count in room.places(_ask((one, 2)))] == [("n2", 1), ("n1", 1)]


def test_pods_that_are_kept_apart() -> None:
    apart = shape(1, apart_on="kubernetes.io/hostname")
    room = _room(node("n1"), node("n2"), node("n3", labels={}))
    assert room.most(_ask((apart, 9))) == 3
    assert room.most(_ask((apart, 9), beside=("n1",))) == 2
    zones = _room(*(node(f"n{n}", labels={"zone": "u"}) for n in range(4)))
    by_zone = _ask((shape(1, apart_on="zone"), 2))
    assert not zones.fits(by_zone)
    assert len(zones.places(_ask((by_zone.pods[0][0], 1)))) == 1


def test_pods_that_are_kept_together() -> None:
    nodes = [node(f"n{n}", labels={"zone": zone}) for n, zone in enumerate("uuv")]
    together = shape(8, together_on="zone")
    room = _room(*nodes)
    assert room.fits(_ask((together, 2)))
    assert not room.fits(_ask((together, 3)))
    assert not room.fits(_ask((together, 2), beside=("n2",)))
    assert {name for name, _, _ in room.places(_ask((together, 2)))} == {"n0", "n1"}
    assert {name for name, _, _ in room.places(_ask((together, 1)))} == {"n2"}  # the smallest that is enough
    assert not _room(node("n1")).fits(_ask((together, 1)))  # a node without the label


def test_pods_of_several_shapes_fit_when_no_order_keeps_them_out() -> None:
    small, large = shape(1), shape(8)
    sure, unsure = _ask((small, 8), (large, 1)), _ask((small, 1), (large, 1))
    two = _room(node("n1"), node("n2"))
    assert not two.fits(sure)
    assert two.might_fit(sure)
    assert not two.fits(_ask((small, 1), (large, 2)))
    assert not two.might_fit(_ask((small, 1), (large, 2)))
    assert two.fits(unsure)
    assert two.most(unsure) == 2
    # A head without GPUs takes no worker's place, unless CPUs are scarce.
    head, worker = Shape((), cpu_milli=4_000), shape(8, cpu_milli=60_000)
    assert two.fits(_ask((head, 1), (worker, 2)))
    assert not two.fits(_ask((head, 2), (worker, 2)))


def test_a_node_that_boots_counts_only_where_it_is_asked_for() -> None:
    room = Room((node("n1", 4),), (Coming(node("n2"), NOW),), ())
    ask = _ask((shape(8), 1))
    assert not room.fits(ask)
    assert room.fits(ask, booting=True)
    assert room.places(ask, booting=True)[0][0] == "n2"


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        (((shape(1, unsure=("a volume", "a port")), 1),), "its pods ask for a volume, a port"),
        (((shape(1, apart_on="x", together_on="y"), 1),), "its pods are apart on x and together on y"),
        (((shape(1, apart_on="x"), 1), (shape(2), 1)), "its pods differ, and x binds them to one another"),
        (((shape(1), 1),), ""),
    ],
)
def test_what_cannot_be_told(pods: Any, words: str) -> None:
    assert _ask(*pods).doubt() == words


def test_enough_asks_of_who_is_taken_only_what_the_nodes_lack() -> None:
    wanted = Shape(((GPU, 2), ("rdma/ib", 1)), cpu_milli=8_000)
    full = Node("n1", POOL, ((GPU, 8), ("rdma/ib", 1000)), ((GPU, GPU_PARTS),), cpu_milli=64_000)
    room = Room((full,), (), job("a", "a", "n1", gpus=8).pods)
    enough = room.enough_for(_ask((wanted, 2)))
    assert enough({GPU: 4}, 1), "what is plentiful on the node need not be freed"
    assert not enough({GPU: 2}, 1)
    busy = job("a", "a", "n1", shape=Shape(((GPU, 1),), cpu_milli=64_000)).pods
    assert Room((full,), (), busy).enough_for(_ask((wanted, 3)))({GPU: 1}, 1), "its CPU is what they lack"

"""Nodes over time: cordons, readiness, sick GPUs, another cut, and the end."""

from collector.kubernetes.settings import Settings
from quartermaster.pool import PoolRule
from tests.kube.raws import G, Told, at, iso, node, replaced


def test_a_cordon_begins_at_its_taint():
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": iso(50)}
    told = (
        Told()
        .see(0, "nodes", node())
        .see(50.4, "nodes", node(spec={"unschedulable": True, "taints": [taint]}))
    )
    told.see(90.4, "nodes", node())
    spans = [(each.start_at, each.end_at, each.schedulable) for each in told.nodes()]
    assert spans == [(at(0), at(50), True), (at(50), at(90.4), False), (at(90.4), None, True)]


def test_not_ready_begins_when_the_condition_turned():
    told = Told().see(0, "nodes", node()).see(60.3, "nodes", node(ready="Unknown", ready_at=60))
    assert [(each.start_at, each.ready) for each in told.nodes()] == [(at(0), True), (at(60), False)]


def test_a_heartbeat_is_no_change():
    told = Told().see(0, "nodes", node()).take()
    assert told.see(40, "nodes", node()).take().nodes() == told.nodes()
    assert len(told.rows["nodes_versions"]) == 1


def test_allocatable_below_capacity_is_sick_gpus_that_nobody_names():
    told = Told().see(0, "nodes", node(gpus=4, allocatable=3)).take()
    (sick,) = told.devices()
    assert (sick.device_index, sick.healthy, sick.parts, sick.evidence) == (3, False, G, "assumed")
    told.see(50, "nodes", node(gpus=4))
    assert [each.end_at for each in told.devices()] == [at(50)]


def test_a_sick_replica_is_a_sick_gpu():
    labels = {"nvidia.com/gpu.replicas": "10"}
    assert len(Told().see(0, "nodes", node(gpus=80, allocatable=70, labels=labels)).devices()) == 1


def test_a_node_that_leaves_ends_with_its_devices():
    told = Told().see(0, "nodes", node(gpus=4, allocatable=3)).gone(70, "nodes", node())
    assert [each.end_at for each in (*told.nodes(), *told.devices())] == [at(70), at(70)]


def test_a_node_that_left_while_nobody_watched():
    told = Told().listing(0, "nodes", node("n1"), node("n2")).listing(600, "nodes", node("n2"))
    assert [each.end_at for each in told.nodes()] == [at(600), None]


def test_a_node_that_comes_back_begins_anew():
    told = Told().see(0, "nodes", node()).gone(70, "nodes", node()).see(100, "nodes", node())
    assert [(each.start_at, each.end_at) for each in told.nodes()] == [(at(0), at(70)), (at(100), None)]


def test_mig_reconfigured_changes_the_model_of_capacity_not_its_amount():
    single = {
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb",
    }
    told = Told().see(0, "nodes", node(gpus=8)).see(60, "nodes", node(gpus=56, labels=single))
    assert {(each.gpu_count, each.model) for each in told.nodes()} == {(8, "NVIDIA H100 80GB HBM3")}


def test_nodes_without_gpus_are_none():
    assert Told().see(0, "nodes", node(gpus=0)).nodes() == []


def test_a_new_node_is_there_before_the_pods_bound_in_the_same_second():
    assert Told().see(5.9, "nodes", node()).nodes()[0].start_at == at(5)


def test_pools_by_model_and_label():
    rules = (PoolRule("inference", ("*H100*",), {"tier": "inf*"}), PoolRule("training", ("*H100*",)))
    settings: Settings = replaced(pools=rules)
    told = Told(settings).see(0, "nodes", node("a")).see(0, "nodes", node("b", labels={"tier": "inference"}))
    assert [each.pool for each in told.nodes()] == ["training", "inference"]

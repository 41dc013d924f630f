"""Two tellings of one version at one revision: the same one counts, whichever came first; given rows, expected rows."""

from dataclasses import replace
from typing import TypeVar

import pytest

from quartermaster import records
from tests.usage.history import Threshold
from tests.usage.small import CLUSTER, Small, gpu, m

T = TypeVar("T")
STATES = ("computing", "idle", "unknown")
either_order = pytest.mark.parametrize("turned", [False, True], ids=["as told", "turned around"])


@either_order
@pytest.mark.patient
def test_of_two_kinds_of_a_workload_the_greater_name_chooses_the_floors(turned: bool) -> None:
    c = Small()
    c.pod("a", 0, 60, gpu(0))
    job = records.Workload(CLUSTER, 1, m(-60), None, "", "Job", "a", "w")
    c.h.workloads = _told(turned, job, replace(job, kind="Notebook"))
    c.floor("gr_engine", 600, "N*")
    c.heard(0, (0, 500), (10, 700), (20, None))
    assert c.rows(*STATES)[0, "a"] == (10, 10, 40)


@either_order
@pytest.mark.patient
def test_of_two_tellings_of_a_threshold_the_kind_is_compared_before_the_floor(turned: bool) -> None:
    c = Small()
    c.pod("a", 0, 60, gpu(0))
    c.h.workloads = [records.Workload(CLUSTER, 1, m(-60), None, "", "Notebook", "a", "w")]
    every = Threshold(0, m(-600), None, "gr_engine", 900)
    c.h.thresholds = _told(turned, every, replace(every, workload_kind="Notebook", floor=600))
    c.heard(0, (0, 500), (10, 700), (20, None))
    assert c.rows(*STATES)[0, "a"] == (10, 10, 40)


@either_order
@pytest.mark.patient
def test_of_two_tellings_of_a_device_the_instance_is_compared_before_the_kind(turned: bool) -> None:
    c = Small()
    c.pod("a", 0, 60, gpu(0))
    c.h.devices = _told(turned, replace(c.h.devices[0], kind="mig"), replace(c.h.devices[0], gi_id="1"))
    c.heard(0, (0, 500))
    assert c.rows(*STATES)[0, "a"] == (0, 0, 60)


@either_order
@pytest.mark.patient
def test_an_end_that_is_told_counts_before_an_open_one(turned: bool) -> None:
    c = Small()
    c.pod("a", 0, None, gpu(0))
    c.h.allocations = _told(turned, c.h.allocations[0], replace(c.h.allocations[0], end_at=m(30)))
    assert c.rows("held")[0, "a"] == (30,)


@either_order
@pytest.mark.patient
def test_a_higher_revision_counts_before_greater_content(turned: bool) -> None:
    c = Small()
    c.pod("a", 0, 60, gpu(0))
    notebook = records.Workload(CLUSTER, 1, m(-60), None, "", "Notebook", "a", "w")
    c.h.workloads = _told(turned, notebook, replace(notebook, kind="Job", revision=1))
    c.floor("gr_engine", 600, "N*")
    c.heard(0, (0, 500), (10, None))
    assert c.rows(*STATES)[0, "a"] == (10, 0, 50)


def _told(turned: bool, *tellings: T) -> list[T]:
    return list(reversed(tellings) if turned else tellings)

"""What is asked of a Prometheus about kube-state-metrics: names that it told are quoted, whatever is in them."""

from typing import cast

import numpy as np
import orjson

from collector.kubernetes.settings import Settings
from collector.prometheus.answer import Answer
from collector.prometheus.connection import Connection
from collector.prometheus.objects import LabelNames
from collector.prometheus.states import REQUESTS, StateReader

HOSTILE = 'a"} or up or x{b="\\'
SPAN = (1_795_046_400_000, 1_795_046_460_000)


class Stub:
    """A Prometheus with one pod of a hostile uid, whose phase turned terminal; it remembers what was asked."""

    def __init__(self) -> None:
        self.url = "http://prometheus:9090"
        self.asked: list[str] = []

    def label_values(self, *_: object) -> list[str]:
        return ["n1"]

    def instant(self, query: str, _: int) -> list[tuple[dict[str, str], float]]:
        return [({"uid": HOSTILE}, 1.0)] if "kube_pod_status_phase" in query else []

    def range(self, query: str, _: int) -> Answer:
        self.asked.append(query)
        if REQUESTS not in query:
            return Answer((), np.array([0]), np.array([], np.int64), np.array([]))
        head = orjson.dumps({"uid": HOSTILE, "pod": "p", "namespace": "n", "resource": "nvidia_com_gpu"})
        return Answer((head,), np.array([0, 1]), np.array([SPAN[0]]), np.array([1.0]))


def test_a_hostile_uid_stays_within_its_quotes() -> None:
    stub = Stub()
    settings = Settings(cluster="c")
    StateReader(cast(Connection, stub), {}, LabelNames(settings)).read(SPAN)
    (asked,) = [query for query in stub.asked if "kube_pod_status_phase" in query]
    assert ',uid="a\\"} or up or x{b=\\"\\\\"}' in asked

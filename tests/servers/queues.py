"""What queues of KAI and Volcano look like: their resource definitions on a real API server; nothing of them runs.

The fields are those of `scheduling.run.ai/v2` (KAI 0.13) and `scheduling.volcano.sh/v1beta1` (Volcano 1.15), with their
types, bounds and defaults, so that what is not among them is pruned, and what cannot be is refused.
"""

from typing import Any

from tests.servers.controlplane import ControlPlane
from tests.servers.objects import define

KAI = "/apis/scheduling.run.ai/v2/queues"
VOLCANO = "/apis/scheduling.volcano.sh/v1beta1/queues"
_STRING, _NUMBER, _INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+(\.[0-9]*)?))?$"
_QUANTITIES = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [_INTEGER, _STRING],
        "pattern": _QUANTITY,
        "x-kubernetes-int-or-string": True,
    },
}


def define_kai(plane: ControlPlane) -> None:
    """KAI's Queues and PodGroups."""
    each = {"type": "object", "properties": {"quota": _NUMBER, "limit": _NUMBER, "overQuotaWeight": _NUMBER}}
    queue = {
        "displayName": _STRING,
        "parentQueue": _STRING,
        "priority": _INTEGER,
        "preemptMinRuntime": _STRING,
        "reclaimMinRuntime": _STRING,
        "resources": {"type": "object", "properties": {"gpu": each, "cpu": each, "memory": each}},
    }
    define(plane, "scheduling.run.ai", "v2", "Queue", "queues", spec=queue, namespaced=False)
    group = {"minMember": _INTEGER, "queue": _STRING, "priorityClassName": _STRING}
    define(plane, "scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups", spec=group, namespaced=True)


def define_volcano(plane: ControlPlane) -> None:
    """Volcano's Queues."""
    name = {"type": "string", "maxLength": 253}
    queue: dict[str, Any] = {
        "weight": _INTEGER | {"format": "int32", "default": 1, "minimum": 1, "maximum": 65535},
        "capability": _QUANTITIES,
        "reclaimable": {"type": "boolean"},
        "guarantee": {"type": "object", "properties": {"resource": _QUANTITIES}},
        "type": name,
        "parent": name,
        "deserved": _QUANTITIES,
        "priority": _INTEGER | {"format": "int32", "minimum": 0},
        "dequeueStrategy": {"type": "string", "default": "traverse", "enum": ["fifo", "traverse"]},
    }
    define(plane, "scheduling.volcano.sh", "v1beta1", "Queue", "queues", spec=queue, namespaced=False)

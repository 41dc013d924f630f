"""The series of a Prometheus as lines of the pages they were scraped from; pure.

A page's line and a series have the same labels, and the series has more: those of the scrape (job, instance),
of the server (replica, cluster), and with `honorLabels: false` the exporter's own pod beside `exported_pod`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from collector.dcgm.labels import Subject, subject_of
from collector.dcgm.metrics import NUMBER_BY_NAME
from collector.prometheus.answer import labels_of

# What a page itself says of a line; whatever else a series is labelled with says where it came from.
_OF_PAGES = frozenset(
    (
        *("gpu", "UUID", "uuid", "gpu_uuid", "device", "modelName", "model_name", "Hostname", "hostname"),
        *("GPU_I_PROFILE", "GPU_I_ID", "pci_bus_id", "vgpu", "err_code", "err_msg", "hpc_job", "pod_uid"),
        *("pod", "namespace", "container", "pod_name", "pod_namespace", "container_name"),
        *("exported_pod", "exported_namespace", "exported_container"),
        *("dra_claim_name", "dra_claim_namespace", "dra_driver_name", "dra_pool_name", "dra_device_name"),
        *("dra_mig_profile", "dra_mig_device_uuid", "DCGM_FI_DRIVER_VERSION"),
    )
)


_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Voice:
    """One series.

    number    its number among all that were met
    signal    the number of its signal in metrics.SIGNALS
    subject   which device it speaks of, and who is said to hold it
    origin    what tells the same line from two replicas, or from two jobs, apart
    job       the scrape's job
    """

    number: int
    signal: int
    subject: Subject
    origin: str
    job: str


class Voices:
    """The series that were met, by their labels' text: each is understood once, as long as it is remembered."""

    def __init__(self, node_label: str = "") -> None:
        """`node_label` names the label that has the node, where the exporter's own does not say it rightly."""
        self._node_label = node_label
        self._known: dict[bytes, Voice | None] = {}
        self._subjects: dict[tuple[tuple[str, str], ...], tuple[Subject, str] | None] = {}
        self._met = 0

    def forget(self) -> None:
        """Forget them where there are many: pods come and go, and each makes series of its own."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
            self._subjects.clear()

    def of(self, head: bytes) -> Voice | None:
        """The series with these labels (JSON); None where it is no signal of a GPU. Raises NoAnswer."""
        if head not in self._known:
            self._known[head] = self._understand(labels_of(head))
        return self._known[head]

    def _understand(self, labels: dict[str, str]) -> Voice | None:
        signal = NUMBER_BY_NAME.get(labels.pop("__name__", ""))
        if signal is None:
            return None
        key = tuple(labels.items())
        if key not in self._subjects:
            self._subjects[key] = _subject(labels, self._node_label)
        found = self._subjects[key]
        if found is None:
            return None
        self._met += 1
        return Voice(self._met, signal, found[0], found[1], labels.get("job", ""))


def _subject(labels: Mapping[str, str], node_label: str) -> tuple[Subject, str] | None:
    """What all series with these labels speak of, and their origin."""
    subject = subject_of(labels)
    if subject is None:
        return None
    node = labels.get(node_label) or subject.node or _host(labels.get("instance", ""))
    origin = json.dumps(sorted((key, text) for key, text in labels.items() if key not in _OF_PAGES))
    return replace(subject, node=node), origin


def _host(instance: str) -> str:
    try:
        return urlsplit(f"//{instance}").hostname or instance
    except ValueError:
        return instance

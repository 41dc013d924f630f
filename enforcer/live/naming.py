"""Naming: which workload objects belong to, as the collector names it."""

from collector.kubernetes.owners import Chain, Reference, Subject, workload_of
from collector.kubernetes.settings import Settings
from enforcer.live.selector import Labels

_MOST = 50_000
Place = tuple[str, str, str]  # namespace, name, UID


class Naming:
    """Names workloads; what was named once is not worked out again, which is asked for with every snapshot."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[Place, Labels, tuple[Reference, ...]], tuple[str, str, str, str]] = {}

    def of(self, place: Place, labels: Labels, chain: Chain) -> tuple[str, str, str, str]:
        """UID, kind, namespace and name of the workload of an object with such labels and owners.

        Where it has no UID, the ledger's id stands for it, as it does in plans from the ledger.
        """
        key = place, labels, chain.owners
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = workload_of(Subject(*place, dict(labels), {}, 0), chain.owners, self._settings)
            uid = found.uid or str(found.workload_id)
            known = self._known[key] = uid, found.kind, found.namespace, found.name
        return known

"""A cluster in a process, on a virtual clock: what Kubernetes would tell of it, and what its exporters would show."""

from collections.abc import Sequence

from quartermaster.records import Allocation, Authority, Demand, Device, Holding, Node, Watermark, Workload

Record = Node | Device | Workload | Allocation | Holding | Demand | Authority | Watermark


class ClusterSimulation:
    """A cluster that stands at `clock_ms`. The same seed gives the same records and pages, however the clock is stepped."""

    clock_ms: int

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes' names, in order."""
        raise NotImplementedError

    def advance(self, to_ms: int) -> None:
        """Let the cluster live until `to_ms`; an instant that has passed changes nothing."""
        raise NotImplementedError

    def truth(self, since_ms: int | None = None) -> dict[str, list[Record]]:
        """What a Kubernetes watch told after `since_ms` (None: from the start) and until the clock, as {table: records}.

        Versions with growing revisions, ready for `ledger.append`; with them the watermarks of holders and quota.
        """
        raise NotImplementedError

    def page(self, node: str, now_ms: int) -> bytes | None:
        """The exposition page of the node's exporter at `now_ms` (the clock moves there first); None where it does not answer."""
        raise NotImplementedError

    def configuration(self, base_url: str) -> str:
        """The text of a quartermaster.yaml for this cluster, whose pages stand at `<base_url>/<node>/metrics`."""
        raise NotImplementedError

"""The simulator as a server: a process of its own that serves each node's page over HTTP and is steered over a pipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from simulator.cluster import Record


@dataclass(frozen=True)
class Plan:
    """What to simulate. `speed` 0: the clock stands until `advance`; else virtual seconds a real second."""

    seed: int
    start_ms: int
    end_ms: int
    quick: bool = False
    speed: float = 0.0
    labels: str = ""  # a label generation for every node; empty: each pool its own
    quirks: Mapping[str, Sequence[str]] = field(
        default_factory=dict[str, Sequence[str]]
    )  # node (or "*") to names of quirks


class SimulatorServer:
    """A context manager: the child process starts on entry (spawn) and ends on exit; 127.0.0.1 only, unless told otherwise."""

    base_url: str  # http://127.0.0.1:PORT
    nodes: Sequence[str]

    def __init__(self, plan: Plan, *, host: str = "127.0.0.1", port: int = 0) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def url(self, node: str) -> str:
        """The address of the node's page."""
        raise NotImplementedError

    def advance(self, to_ms: int) -> None:
        """Move the virtual clock; answers when the pages show the new instant."""
        raise NotImplementedError

    def truth(self, since_ms: int | None = None) -> dict[str, list[Record]]:
        """As ClusterSimulation.truth."""
        raise NotImplementedError

    def switch(self, node: str, quirks: Sequence[str]) -> None:
        """Set the quirks of one node ("*": of all); an empty list ends them."""
        raise NotImplementedError

    def configuration(self) -> str:
        """As ClusterSimulation.configuration, with this server's addresses."""
        raise NotImplementedError

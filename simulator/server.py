"""The simulator as a server: a process of its own that serves each node's page and is steered over a pipe."""

import asyncio
import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self, cast

from quartermaster.errors import InputError, SourceError
from quartermaster.interrupt import Patience
from simulator.http import PageProtocol
from simulator.scenario import demo
from simulator.simulation import ClusterSimulation
from simulator.truth import Record

_START_S = 30.0
_STOP_S = 5.0


@dataclass(frozen=True)
class Plan:
    """What to simulate. `speed` 0: the clock stands until `advance`; else virtual seconds a real second."""

    seed: int
    start_ms: int
    end_ms: int
    quick: bool = False
    speed: float = 0.0
    labels: str = ""  # a label generation for every node; empty: each pool its own
    quirks: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])  # by node, or "*"

    def simulation(self) -> ClusterSimulation:
        """The simulation, with its labels and quirks. Raises InputError for a name that is not known."""
        simulation = demo(self.seed, self.start_ms, self.end_ms, quick=self.quick)
        if self.labels:
            simulation.speak("*", self.labels)
        for node, names in self.quirks.items():
            simulation.switch(node, names)
        return simulation


class LiveSite:
    """A simulation as a site: its clock stands, or runs with the real one times the plan's speed."""

    def __init__(self, plan: Plan, simulation: ClusterSimulation) -> None:
        self._plan = plan
        self._simulation = simulation
        self._began = time.monotonic()
        self._names = simulation.nodes

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes' names."""
        return self._names

    def now_ms(self) -> int:
        """The virtual clock."""
        if not self._plan.speed:
            return self._simulation.clock_ms
        return self._plan.start_ms + int((time.monotonic() - self._began) * 1000 * self._plan.speed)

    def page(self, node: str) -> bytes | None:
        """The node's page now; None where its exporter is down."""
        return self._simulation.page(node, self.now_ms())

    def quirks(self, node: str) -> Sequence[str]:
        """The node's quirks."""
        return self._simulation.quirks(node)


async def serve(
    site: LiveSite, host: str, port: int, ready: Callable[[int], None], stop: asyncio.Event
) -> None:
    """Serve until `stop` is set; `ready` is told the port. Raises SourceError where the address is taken."""
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(lambda: PageProtocol(site), host, port, reuse_address=True)
    except OSError as error:
        raise SourceError(f"{host}:{port}: {error.strerror or error}", "choose another --port") from error
    async with server:
        ready(int(server.sockets[0].getsockname()[1]))
        await stop.wait()
        server.close()


async def run(site: LiveSite, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until SIGINT or SIGTERM. Raises SourceError where the address is taken."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await serve(site, host, port, ready, stop)


class SimulatorServer:
    """A context manager: the child process starts on entry (spawn) and ends on exit, or with its parent.

    It listens on 127.0.0.1 unless told otherwise. Entering raises InputError for a plan that is wrong,
    SourceError where the port is taken.
    """

    def __init__(self, plan: Plan, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._plan = plan
        self._host = host
        self._port = port
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None
        self.nodes: Sequence[str] = ()
        self.base_url = ""

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = cast("tuple[Connection[Any, Any], Connection[Any, Any]]", context.Pipe())
        process = context.Process(
            target=_child, args=(self._plan, self._host, self._port, theirs), daemon=True
        )
        try:
            with _without_ctrl_c():
                process.start()
                self._process = process
            theirs.close()
            port, nodes = self._result(_START_S)
        except BaseException:
            self._stop()
            raise
        self.base_url = f"http://{self._host}:{port}"
        self.nodes = nodes
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def url(self, node: str) -> str:
        """The address of the node's page."""
        return f"{self.base_url}/{node}/metrics"

    def advance(self, to_ms: int) -> None:
        """Move the virtual clock; answers when the pages show the new instant."""
        self._ask("advance", to_ms)

    def truth(self, since_ms: int | None = None) -> dict[str, list[Record]]:
        """As ClusterSimulation.truth."""
        return self._ask("truth", since_ms)

    def switch(self, node: str, quirks: Sequence[str]) -> None:
        """Set the quirks of a node ("*": of all); none ends them. Raises InputError for an unknown name."""
        self._ask("switch", node, tuple(quirks))

    def speak(self, node: str, generation: str) -> None:
        """Set the label generation of a node ("*": of all). Raises InputError for one that is not known."""
        self._ask("speak", node, generation)

    def configuration(self, holders: str = "kubernetes") -> str:
        """As ClusterSimulation.configuration, with this server's addresses."""
        return self._ask("configuration", self.base_url, holders)

    def _ask(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        try:
            if self._pipe is not None:
                self._pipe.send((name, arguments))
            return self._result(None)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SourceError("the simulator's process has died") from error

    def _result(self, within_s: float | None) -> Any:  # noqa: ANN401
        if self._pipe is None:
            raise SourceError("the simulator is not running")
        if not self._pipe.poll(within_s):
            raise SourceError(f"the simulator did not answer within {within_s:g} s")
        try:
            wrong, value, hint = self._pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            raise SourceError("the simulator's process has died") from error
        if wrong is not None:
            raise wrong(value, hint)
        return value

    def _stop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()  # the child ends when its end of the pipe does
            self._pipe = None
        if self._process is not None:
            self._process.join(_STOP_S)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process.close()
            self._process = None


@contextlib.contextmanager
def _without_ctrl_c() -> Generator[None]:
    """A process started within does not hear Ctrl-C, which reaches the whole group, from its first moment on: its
    parent tells it to end. The parent hears it once the start is done."""
    with Patience():
        resource_tracker.ensure_running()  # it would let the signal through again if it started later
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(plan: Plan, host: str, port: int, pipe: "Connection[Any, Any]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        try:
            simulation = plan.simulation()
            asyncio.run(_steered(plan, simulation, (host, port), pipe))
        except (InputError, SourceError) as error:
            pipe.send((type(error), error.what, error.hint))


async def _steered(
    plan: Plan, simulation: ClusterSimulation, address: tuple[str, int], pipe: "Connection[Any, Any]"
) -> None:
    stop = asyncio.Event()
    steer = {
        "advance": simulation.advance,
        "truth": simulation.truth,
        "switch": simulation.switch,
        "speak": simulation.speak,
        "configuration": simulation.configuration,
    }

    def obey() -> None:
        try:
            name, arguments = pipe.recv()
        except (EOFError, ConnectionResetError):
            stop.set()
            return
        try:
            pipe.send((None, steer[name](*arguments), ""))
        except InputError as error:
            pipe.send((type(error), error.what, error.hint))

    asyncio.get_running_loop().add_reader(pipe.fileno(), obey)
    site = LiveSite(plan, simulation)
    await serve(site, *address, lambda port: pipe.send((None, (port, tuple(site.nodes)), "")), stop)

"""A collector's life, from the start to the last batch: configuration, lock, ledger, sink, loop."""

import asyncio
import contextlib
import resource
import signal
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from collector.batch import Batch
from collector.health import Metrics, Pulse
from collector.identity import only_collector
from collector.log import Log
from collector.loop import Loop
from collector.nvml.first import look_first
from collector.sink import Sink
from collector.spool import Spool
from quartermaster.clock import now_ms
from quartermaster.config.keeper import Keeper, keep
from quartermaster.config.model import Configuration, LedgerPart
from quartermaster.errors import InputError, LedgerError, QuartermasterError
from sql.ledger import Ledger, open_ledger
from sql.retention import Retention
from sql.upgrade import upgrade
from sql.upkeep import Pace, compact
from sql.writer import Writer

MIB = 1024 * 1024
# How long the end waits for the ledger to take what is in memory; then it is in the spool.
_END_S = 60.0
# Upkeep, between batches: so often, for at most so long.
_UPKEEP_EVERY_S, _UPKEEP_BUDGET_S = 10.0, 0.5


def run(
    file: Path,
    environment: Mapping[str, str],
    *,
    once: bool,
    span_s: float | None,
    only_host: bool = False,
) -> int:
    """Collect by the configuration in a file; the exit code: 1 when, with `once`, a target gave nothing.

    With `only_host` this host alone, through NVML; SourceError when it has no NVML library.
    Raises ConfigurationError, InputError (another collector has the spool) or, at the first start,
    LedgerError.
    """
    keeper = keep(file, environment)
    configuration = keeper.current
    log = Log(configuration.collector.log)
    spool_part = configuration.collector.spool
    if only_host:
        look_first(file, configuration)
    with only_collector(spool_part.path) as writer:
        _allow_many_connections()
        spool = Spool(spool_part.path, spool_part.max_mib * MIB)
        _look_at_ledger(configuration.ledger, writer, log)
        metrics = Metrics()
        intervals_ms = [
            cluster.nvml.interval_ms if cluster.nvml else cluster.dcgm.interval_ms
            for cluster in configuration.clusters
        ]
        longest_s = max(intervals_ms) / 1000
        pulse = Pulse(patience_s=3 * longest_s + 30)
        witness = _Witness(metrics, pulse, log, spool)
        sink = Sink(
            spool, lambda: _present_ledger(configuration.ledger), witness, _upkeep(keeper), _UPKEEP_EVERY_S
        )
        witness.sink = sink
        loop = Loop(
            keeper,
            file.absolute().parent,
            writer,
            sink,
            metrics,
            pulse,
            log,
            witness.refresh,
            only_host=only_host,
        )
        _greet(configuration, writer, spool, log)
        sink.start()
        try:
            missed = asyncio.run(_live(loop, once=once, span_s=span_s))
        finally:
            finished = sink.stop(_END_S)
        log.info("ended", batches_waiting=sink.waiting, finished=finished)
        return 1 if once and missed else 0


async def _live(loop: Loop, *, once: bool, span_s: float | None) -> int:
    if once:
        return await loop.once()
    stop = asyncio.Event()
    running = asyncio.get_running_loop()

    def told(number: signal.Signals) -> None:
        loop.log.info("told to stop", signal=number.name)
        stop.set()
        for each in (signal.SIGTERM, signal.SIGINT):  # a second one ends it at once
            running.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, told, number)
    running.add_signal_handler(signal.SIGHUP, loop.reload)
    if span_s is not None:
        running.call_later(span_s, stop.set)
    await loop.run(stop)
    return 0


def _greet(configuration: Configuration, writer: Writer, spool: Spool, log: Log) -> None:
    log.info(
        "collecting",
        clusters=", ".join(cluster.name for cluster in configuration.clusters),
        ledger=_where(configuration.ledger),
        metrics=f"http://{configuration.collector.listen}/metrics",
        writer=writer.name,
        batches_in_spool=len(spool),
    )


def _where(part: LedgerPart) -> str:
    kind = str(part.catalog).partition(":")[0]
    return f"{part.path} ({kind})"


def _look_at_ledger(part: LedgerPart, writer: Writer, log: Log) -> None:
    """Bring the ledger to this program's revision; make it at the first start, and never later."""
    try:
        if writer.epoch == 1:
            with open_ledger(part.path, part.catalog.reveal()) as ledger:
                upgrade(ledger)
        else:
            with _present_ledger(part) as ledger:
                upgrade(ledger)
    except LedgerError as error:
        if writer.epoch == 1:
            raise
        log.error("the ledger is away, batches wait in the spool", what=error.what)  # noqa: TRY400


@contextlib.contextmanager
def _present_ledger(part: LedgerPart) -> Generator[Ledger]:
    """The ledger, where it is; a new one in an empty place would take what belongs to the one that is
    away."""
    catalog = part.catalog.reveal()
    if catalog == "sqlite" and not (part.path / "catalog.sqlite").exists():
        raise LedgerError(
            f"there is no ledger in {part.path} any more",
            "bring it back; or make a new one: quartermaster ledger upgrade",
        )
    with open_ledger(part.path, catalog) as ledger:
        yield ledger


def _upkeep(keeper: Keeper) -> Callable[[Ledger], None]:
    """What the sink does when nothing waits: a little upkeep, with the retention that is in force."""
    pace = Pace()

    def tend(ledger: Ledger) -> None:
        keep_ms = {"samples": keeper.current.retention.samples_ms}
        compact(ledger, now_ms(), budget_s=_UPKEEP_BUDGET_S, keep=Retention(tables_ms=keep_ms), pace=pace)

    return tend


def _allow_many_connections() -> None:
    """A connection a target is kept open: raise the soft limit of open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass
class _Witness:
    """Hears from the sink what becomes of batches, and tells metrics and log."""

    metrics: Metrics
    pulse: Pulse
    log: Log
    spool: Spool
    sink: Sink | None = None
    _up: bool = True

    def committed(self, batch: Batch, seconds: float) -> None:
        self.metrics.commit.observe(seconds)
        self.metrics.committed.inc()
        self.metrics.ledger_up.set(1)
        self.pulse.acknowledged = True
        if not self._up:
            self._up = True
            self.log.info("the ledger is back", batches_in_spool=len(self.spool))
        self.log.info("committed", key=batch.key, milliseconds=round(seconds * 1000), rows=_rows(batch))

    def spooled(self, batch: Batch, dropped: int) -> None:
        self.metrics.spooled.inc()
        self.pulse.acknowledged = True
        self.log.info("in the spool", key=batch.key, rows=_rows(batch))
        if dropped:
            self.metrics.dropped.inc(dropped)
            self.log.error("the spool is full, the oldest samples were dropped", batches=dropped)

    def away(self, error: Exception) -> None:
        self.metrics.ledger_up.set(0)
        if self._up:
            self._up = False
            what = error.what if isinstance(error, QuartermasterError) else f"{type(error).__name__}: {error}"
            self.log.error("the ledger is away, batches wait in the spool", what=what)

    def damaged(self, error: InputError) -> None:
        self.metrics.damaged.inc()
        self.log.error("a file of the spool is damaged", what=error.what)

    def refresh(self) -> None:
        self.metrics.spool_bytes.set(self.spool.bytes_used)
        self.metrics.waiting.set(self.sink.waiting if self.sink else 0)


def _rows(batch: Batch) -> int:
    return sum(rows.height for rows in batch.frames.values())

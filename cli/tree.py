"""A process tree: parts that are started again when they end, later each time, and that end together."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cli.leash import held
from cli.parts import Part
from quartermaster.text import visible

FIRST_PAUSE_S, LONGEST_PAUSE_S, STEADY_S = 1.0, 60.0, 60.0
_FAREWELL_S, _LOOK_EVERY_S = 30.0, 0.1
_LONGEST_LINE = 1 << 20


@dataclass
class Standing:
    """How a part is: its process (0: it waits to be started), how often it was started again, what it ended with."""

    part: Part
    process: int = 0
    since_s: float = 0.0
    restarts: int = 0
    last_exit: int | None = None


@dataclass
class Tree:
    """Runs parts, each as a command in a process group of its own, until it is told to end.

    `say` is given a part's name and a line of it. A part that ends is started again after a second, then two, four,
    up to a minute; one that ran for a minute begins anew. What a part has started itself is ended with it.
    """

    parts: Sequence[Part]
    command: Callable[[Part], Sequence[str]]
    environment: Mapping[str, str]
    say: Callable[[str, str], None]
    first_pause_s: float = FIRST_PAUSE_S
    standings: dict[str, Standing] = field(default_factory=dict[str, Standing])

    def __post_init__(self) -> None:
        self.standings = {part.name: Standing(part) for part in self.parts}

    async def run(self, stop: asyncio.Event, ready: Callable[[Part], Coroutine[Any, Any, None]]) -> None:
        """Until `stop` is set. The second part and those behind it wait until the first is ready."""
        tasks = [asyncio.create_task(self._keep(self.parts[0], stop))]
        waiting = asyncio.create_task(ready(self.parts[0]))
        await _first(stop, waiting)
        waiting.cancel()
        tasks += [asyncio.create_task(self._keep(part, stop)) for part in self.parts[1:] if not stop.is_set()]
        await asyncio.gather(*tasks)

    async def _keep(self, part: Part, stop: asyncio.Event) -> None:
        standing, pause_s = self.standings[part.name], self.first_pause_s
        while not stop.is_set():
            began_s = time.monotonic()
            code = await self._live(part, standing, stop)
            if stop.is_set():
                self.say(part.name, f"ended ({code})")
                return
            pause_s = self.first_pause_s if time.monotonic() - began_s > STEADY_S else pause_s
            self.say(part.name, f"it ended by itself ({_words(code)}), and is started again in {pause_s:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            standing.restarts += 1

    async def _live(self, part: Part, standing: Standing, stop: asyncio.Event) -> int:
        """One life of a part, from its start to the end of all that it had started; its exit code."""
        process = await asyncio.create_subprocess_exec(
            *self.command(part),
            env=held(dict(self.environment)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LONGEST_LINE,
            process_group=0,
        )
        standing.process, standing.since_s = process.pid, time.time()
        reading = asyncio.create_task(self._read(part, process))
        ended = asyncio.create_task(_over(process))
        try:
            await _first(stop, ended)
            if not ended.done():
                process.terminate()
                done, _ = await asyncio.wait([ended], timeout=_FAREWELL_S)
                if not done:
                    self.say(part.name, f"it did not end within {_FAREWELL_S:g} s, and is killed")
        finally:
            _end_group(process.pid)
            code = await ended
            standing.process, standing.last_exit = 0, code
            await reading
        return code

    async def _read(self, part: Part, process: asyncio.subprocess.Process) -> None:
        if process.stdout is None:
            return
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # one longer than anybody reads
                continue
            if not line:
                return
            if text := visible(line.decode(errors="replace").rstrip()):
                self.say(part.name, text)


async def _first(stop: asyncio.Event, other: "asyncio.Task[Any]") -> None:
    """Wait until one is told to stop, or the other has ended, which is left as it is."""
    told = asyncio.create_task(stop.wait())
    await asyncio.wait([told, other], return_when=asyncio.FIRST_COMPLETED)
    told.cancel()


async def _over(process: asyncio.subprocess.Process) -> int:
    """Its exit code, once it has ended. (`wait` waits for its pipes too, which what it has started may hold.)"""
    while process.returncode is None:  # noqa: ASYNC110 - nothing else tells it
        await asyncio.sleep(_LOOK_EVERY_S)
    return process.returncode


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _words(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"

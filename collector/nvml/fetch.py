"""Fetching a look at this host: a line to the reader and its answer, or a failure with its reason; no exception."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from collector.dcgm.fetch import Failure
from collector.nvml.look import Look, Unusable, from_line
from quartermaster.errors import SourceError

TIMEOUT, ENDED = "timeout", "reader ended"
_LONGEST_LINE = 64 * 1024 * 1024
# A new reader's first look may have to wake every GPU, some seconds each where persistence mode is off.
FIRST_MS = 60_000
# A reader that hangs in the driver cannot always be killed; nobody waits longer for that.
_KILL_S = 2.0


@dataclass(frozen=True, slots=True)
class Places:
    """Where the host's /proc and control groups are."""

    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")


class Fetcher:
    """Has a reader as long as it answers; after any failure the next look is a new reader's."""

    def __init__(self, places: Places, timeout_ms: int, first_ms: int = FIRST_MS) -> None:
        """A look may take `timeout_ms`, a new reader's first one `first_ms` if that is longer."""
        self._command = (sys.executable, "-m", "collector.nvml.reader", str(places.proc), str(places.cgroup))
        self._timeout_s, self._first_s = timeout_ms / 1000, max(timeout_ms, first_ms) / 1000
        self._reader: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The reader's number, None while there is none."""
        return None if self._reader is None else self._reader.pid

    async def fetch(self, pids: Iterable[int] = ()) -> Look | Failure:
        """A look at the host, with what /proc says of these processes too; or why there is none."""
        line, patience_s = b"", self._first_s if self._reader is None else self._timeout_s
        try:
            async with asyncio.timeout(patience_s):
                reader = self._reader = self._reader or await self._begin()
                line = await _ask(reader, json.dumps({"pids": sorted(pids)}).encode() + b"\n")
        except TimeoutError:
            failure = Failure(
                TIMEOUT, f"no answer within {patience_s:g} s; the driver may hang: dmesg says more"
            )
        except OSError as error:
            failure = Failure(ENDED, f"{type(error).__name__}: {error}")
        except ValueError as error:  # asyncio's word for a line that is too long
            failure = Failure("not understood", str(error))
        else:
            if line:
                try:
                    answer = from_line(line)
                except SourceError as error:
                    answer = Unusable("not understood", error.what)
                if isinstance(answer, Look):
                    return answer
                failure = Failure(answer.reason, answer.detail)
            else:
                failure = Failure(ENDED, await self._how_it_ended())
        await self.close()
        return failure

    async def close(self) -> None:
        """End the reader, if there is one."""
        reader, self._reader = self._reader, None
        if reader is None:
            return
        with contextlib.suppress(ProcessLookupError):
            reader.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.wait(), _KILL_S)

    async def _begin(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is the collector's
        )

    async def _how_it_ended(self) -> str:
        if self._reader is None:
            return ""
        with contextlib.suppress(TimeoutError):
            code = await asyncio.wait_for(self._reader.wait(), _KILL_S)
            return f"by signal {-code}: the driver's library broke" if code < 0 else f"with code {code}"
        return "without a word"


async def _ask(reader: asyncio.subprocess.Process, request: bytes) -> bytes:
    if reader.stdin is None or reader.stdout is None:
        raise AssertionError("the reader was begun with pipes")
    reader.stdin.write(request)
    await reader.stdin.drain()
    return await reader.stdout.readline()

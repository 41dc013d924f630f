"""Signals that are never lost: Ctrl-C that waits for what must not be cut short, and Ctrl-C that a library swallowed.

DuckDB calls back into Python in the middle of a query (it looks at frames, imports modules), and drops what is
raised there. So `interrupt`, the command's handler, remembers it, and `obey` raises it again at the next chance.
"""

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Self

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_told = threading.Event()


def interrupt(number: int, frame: FrameType | None) -> None:
    """A handler of SIGINT: KeyboardInterrupt, as Python's own, and it is remembered."""
    _told.set()
    raise KeyboardInterrupt


def obey() -> None:
    """Raise KeyboardInterrupt where Ctrl-C was pressed and has ended nothing. In the main thread alone."""
    if _told.is_set() and threading.current_thread() is threading.main_thread():
        _told.clear()
        raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed and not yet obeyed: what goes wrong then goes wrong because of it."""
    return _told.is_set()


def unraisable(what: "sys.UnraisableHookArgs", /) -> None:
    """A hook for what is raised where nothing can be, as in a finaliser: Ctrl-C there is remembered, and silent."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


class Patience:
    """A context manager: within it SIGINT and SIGTERM are noted; `heed`, and the end, do what they ask for.

    Outside the main thread it does nothing: signals do not come there. A signal set to be ignored stays so.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, object] = {}
        self._noted: signal.Signals | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _NUMBERS:
                before = signal.getsignal(number)
                if before not in {signal.SIG_IGN, None}:
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def heed(self) -> None:
        """Do now what a noted signal asks for: KeyboardInterrupt, or what the handler before does."""
        if self._noted is None:
            return
        number, self._noted = self._noted, None
        before = self._before[number]
        if callable(before):
            before(number, None)
            return
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # pyright: ignore[reportArgumentType]  what getsignal gave
        if kind is None or not issubclass(kind, KeyboardInterrupt | SystemExit):
            self.heed()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = signal.Signals(number)

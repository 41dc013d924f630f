"""The courier: carries letters, each channel in a thread of its own, so that a slow one delays nobody else."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from enforcer.ladder.carried import carry, load
from enforcer.ladder.letter import Letter
from quartermaster.clock import now_ms
from quartermaster.config.notify import ChannelPart
from quartermaster.errors import ConfigurationError

_LOOKED_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of a letter at `at_ms`: the channel's server accepted it, or why it did not."""

    letter: Letter
    accepted: bool
    words: str
    at_ms: int


@dataclass
class _Round:
    """One channel's letters on their way."""

    channel: ChannelPart
    letters: Sequence[Letter]
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: list[Delivery] = field(default_factory=list[Delivery])
    count: int = 0  # of letters that came to an end
    begun_s: float | None = None  # when the one after them was begun, by a clock that only goes forward
    given_up: bool = False


class Courier:
    """Carries letters in the background; `clock` tells the wall clock in epoch milliseconds.

    A letter that is on its way, or came to an end that nobody has collected yet, is not carried a second time.
    """

    def __init__(self, channels: Iterable[ChannelPart], clock: Callable[[], int] = now_ms) -> None:
        self._channels = {each.name: each for each in channels}
        self._clock = clock
        self._rounds: dict[str, _Round] = {}
        self._threads: dict[str, threading.Thread] = {}

    def take(self, letters: Iterable[Letter]) -> None:
        """Begin to carry them. Those of a channel that is busy are left: they are written again if still wanted."""
        by_channel: dict[str, list[Letter]] = {}
        for each in letters:
            by_channel.setdefault(each.channel, []).append(each)
        for name, theirs in by_channel.items():
            thread = self._threads.get(name)
            if name in self._rounds or (thread is not None and thread.is_alive()):
                continue
            this = self._rounds[name] = _Round(self._channels[name], theirs)
            thread = threading.Thread(target=self._work, args=(this,), name=f"courier {name}", daemon=True)
            self._threads[name] = thread
            thread.start()

    def collect(self) -> tuple[Delivery, ...]:
        """What came to an end since, at once. A letter that takes longer than its channel allows ends as not accepted,
        and its channel is busy until the server lets go of it. So does one whose thread has died."""
        found: list[Delivery] = []
        for name, this in list(self._rounds.items()):
            died = not self._threads[name].is_alive()  # looked at before what it left behind
            with this.lock:
                found += this.done
                this.done.clear()
                if (
                    this.begun_s is not None
                    and time.monotonic() > this.begun_s + this.channel.timeout_ms / 1000
                ):
                    this.given_up = True
                    words = f"its server did not take it within {this.channel.timeout_ms / 1000:g} s"
                    found.append(Delivery(this.letters[this.count], False, words, self._clock()))
                elif died and this.count < len(this.letters):
                    this.given_up = True
                    found += [
                        Delivery(each, False, "nobody carries it any more", self._clock())
                        for each in this.letters[this.count :]
                    ]
                if this.given_up or this.count == len(this.letters):
                    del self._rounds[name]
        return tuple(found)

    def wait(self) -> tuple[Delivery, ...]:
        """What came of all that is on its way, when all of it has come to an end."""
        found = self.collect()
        while self._rounds:
            time.sleep(_LOOKED_EVERY_S)
            found += self.collect()
        return found

    def _work(self, this: _Round) -> None:
        with contextlib.suppress(ImportError):  # which is what comes of each letter then
            load()
        for letter in this.letters:
            this.begun_s = time.monotonic()
            words = _carried(this.channel, letter)
            with this.lock:
                if this.given_up:
                    return
                this.done.append(Delivery(letter, not words, words or "accepted", self._clock()))
                this.count += 1
                this.begun_s = None


def _carried(channel: ChannelPart, letter: Letter) -> str:
    try:
        url = channel.url.reveal()
    except ConfigurationError as error:
        return error.what
    return carry(url, letter.message, channel.timeout_ms / 1000, letter.to)

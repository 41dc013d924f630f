"""The warner: begins the warnings of a plan, and writes down what came of them. The ladder's one shell."""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from enforcer.ladder.courier import Courier, Delivery
from enforcer.ladder.letter import Held, write
from enforcer.ladder.message import Message
from enforcer.ladder.rung import Rung
from enforcer.ladder.told import owners, record, sent
from quartermaster.config.notify import NotifyPart
from quartermaster.config.policy import PolicyPart
from sql.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Warned:
    """That a warning was accepted, for the first time, at `at_ms`: it is to be seen on the cluster too."""

    rung: Rung
    message: Message
    at_ms: int


class Warner:
    """Warns people of one cluster. Nothing of it waits for a channel: what came of a warning is known at a later cycle.

    What is not recorded yet when the process ends is sent again by the next: told twice harms less than never.
    """

    def __init__(self, ledger: Ledger, cluster: str, notify: NotifyPart) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._notify = notify
        self._courier = Courier(notify.channels)
        self._begun: dict[tuple[str, str], tuple[Rung, Message]] = {}
        self._unrecorded: tuple[Delivery, ...] = ()

    def begin(
        self, wanted: Sequence[Rung], policy: PolicyPart, zone: ZoneInfo, at_ms: int
    ) -> tuple[Held, ...]:
        """Begin to tell people of these rungs; who is not told now, and why. Raises LedgerError."""
        if not wanted:
            return ()
        with self._ledger.reading() as cursor:
            carried = sent(cursor, self._notify, at_ms)
            whose = owners(cursor, self._cluster, [each.workload.uid for each in wanted])
        post = write(wanted, self._notify, whose, carried, policy=policy, zone=zone, at_ms=at_ms)
        rungs = {(each.workload.uid, each.stage): each for each in wanted}
        self._begun = {key: begun for key, begun in self._begun.items() if key in rungs}
        unrecorded = {each.letter.key for each in self._unrecorded}
        letters = [each for each in post.letters if each.key not in unrecorded]
        for each in letters:
            self._begun[each.uid, each.stage] = rungs[each.uid, each.stage], each.message
        self._courier.take(letters)
        return post.held

    def settle(self, now_ms: int, *, all_of_it: bool = False) -> tuple[Warned, ...]:
        """Write down what came to an end since; the warnings that were accepted. With `all_of_it` it waits for the
        channels, each for as long as it allows. Raises LedgerError; what could not be written is kept for the next
        time, and counts for nothing until then."""
        self._unrecorded += self._courier.wait() if all_of_it else self._courier.collect()
        deliveries = self._unrecorded
        record(self._ledger, deliveries, now_ms)
        self._unrecorded = ()
        warned: list[Warned] = []
        for each in deliveries:
            begun = self._begun.pop((each.letter.uid, each.letter.stage), None) if each.accepted else None
            if begun is not None:
                warned.append(Warned(*begun, each.at_ms))
        return tuple(warned)

"""One round of sending: what is due now is made, packed and handed to who carries it, each letter by itself."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from analytics.reports.audience import Audience
from analytics.reports.made import reports, teams_of
from analytics.reports.persons import with_persons
from analytics.reports.queries import report_sql
from analytics.reports.sending import posted
from analytics.reports.sending.due import Due, last_due, ready
from analytics.reports.sending.parcel import Address, Parcel, addresses, pack
from analytics.reports.sending.posted import ACCEPTED, BEGUN, KNOWN, REFUSED, Posted
from quartermaster.config.model import Configuration
from quartermaster.errors import InputError, LedgerBusyError
from sql.ledger import Ledger

Carry = Callable[[str, Parcel], str]  # a channel's name and what it carries; "" or why it was not accepted


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one letter, or that a sending is known from now on."""

    sending: str
    span: str
    audience: str
    channel: str
    phase: str  # accepted, refused, known
    words: str


@dataclass(frozen=True, slots=True)
class Postman:
    """Sends what the configuration says. `clock` tells the wall clock in epoch milliseconds.

    A letter is in the ledger before it goes out, and what came of it after: one that was begun and of which nothing
    more is told may have arrived, and is not sent again. One that was refused is tried again after notify.retry, until
    the next is due.
    """

    ledger: Ledger
    configuration: Configuration
    carry: Carry
    clock: Callable[[], int]

    def round(self, now_ms: int) -> list[Outcome]:
        """Send what is due and was not sent. Nothing where another process sends just now. Raises LedgerError."""
        try:
            with self.ledger.exclusive("sendings", wait_s=0):
                return list(self._round(now_ms))
        except LedgerBusyError:
            return []

    def _round(self, now_ms: int) -> Iterator[Outcome]:
        sendings = self.configuration.reports.sending
        known = posted.read(self.ledger, sendings)
        last = [last_due(each, now_ms, self.configuration.business.time_zone) for each in sendings]
        new = [due for due in last if due.sending.name not in known.since_ms]
        posted.meet(self.ledger, new, now_ms)
        for due in new:
            words = "known from now on; what was due before is not sent"
            yield Outcome(due.sending.name, due.span.name, "", "", KNOWN, words)
        due = [each for each in last if each.at_ms > known.since_ms.get(each.sending.name, each.at_ms)]
        known_until_ms: int | None = self.ledger.query(report_sql("known")).item()
        for each in ready(due, known_until_ms, now_ms):
            yield from self._send(each, known, now_ms)

    def _send(self, due: Due, known: posted.Ledgered, now_ms: int) -> Iterator[Outcome]:
        notify = self.configuration.notify
        wanted = [
            address
            for address in addresses(due, teams_of(self.ledger, due.span), notify)
            if _is_wanted(known.letters.get(address.key), now_ms, notify.retry_ms)
        ]
        for address, parcel in packed(self.ledger, due, wanted, self.configuration, now_ms):
            if isinstance(parcel, str):
                phase, words, size = REFUSED, parcel, 0
            else:
                size = parcel.size
                posted.note(self.ledger, address, Posted(BEGUN, self.clock(), ""), size)
                why = self.carry(address.channel, parcel)
                phase, words = (REFUSED, why) if why else (ACCEPTED, "accepted")
            posted.note(self.ledger, address, Posted(phase, self.clock(), words), size)
            yield Outcome(
                due.sending.name, due.span.name, address.audience.words, address.channel, phase, words
            )


def packed(
    ledger: Ledger, due: Due, wanted: Iterable[Address], configuration: Configuration, now_ms: int
) -> Iterator[tuple[Address, Parcel | str]]:
    """Each address with its parcel, made once an audience; or why there is none. Where the configuration lets reports
    name people, each channel is recorded as who read the names of its report."""
    time_zone = configuration.business.time_zone
    by_audience = [(audience, list(group)) for audience, group in groupby(wanted, _audience)]
    try:
        made = reports(
            ledger, due.span, [audience for audience, _ in by_audience], time_zone=time_zone, now_ms=now_ms
        )
    except InputError as error:
        yield from ((address, error.what) for _, group in by_audience for address in group)
        return
    for report, (_, group) in zip(made, by_audience, strict=True):
        told = report
        if configuration.privacy.reports_name_people:
            channels = ", ".join(address.channel for address in group)
            (told,) = with_persons(ledger, [report], f"{due.sending.name} by {channels}", now_ms)
        parcel = pack(told, due.sending)
        yield from ((address, parcel) for address in group)


def _audience(address: Address) -> Audience:
    return address.audience


def _is_wanted(last: Posted | None, now_ms: int, retry_ms: int) -> bool:
    return last is None or (last.phase == REFUSED and now_ms >= last.at_ms + retry_ms)

"""Bookings and offers in the ledger: each is a version of a quota with an end, and the request of who asked for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from uuid import uuid4

from analytics.asking.request import Kind, Request, frame
from analytics.measure import FOREVER_MS
from enforcer.book import rows
from enforcer.booking import Booking, shortages, shortages_without
from enforcer.promised import Promised
from enforcer.snapshot import Promise
from quartermaster.errors import InputError
from quartermaster.fairshare.explain import gpus
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Quota
from quartermaster.text import visible
from sql.catalog import Cursor
from sql.ledger import Ledger

LOCK = "bookings"
_SOURCE = (
    "person"  # not the configuration, whose declaration withdraws what it does not say, and no collector
)


@dataclass(frozen=True, slots=True)
class Booked:
    """A booking or an offer as the ledger has it, with the pseudonym of who asked for it, and why."""

    cluster: str
    quota_id: int
    booking: Booking
    asked_by: str
    words: str

    @property
    def name(self) -> str:
        """What people call it: 16 signs."""
        return f"{self.quota_id:016x}"


def wish(cluster: str, booking: Booking, asked_by: str, words: str = "") -> Booked:
    """What is to be written. Its id is the same for the same booking, so that it is there once."""
    what = booking.team, booking.pool, booking.parts, booking.start_at, booking.end_at
    return Booked(cluster, content_id(_kind(booking), cluster, *what), booking, asked_by, words)


def write(ledger: Ledger, wished: Booked, at_ms: int) -> Booked:
    """Write it; where the same stands or comes already, that is given and nothing is written.

    One from now on is the same as one of the same team, pool, GPUs and end that has begun. Raises LedgerError;
    InputError for one in the past, of more than its pool has, or of more than its team is promised.
    """
    booking = wished.booking
    with ledger.exclusive(LOCK):
        with ledger.reading() as cursor:
            for each in standing(cursor, [wished.cluster], at_ms):
                if _same(each.booking, booking, at_ms):
                    return each
            _refuse_no_span(booking, at_ms)
            promised = _promised(cursor, wished.cluster, booking)
            has = pools(cursor, wished.cluster, at_ms).get(booking.pool, 0)
        try:
            missing = [
                each
                for piece, guarantees, others in _pieces(promised, booking)
                for each in shortages(guarantees, others, piece, has)
            ]
        except ValueError as error:
            raise InputError(visible(str(error)), "quartermaster bookings lists what stands") from error
        if missing:
            raise InputError(
                missing[0].words().rstrip("."),
                "book fewer, or another span, or let a team offer some of its own",
            )
        _append(ledger, wished, booking.end_at, Kind.OFFER if booking.offer else Kind.BOOK, at_ms)
    return wished


def cancel(ledger: Ledger, gone: Booked, asked_by: str, words: str, at_ms: int) -> int:
    """End it: one that has not begun is withdrawn, one that stands ends now. The instant at which it ends.

    Raises LedgerError; InputError where it has ended, and for an offer that others have booked.
    """
    with ledger.exclusive(LOCK):
        with ledger.reading() as cursor:
            if gone.quota_id not in {each.quota_id for each in standing(cursor, [gone.cluster], at_ms)}:
                raise InputError(f"{gone.name} has ended", "quartermaster bookings lists what stands")
            promised = _promised(cursor, gone.cluster, gone.booking)
            has = pools(cursor, gone.cluster, at_ms).get(gone.booking.pool, 0)
        rest = replace(gone.booking, start_at=max(at_ms, gone.booking.start_at))
        missing = [
            each
            for piece, guarantees, others in _pieces(promised, rest)
            for each in shortages_without(
                guarantees, [other for other in others if other != gone.booking], piece, has
            )
        ]
        if missing:
            raise InputError(missing[0].words().rstrip("."), "cancel first what others have booked of it")
        _append(ledger, replace(gone, asked_by=asked_by, words=words), rest.start_at, Kind.CANCEL, at_ms)
    return rest.start_at


def standing(cursor: Cursor, clusters: Sequence[str], at_ms: int) -> tuple[Booked, ...]:
    """The bookings and offers that stand or come, by cluster and start."""
    found = rows(cursor, "bookings", {"clusters": list(clusters), "at_ms": at_ms, "forever": FOREVER_MS})
    return tuple(
        Booked(
            row["cluster"],
            row["quota_id"],
            Booking(
                *(row[name] for name in ("team", "pool", "guaranteed_parts", "start_ms", "end_ms")),
                offer=row["kind"] == "offer",
            ),
            row["asked_by"],
            row["words"],
        )
        for row in found.iter_rows(named=True)
    )


def pools(cursor: Cursor, cluster: str, at_ms: int) -> dict[str, int]:
    """The parts that each pool has: its nodes as they stand, ready or not. 0 for one that is promised alone."""
    given = {"cluster": cluster, "at_ms": at_ms, "forever": FOREVER_MS, "gpu_parts": GPU_PARTS}
    return dict(rows(cursor, "pools", given).iter_rows())


def words(each: Booked) -> str:
    """The same for people, without its span: `64 GPUs more for vision in pool h100 of cluster main`."""
    booking = each.booking
    less = "fewer" if booking.offer else "more"
    return (
        f"{gpus(booking.parts)} {less} for {visible(booking.team)} in pool {visible(booking.pool)} "
        f"of cluster {visible(each.cluster)}"
    )


def _refuse_no_span(booking: Booking, at_ms: int) -> None:
    if booking.end_at <= booking.start_at:
        raise InputError("it ends before it begins", "name a later end")
    if booking.start_at < at_ms:
        raise InputError("it begins in the past, which is not promised anew", "begin it now, or later")


def _pieces(
    promised: Promised, booking: Booking
) -> Iterator[tuple[Booking, tuple[Promise, ...], list[Booking]]]:
    """The booking cut where what is promised changes, with the promises and the bookings of each piece."""
    for start, end in pairwise(promised.edges(booking.start_at, booking.end_at)):
        piece = replace(booking, start_at=start, end_at=end)
        yield piece, promised.guarantees_at(start), promised.bookings_at(start)


def _promised(cursor: Cursor, cluster: str, booking: Booking) -> Promised:
    span = {"from_ms": booking.start_at, "until_ms": booking.end_at}
    given = {"cluster": cluster, "forever": FOREVER_MS, **span}
    return Promised(*(rows(cursor, name, given) for name in ("promises", "departments")))


def _same(there: Booking, wished: Booking, at_ms: int) -> bool:
    now = wished.start_at == at_ms and there.start_at <= at_ms
    return replace(there, start_at=wished.start_at) == wished if now else there == wished


def _append(ledger: Ledger, booked: Booked, end_ms: int, kind: Kind, at_ms: int) -> None:
    """Write the version that ends then, and who asked for it, in one commit."""
    booking = booked.booking
    key = {"cluster": booked.cluster, "quota_id": booked.quota_id}
    with ledger.reading() as cursor:
        revision: int = rows(cursor, "booking_revision", key).item()
    version = Quota(
        booked.cluster,
        booked.quota_id,
        booking.start_at,
        end_ms,
        booking.team,
        booking.pool,
        booking.parts,
        kind=_kind(booking),
        source=_SOURCE,
        revision=revision,
    )
    request = Request(booked.cluster, at_ms, booked.asked_by, kind, booked.name, end_ms, booked.words)
    ledger.append(
        f"booking/{booked.name}/{uuid4().hex}",
        {"quotas_versions": [version], "requests": frame(request)},
        recorded_at=at_ms,
    )


def _kind(booking: Booking) -> str:
    return "offer" if booking.offer else "booking"

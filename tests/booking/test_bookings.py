"""Bookings in the ledger: once each, within what there is, known to the planner, the accounts and a declaration."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from analytics.measure import FOREVER_MS
from enforcer.book import rows
from enforcer.booking import Booking
from enforcer.bookings import Booked, cancel, pools, standing, wish, write
from enforcer.promised import Promised
from quartermaster import records
from quartermaster.clock import HOUR_MS
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from quartermaster.person import pseudonym
from sql.declare import declare
from sql.ledger import Cursor, Ledger, memory_ledger
from tests.declare.test_declare import configured
from tests.usage.small import CLUSTER, MINUTE, Small, gpu, m

C, POOL = "c", "p"
NOW = m(600)
WHO = pseudonym(7)
CONFIGURED = configured(
    """
clusters: [{name: c}, {name: d}]
pools: [{name: p}]
teams: [{name: a}, {name: b}]
team_rules: [{team: a, namespace: a}, {team: b, namespace: b}]
guarantees: [{team: a, pool: p, gpus: 8}, {team: b, pool: p, gpus: 4, cluster: c}]
"""
)


@pytest.fixture(scope="module")
def opened() -> Iterator[Ledger]:
    """16 GPUs of which a is promised 8 and b 4."""
    with memory_ledger() as ledger:
        declare(ledger, CONFIGURED, m(0))
        nodes = [records.Node(C, name, m(0), None, POOL, "H100", 8) for name in ("n-1", "n-2")]
        ledger.append("nodes", {"nodes_versions": nodes})
        yield ledger


@pytest.fixture
def ledger(opened: Ledger) -> Ledger:
    """The same without bookings."""

    def clear(cursor: Cursor) -> None:
        cursor.execute("delete from lake.quotas_versions where source <> 'configuration'")
        cursor.execute("delete from lake.requests")

    opened.write(f"clear/{uuid4().hex}", clear)
    return opened


def booking(team: str, gpus: float, start_h: int, end_h: int, *, offer: bool = False) -> Booking:
    return Booking(team, POOL, int(gpus * GPU_PARTS), NOW + start_h * HOUR_MS, NOW + end_h * HOUR_MS, offer)


def put(ledger: Ledger, what: Booking, at_ms: int = NOW, words: str = "") -> Booked:
    return write(ledger, wish(C, what, WHO, words), at_ms)


def stand(ledger: Ledger, at_ms: int = NOW) -> list[Booking]:
    with ledger.reading() as cursor:
        return [each.booking for each in standing(cursor, [C], at_ms)]


def promised(ledger: Ledger, team: str, *hours: int) -> list[int]:
    """What the planner takes the team to be promised at these hours."""
    given = {"cluster": C, "from_ms": NOW, "until_ms": NOW + 24 * HOUR_MS, "forever": FOREVER_MS}
    with ledger.reading() as cursor:
        told = Promised(rows(cursor, "promises", given), rows(cursor, "departments", given))
    instants = [NOW + hour * HOUR_MS for hour in hours]
    return [
        each.guaranteed_parts // GPU_PARTS
        for at_ms in instants
        for each in told.at(at_ms)
        if each.team == team
    ]


def table(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    return ledger.query(f"from {name} order by recorded_at").to_dicts()


@pytest.mark.patient
def test_a_booking_and_an_offer_are_promised_while_they_last(ledger: Ledger) -> None:
    put(ledger, booking("a", 4, 2, 6))
    put(ledger, booking("b", 3, 4, 8, offer=True))
    put(ledger, booking("a", 3, 4, 8))
    assert promised(ledger, "a", 0, 2, 4, 6, 8) == [8, 12, 15, 11, 8]
    assert promised(ledger, "b", 0, 2, 4, 6, 8) == [4, 4, 1, 1, 4]


@pytest.mark.patient
def test_it_is_asked_for_by_a_pseudonym_in_the_same_commit(ledger: Ledger) -> None:
    done = put(ledger, booking("a", 4, 2, 6), words="a deadline")
    (row,) = table(ledger, "requests")
    assert (row["kind"], row["subject"], row["asked_by"], row["words"]) == (
        "book", done.name, WHO, "a deadline",
    )  # fmt: skip
    with ledger.reading() as cursor:
        (found,) = standing(cursor, [C], NOW)
    assert found == done
    with pytest.raises(InputError, match="pseudonym"):
        write(ledger, wish(C, booking("b", 1, 8, 9), "mary"), NOW)
    assert len(stand(ledger)) == 1


@pytest.mark.patient
def test_the_same_is_there_once(ledger: Ledger) -> None:
    first = put(ledger, booking("a", 2, 2, 6))
    assert put(ledger, booking("a", 2, 2, 6), NOW + 1).quota_id == first.quota_id
    now = put(ledger, booking("b", 1, 0, 6, offer=True))
    again = replace(now.booking, start_at=NOW + 60_000)
    assert put(ledger, again, NOW + 60_000) == now
    assert stand(ledger) == [now.booking, first.booking]
    put(ledger, booking("b", 1, 1, 6, offer=True))  # one that begins later is another
    assert len(stand(ledger)) == 3
    assert len(table(ledger, "requests")) == 3


REFUSED = (
    (booking("a", 5, 2, 6), "17 GPUs would be promised in pool p, which has 16 GPUs"),
    (booking("b", 5, 2, 6, offer=True), "b is promised 4 GPUs from .* and offers 5 GPUs"),
    (booking("c", 1, 2, 6, offer=True), "c is promised 0 GPUs"),
    (booking("a", 1, -2, 6), "begins in the past"),
    (booking("a", 1, -6, -2), "begins in the past"),
    (booking("a", 1, 6, 2), "ends before it begins"),
    (booking("a", 1, 6, 6), "ends before it begins"),
    (booking("a", 0, 2, 6), "about no GPUs"),
    (replace(booking("a", 1, 2, 6), pool="none"), "pool none, which has 0 GPUs"),
)


@pytest.mark.patient
def test_what_cannot_be_is_refused_and_not_written(ledger: Ledger) -> None:
    for what, words in REFUSED:
        with pytest.raises(InputError, match=words):
            put(ledger, what)
    assert stand(ledger) == table(ledger, "requests") == []


@pytest.mark.patient
def test_it_fits_at_every_instant_also_where_guarantees_change_later(ledger: Ledger) -> None:
    later = records.Quota(
        C, 1, NOW + 4 * HOUR_MS, None, "b", POOL, 3 * GPU_PARTS, source="kubernetes", source_object="Queue/b"
    )
    ledger.append(f"later/{uuid4().hex}", {"quotas_versions": [later]})
    put(ledger, booking("a", 4, 0, 4))
    with pytest.raises(InputError, match=r"From .* to .*17 GPUs would be promised"):
        put(ledger, booking("a", 2, 4, 9))
    put(ledger, booking("a", 1, 4, 9))


@pytest.mark.patient
def test_a_declaration_leaves_them(ledger: Ledger) -> None:
    put(ledger, booking("a", 2, 0, 6))
    put(ledger, booking("b", 1, 1, 6, offer=True))
    assert declare(ledger, CONFIGURED, NOW + 1) == []
    assert len(stand(ledger)) == 2
    assert (promised(ledger, "a", 2), promised(ledger, "b", 2)) == ([10], [3])


@pytest.mark.patient
def test_one_that_comes_is_withdrawn_and_may_be_booked_again(ledger: Ledger) -> None:
    done = put(ledger, booking("a", 2, 2, 6))
    assert cancel(ledger, done, WHO, "no need", NOW + 1) == done.booking.start_at
    assert stand(ledger) == []
    assert [row["kind"] for row in table(ledger, "requests")] == ["book", "cancel"]
    with pytest.raises(InputError, match="has ended"):
        cancel(ledger, done, WHO, "", NOW + 2)
    assert put(ledger, booking("a", 2, 2, 6), NOW + 3).quota_id == done.quota_id
    assert promised(ledger, "a", 3) == [10]


@pytest.mark.patient
def test_one_that_stands_ends_now_and_what_was_stays(ledger: Ledger) -> None:
    done = put(ledger, booking("a", 2, 0, 6))
    at_ms = NOW + 2 * HOUR_MS
    assert cancel(ledger, done, WHO, "", at_ms) == at_ms
    assert stand(ledger, at_ms) == []
    assert promised(ledger, "a", 0, 1, 2, 5) == [10, 10, 8, 8]


@pytest.mark.patient
def test_an_offer_that_others_booked_is_not_taken_back_before_that(ledger: Ledger) -> None:
    offered = put(ledger, booking("b", 3, 0, 9, offer=True))
    booked = put(ledger, booking("a", 6, 2, 4))
    with pytest.raises(InputError, match="18 GPUs would be promised"):
        cancel(ledger, offered, WHO, "", NOW + 1)
    cancel(ledger, booked, WHO, "", NOW + 2)
    cancel(ledger, offered, WHO, "", NOW + 3)
    assert stand(ledger, NOW + 3) == []


@pytest.mark.patient
def test_what_a_pool_has_is_its_nodes_as_they_stand_by_their_devices_where_known(ledger: Ledger) -> None:
    nodes = [
        records.Node("e", "n-1", m(0), None, POOL, "H100", 8),
        records.Node("e", "n-2", m(0), NOW, POOL, "H100", 8),
    ]
    devices = [records.Device("e", n, m(0), None, "n-1", n, f"GPU-{n}", "gpu", GPU_PARTS) for n in range(3)]
    ledger.append("e", {"nodes_versions": nodes, "devices_versions": devices})
    with ledger.reading() as cursor:
        assert pools(cursor, "e", NOW - 1) == {POOL: 11 * GPU_PARTS}
        assert pools(cursor, "e", NOW) == {POOL: 3 * GPU_PARTS}
        assert pools(cursor, "d", NOW) == {POOL: 0}


@pytest.mark.patient
def test_the_accounts_count_them_and_the_accountant_agrees(ledger: Ledger) -> None:
    """Every version as it was written, among a GPU's history: promised is what stood, to the minute."""
    start = m(0)
    put(ledger, Booking("a", POOL, 2 * GPU_PARTS, m(10), m(50)), start)
    cancelled = put(ledger, Booking("a", POOL, GPU_PARTS, m(20), m(60)), start)
    cancel(ledger, cancelled, WHO, "", m(30))
    put(ledger, Booking("b", POOL, 3 * GPU_PARTS, m(15), m(45), offer=True), start)
    withdrawn = put(ledger, Booking("b", POOL, GPU_PARTS, m(40), m(60), offer=True), start)
    cancel(ledger, withdrawn, WHO, "", m(35))
    small = Small(3)
    small.namespaces_are_teams("a", "b")
    small.promise("a", 1)
    small.promise("b", 4)
    small.pod("x", 0, 60, gpu(0), namespace="a")
    columns = "* exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)"
    written: list[dict[str, Any]] = ledger.query(
        f"select {columns} from quotas_versions where source = 'person'"
    ).to_dicts()
    there: dict[str, Any] = {"cluster": CLUSTER}
    small.h.quotas += [records.Quota(**{**row, **there}) for row in written]
    found = {
        team: row["guaranteed_pms"] // GPU_PARTS // MINUTE
        for (*_, team), row in small.account().quota.items()
    }
    assert found == {"a": 60 + 2 * 40 + 10, "b": 4 * 60 - 3 * 30}

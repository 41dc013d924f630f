"""The chain in the ledger: numbers go on, nothing is doubled, and no two writers fork it, on any catalog."""

import multiprocessing
import sys
from pathlib import Path

import pytest
from typing_extensions import override

from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Result
from enforcer.audit.row import Head
from enforcer.audit.verify import verify
from enforcer.audit.walk import Kind
from enforcer.guard.standing import Taken
from enforcer.snapshot import Taking
from quartermaster.clock import HOUR_MS, now_ms
from quartermaster.errors import InputError, LedgerError
from sql import ledger as ledger_module
from sql.backup import backup, restore
from sql.catalog import Cursor
from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade
from sql.upkeep import compact
from tests.audit.deeds import CLUSTER, T0, intent, many, outcome, refused
from tests.sql.conftest import Place, place_of

SPAWN = multiprocessing.get_context("spawn")
PARTS = 8 * 168_000


def of(cluster: str, *uids: str, at_ms: int = T0) -> list[Deed]:
    return [intent(uid, at_ms, cluster=cluster) for uid in uids]


def numbers(ledger: Ledger, cluster: str) -> list[int]:
    found = ledger.query("select number from deeds where cluster = ? order by number", [cluster])
    return found["number"].to_list()


@pytest.mark.patient
def test_numbers_go_on_from_the_last(shared: Ledger) -> None:
    first, second = Chain(shared, "goes-on"), Chain(shared, "goes-on")
    assert first.head() == Head(0, "")
    assert first.write([]) == ()
    hashes = [*first.write(of("goes-on", "u1", "u2")), *second.write(of("goes-on", "u3"))]
    assert numbers(shared, "goes-on") == [1, 2, 3]
    assert first.head() == second.head() == Head(3, hashes[2])
    assert len(set(hashes)) == 3


def test_what_is_written_again_is_there_once_and_has_the_same_hashes(shared: Ledger) -> None:
    deeds = of("again", "u1", "u2")
    hashes = Chain(shared, "again").write(deeds)
    assert (
        Chain(shared, "again").write(deeds) == hashes
    )  # by another process, which did not hear of the commit
    assert Chain(shared, "again").write([*of("again", "u3"), *of("again", "u3")])[0]
    assert numbers(shared, "again") == [1, 2, 3]


def test_the_chains_of_clusters_do_not_know_each_other(shared: Ledger) -> None:
    hostile = "west'; drop table deeds; --"
    for cluster in ("east", hostile):
        Chain(shared, cluster).write(of(cluster, "u1", "u2"))
    assert (numbers(shared, "east"), numbers(shared, hostile)) == ([1, 2], [1, 2])
    with pytest.raises(InputError, match="another cluster than 'east'"):
        Chain(shared, "east").write(of(hostile, "u3"))


def test_hostile_text_is_read_back_and_verifies(shared: Ledger) -> None:
    text = "\x00\ud800\u202e'; drop table deeds; --\r\n\x1b[31m" + "é" * 9
    Chain(shared, "hostile").write([intent(text, cluster="hostile", team=text, words=text, before=text)])
    assert verify(shared, "hostile").found == 0
    assert Chain(shared, "hostile").open_intents()[0].deed.name.endswith("é" * 9)


def test_without_its_head_nothing_is_written(shared: Ledger) -> None:
    Chain(shared, "headless").write(of("headless", "u1"))
    shared.write(
        "x/1/headless",
        lambda cursor: cursor.execute("delete from deed_heads where cluster = 'headless'") and None,
    )
    with pytest.raises(LedgerError, match="has 1 rows and no head"):
        Chain(shared, "headless").write(of("headless", "u2"))


def test_what_was_written_and_taken_out_is_not_taken_for_written(shared: Ledger) -> None:
    chain = Chain(shared, "taken-out")
    chain.write(of("taken-out", "u1"))
    shared.write(
        "x/1/taken-out",
        lambda cursor: cursor.execute("delete from deeds where cluster = 'taken-out'") and None,
    )
    with pytest.raises(LedgerError, match="1 deeds of taken-out were written and are not there"):
        chain.write(of("taken-out", "u1"))


# what it says of the past ---------------------------------------------------------------------------------------------


@pytest.mark.patient
def test_an_intent_is_open_until_its_outcome(shared: Ledger) -> None:
    chain = Chain(shared, "open")
    deeds = [*of("open", "u1", "u2"), refused("u3", cluster="open")]
    first, second, _ = chain.write(deeds)
    assert [(each.number, each.row_hash) for each in chain.open_intents()] == [(1, first), (2, second)]
    assert chain.open_intents()[0].deed == deeds[0]
    chain.write([outcome(deeds[0], first)])
    assert [each.deed.object_uid for each in chain.open_intents()] == ["u2"]
    chain.write([outcome(deeds[1], second, Result.ABANDONED)])
    assert chain.open_intents() == ()


RESULTS = [
    (None, True, Taking("u1", "w", T0)),
    (Result.DONE, True, Taking("u1", "w", T0)),
    (Result.UNDONE, True, Taking("u1", "w", T0, in_vain=True)),
    (Result.NO_EFFECT, True, Taking("u1", "w", T0, in_vain=True)),
    (Result.FAILED, False, None),
    (Result.ABANDONED, False, None),
]


@pytest.mark.parametrize(("result", "counts", "taking"), RESULTS, ids=str)
@pytest.mark.patient
def test_what_counts_as_taken(
    shared: Ledger, result: Result | None, counts: bool, taking: Taking | None
) -> None:
    cluster = f"counts-{result}"
    chain = Chain(shared, cluster)
    stop = intent("u1", cluster=cluster, for_uid="w")
    (row_hash,) = chain.write([stop])
    if result is not None:
        chain.write([outcome(stop, row_hash, result)])
    assert chain.recent(T0) == ((Taken("u1", T0, "vision", "training", PARTS),) if counts else ())
    assert chain.takings(T0) == (() if taking is None else (taking,))
    assert (chain.recent(T0 + 1), chain.takings(T0 + 1)) == ((), ())


def test_only_stops_are_takings_and_a_group_is_taken_at_one_instant(shared: Ledger) -> None:
    chain = Chain(shared, "groups")
    more = [intent(f"u{number}", T0 + number, cluster="groups", group=number // 2) for number in range(4)]
    chain.write(
        [*more, *(intent("u9", cluster="groups", act=act) for act in ("hold", "start", "warn", "restore"))]
    )
    assert [(each.uid, each.at_ms) for each in chain.takings(0)] == [
        ("u0", T0),
        ("u1", T0),
        ("u2", T0 + 2),
        ("u3", T0 + 2),
    ]
    assert [each.at_ms for each in chain.recent(0)] == [T0, T0 + 1, T0 + 2, T0 + 3]


def test_the_last_that_is_told_of_an_intent_counts(shared: Ledger) -> None:
    chain = Chain(shared, "last")
    stop = intent(cluster="last")
    (row_hash,) = chain.write([stop])
    chain.write([outcome(stop, row_hash)])
    assert [each.result for each in chain.stopped()] == ["done"]
    chain.write([outcome(stop, row_hash, Result.UNDONE, HOUR_MS)])
    assert chain.stopped() == ()
    assert chain.takings(0)[0].in_vain


def test_an_outcome_of_a_clock_that_was_set_back_is_one(shared: Ledger) -> None:
    chain = Chain(shared, "clock")
    stop = intent(cluster="clock")
    (row_hash,) = chain.write([stop])
    chain.write([outcome(stop, row_hash, Result.FAILED, -20 * HOUR_MS)])
    assert chain.recent(T0) == ()


STORIES: list[tuple[str, list[tuple[str, Result | None]], bool]] = [
    ("stopped", [("stop", Result.DONE)], True),
    ("held back", [("hold", Result.DONE)], True),
    ("may be stopped", [("stop", None)], True),
    ("not stopped", [("stop", Result.FAILED)], False),
    ("without effect", [("stop", Result.NO_EFFECT)], False),
    ("abandoned", [("stop", Result.ABANDONED)], False),
    ("put back by others", [("stop", Result.UNDONE)], False),
    ("restored", [("stop", Result.DONE), ("restore", Result.DONE)], False),
    ("started", [("hold", Result.DONE), ("start", Result.DONE)], False),
    ("not restored", [("stop", Result.DONE), ("restore", Result.FAILED)], True),
    ("being restored", [("stop", Result.DONE), ("restore", None)], True),
    ("stopped again", [("stop", Result.DONE), ("restore", Result.DONE), ("stop", Result.DONE)], True),
    ("put back the second time", [("stop", Result.DONE), ("stop", Result.UNDONE)], False),
]


@pytest.mark.parametrize(("name", "story", "stopped"), STORIES, ids=[name for name, _, _ in STORIES])
@pytest.mark.patient
def test_what_is_stopped(
    shared: Ledger, name: str, story: list[tuple[str, Result | None]], stopped: bool
) -> None:
    chain = Chain(shared, name)
    for place, (act, result) in enumerate(story):
        deed = intent("u1", T0 + place * HOUR_MS, act, cluster=name, before=f'{{"replicas":{place}}}')
        (row_hash,) = chain.write([deed])
        if result is not None:
            chain.write([outcome(deed, row_hash, result)])
    found = chain.stopped()
    assert [each.deed.object_uid for each in found] == (["u1"] if stopped else [])
    if stopped:
        last = max(place for place, (act, _) in enumerate(story) if act in {"stop", "hold"})
        assert found[0].deed.before == f'{{"replicas":{last}}}'
        assert chain.stopped(T0 + last * HOUR_MS) == found
        assert chain.stopped(T0 + last * HOUR_MS + 1) == ()


# more than one writer -------------------------------------------------------------------------------------------------


def write_on(folder: Path, catalog: str, who: str, batches: int) -> None:
    sys.modules["pandas"] = None  # type: ignore[assignment] # nothing here needs it, and it takes a second
    ledger_module.PATIENCE_S = 60.0
    with open_ledger(folder, catalog) as ledger:
        chain = Chain(ledger, CLUSTER)
        for batch in range(batches):
            chain.write([refused(f"{who}-{batch}-{each}") for each in range(2)])


@pytest.mark.patient
def test_processes_that_race_make_one_chain(place: Place) -> None:
    writers = [SPAWN.Process(target=write_on, args=(place.folder, place.catalog, who, 4)) for who in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    with open_ledger(place.folder, place.catalog) as ledger:
        assert numbers(ledger, CLUSTER) == list(range(1, 17))
        assert verify(ledger, CLUSTER).found == 0


@pytest.mark.patient
def test_a_restored_backup_is_whole_goes_on_and_lacks_what_was_published_since(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
        chain = Chain(ledger, CLUSTER)
        chain.write(many(3))
        backup(ledger, tmp_path / "backup", now_ms())
        chain.write([refused("after")])
        head = chain.head()
    restore(tmp_path / "backup", tmp_path / "restored", "sqlite")
    with open_ledger(tmp_path / "restored") as ledger:
        assert verify(ledger, CLUSTER).found == 0
        assert [each.kind for each in verify(ledger, CLUSTER, {head.number: head.row_hash}).flaws] == [
            Kind.CUT
        ]
        Chain(ledger, CLUSTER).write([refused("another")])
        assert numbers(ledger, CLUSTER) == [1, 2, 3, 4]
        flaws = verify(ledger, CLUSTER, {head.number: head.row_hash}).flaws
        assert [(each.number, each.kind) for each in flaws] == [(4, Kind.ANOTHER)]


class Overtaken(Chain):
    """Somebody else writes between its look at the head and its commit, the first time."""

    def __init__(self, ledger: Ledger, other: Chain) -> None:
        super().__init__(ledger, CLUSTER)
        self.other = other
        self.looks = 0

    @override
    def _head(self, cursor: Cursor) -> Head | None:
        head = super()._head(cursor)
        self.looks += self._begun
        if self._begun and self.looks == 1:
            self.other.write([refused("other")])
        return head


@pytest.mark.postgres
@pytest.mark.parametrize("head", ["not begun", "inlined", "in a file"])
def test_who_is_overtaken_begins_again(request: pytest.FixtureRequest, tmp_path: Path, head: str) -> None:
    """On PostgreSQL no lock is held while one writes: the conflict over the head is what protects."""
    place = place_of(request, "postgres", tmp_path)
    with (
        open_ledger(place.folder, place.catalog) as ledger,
        open_ledger(place.folder, place.catalog) as another,
    ):
        upgrade(ledger)
        if head != "not begun":
            Chain(ledger, CLUSTER).write(many(3))
        if head == "in a file":
            compact(ledger, now_ms(), everything=True)
        chain = Overtaken(ledger, Chain(another, CLUSTER))
        chain.write([refused("mine")])
        assert chain.looks == 2
        told = ledger.query("select object_uid from deeds order by number")["object_uid"].to_list()
        assert told[-2:] == ["other", "mine"]
        assert verify(ledger, CLUSTER).found == 0

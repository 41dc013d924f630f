"""Whoever changes the ledger behind its back is found out: in SQL as they would write it, and by which row."""

import itertools
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

from collector.log import Log
from enforcer.audit.chain import Chain
from enforcer.audit.head import Herald, parse, publish, published
from enforcer.audit.row import SCHEMA, Head, chained, frame
from enforcer.audit.verify import PIECE, Verdict, clusters, verify
from enforcer.audit.walk import Kind
from quartermaster.errors import InputError, LedgerError
from sql.catalog import Cursor
from sql.ledger import Ledger
from tests.audit.deeds import T0, refused

IN = "where cluster = $c and number"
_NAMES = (f"tampered-{number}" for number in itertools.count())


def chain_of_ten(ledger: Ledger) -> Chain:
    cluster = next(_NAMES)
    chain = Chain(ledger, cluster)
    chain.write([refused(f"u{number}", cluster=cluster) for number in range(10)])
    return chain


def tamper(ledger: Ledger, cluster: str, *statements: str) -> Verdict:
    def work(cursor: Cursor) -> None:
        for each in statements:
            cursor.execute(each, {"c": cluster})

    assert ledger.write(f"tamper/1/{cluster}", work)
    return verify(ledger, cluster)


def copy(number: int, place: int | None = None) -> str:
    """A row once more, under its own number or another."""
    columns = [str(place) if name == "number" and place is not None else name for name in SCHEMA]
    names = ", ".join(SCHEMA)
    return f"insert into deeds ({names}) select {', '.join(columns)} from deeds {IN} = {number}"


TAMPERINGS = {
    "a field": ([f"update deeds set team = 'speech' {IN} = 4"], [(4, Kind.CHANGED)]),
    "who it was": ([f"update deeds set actor = 'nobody' {IN} = 1"], [(1, Kind.CHANGED)]),
    "a microsecond": (
        [f"update deeds set told_at = told_at + interval 1 microsecond {IN} = 4"],
        [(4, Kind.CHANGED)],
    ),
    "empty to nothing": ([f"update deeds set before = null {IN} = 4"], [(4, Kind.CHANGED)]),
    "its hash": ([f"update deeds set row_hash = 'x' {IN} = 4"], [(4, Kind.CHANGED), (5, Kind.UNLINKED)]),
    "a row taken out": ([f"delete from deeds {IN} = 4"], [(4, Kind.MISSING)]),
    "the first": ([f"delete from deeds {IN} = 1"], [(1, Kind.MISSING)]),
    "the tail": ([f"delete from deeds {IN} > 7"], [(8, Kind.CUT)]),
    "all": (["delete from deeds where cluster = $c"], [(1, Kind.CUT)]),
    "two rows swapped": (
        [f"update deeds set number = 9 - number {IN} in (4, 5)"],
        [(4, Kind.CHANGED), (5, Kind.CHANGED), (6, Kind.UNLINKED)],
    ),
    "a row doubled": ([copy(4)], [(4, Kind.DOUBLED)]),
    "a row copied behind the end": ([copy(4, 11)], [(11, Kind.CHANGED), (11, Kind.STRAY)]),
    "a row far away": (
        [f"update deeds set number = 5000000000 {IN} = 10"],
        [(10, Kind.MISSING), (5000000000, Kind.CHANGED)],
    ),
    "a row numbered 0": ([f"update deeds set number = 0 {IN} = 4"], [(0, Kind.STRAY), (4, Kind.MISSING)]),
    "a row without a number": (
        [f"update deeds set number = null {IN} = 4"],
        [(4, Kind.MISSING), (None, Kind.STRAY)],
    ),
    "a row given to another cluster": ([f"update deeds set cluster = 'x' {IN} = 4"], [(4, Kind.MISSING)]),
    "the head": (["delete from deed_heads where cluster = $c"], [(None, Kind.STRAY)]),
    "the head's hash": (["update deed_heads set row_hash = 'x' where cluster = $c"], [(10, Kind.ANOTHER)]),
}


def test_what_nobody_touched_is_whole(shared: Ledger) -> None:
    chain = chain_of_ten(shared)
    assert verify(shared, chain.cluster) == Verdict(chain.cluster, 10, chain.head(), (), 0)
    assert chain.cluster in clusters(shared)
    assert verify(shared, "never heard of").found == 0


@pytest.fixture(scope="module")
def tampered(shared: Ledger) -> Ledger:
    """A chain of ten for each tampering, and all of them done: two commits for all."""
    rows = {
        name: chained([refused(f"u{each}", cluster=name) for each in range(10)], Head(0, ""))
        for name in TAMPERINGS
    }
    heads = {
        "cluster": list(rows),
        "number": [10] * len(rows),
        "row_hash": [each[-1]["row_hash"] for each in rows.values()],
    }
    deeds = frame(itertools.chain.from_iterable(rows.values()))
    shared.append("tampered/1/1", {"deeds": deeds, "deed_heads": pl.DataFrame(heads)})

    def work(cursor: Cursor) -> None:
        for name, (statements, _) in TAMPERINGS.items():
            for each in statements:
                cursor.execute(each, {"c": name})

    shared.write("tampered/1/2", work)
    return shared


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.patient
def test_each_tampering_is_found_and_named(tampered: Ledger, name: str) -> None:
    _, flaws = TAMPERINGS[name]
    verdict = verify(tampered, name)
    found = [(flaw.number, flaw.kind) for flaw in verdict.flaws]
    assert found[: len(flaws)] == flaws
    assert verdict.found >= len(flaws)


@pytest.mark.patient
def test_a_tail_cut_with_its_head_is_seen_by_a_head_from_elsewhere(shared: Ledger) -> None:
    chain = chain_of_ten(shared)
    before = chain.head()
    verdict = tamper(
        shared,
        chain.cluster,
        f"update deed_heads set number = 7, row_hash = (select row_hash from deeds {IN} = 7) where cluster = $c",
        f"delete from deeds {IN} > 7",
    )
    assert verdict.found == 0  # what is left is a whole chain
    seen = verify(shared, chain.cluster, {before.number: before.row_hash})
    assert [(flaw.number, flaw.kind) for flaw in seen.flaws] == [(8, Kind.CUT)]
    (by_hash,) = verify(shared, chain.cluster, wanted=before.row_hash).flaws
    assert (by_hash.kind, before.row_hash in by_hash.words) == (Kind.CUT, True)
    chain.write([refused("and it goes on", cluster=chain.cluster)])
    assert verify(shared, chain.cluster, {before.number: before.row_hash}).found == 1
    assert verify(shared, chain.cluster, wanted=chain.head().row_hash).found == 0


def test_a_long_chain_is_walked_in_pieces(shared: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enforcer.audit.verify.PIECE", 3)
    assert PIECE > 3
    chain = chain_of_ten(shared)
    told: list[tuple[int, int]] = []
    assert verify(shared, chain.cluster, went=lambda done, of: told.append((done, of))).found == 0
    assert told == [(3, 10), (6, 10), (9, 10), (10, 10)]
    verdict = tamper(shared, chain.cluster, f"delete from deeds {IN} between 2 and 8", copy(9))
    assert [(flaw.number, flaw.kind) for flaw in verdict.flaws] == [(2, Kind.MISSING), (9, Kind.DOUBLED)]


# the head elsewhere ---------------------------------------------------------------------------------------------------


def test_a_head_is_read_as_it_is_written() -> None:
    head = Head(12, "0f" * 32)
    assert parse(head.text) == parse(f" {head.text}\n") == head
    assert parse(head.row_hash) == Head(0, head.row_hash)


def test_a_head_is_told_once_in_the_log_in_the_file_and_elsewhere(shared: Ledger, tmp_path: Path) -> None:
    chain, stream, elsewhere = Chain(shared, "told"), StringIO(), list[str]()
    herald = Herald(chain, Log(stream=stream), tmp_path / "heads", elsewhere.append)
    herald.tell(T0)
    for name in ("u1", "u2"):
        chain.write([refused(name, cluster="told")])
        herald.tell(T0)
        herald.tell(T0)
    heads = published(tmp_path / "heads", "told")
    assert elsewhere == [f"{number}:{row_hash}" for number, row_hash in heads.items()]
    assert list(heads) == [1, 2]
    assert verify(shared, "told", heads).found == 0
    lines = stream.getvalue().splitlines()
    assert [line.partition("cluster=")[2] for line in lines] == [
        f"told number={number} row_hash={row_hash}" for number, row_hash in heads.items()
    ]
    Herald(chain, Log(stream=stream)).tell(T0)
    assert stream.getvalue().splitlines()[2].endswith(lines[1].partition("cluster=")[2])


@pytest.mark.parametrize(
    "text", ["", "12", "12:", "x" * 64, "0f" * 31, f"-1:{'0f' * 32}", f"{'9' * 30}:{'0f' * 32}"]
)
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no head of an audit"):
        parse(text)


def test_published_heads_are_added_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "heads"
    publish(file, "prod", Head(1, "a"), T0)
    publish(file, "west", Head(1, "b"), T0)
    with file.open("a") as opened:
        opened.write('{"cut short": \n[1]\n{"cluster": "prod", "number": "x", "row_hash": ""}\n\xff\n')
    publish(file, "prod", Head(7, "c"), T0)
    publish(file, "prod", Head(7, "forged later"), T0)
    assert published(file, "prod") == {1: "a", 7: "c"}
    assert published(file, "west") == {1: "b"}
    assert file.read_text().startswith(
        '{"at":"2026-11-18T11:06:40.000Z","cluster":"prod","number":1,"row_hash":"a"}\n'
    )


def test_a_file_that_cannot_be_written_or_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="the audit's head cannot be written to"):
        publish(tmp_path, "prod", Head(1, "a"), T0)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        published(tmp_path / "nothing", "prod")

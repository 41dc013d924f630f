"""A whole round over real HTTP on a stepped clock: samples where pages came, else gaps."""

import asyncio

import polars as pl
import pytest

from collector.dcgm.fetch import Fetcher
from collector.exposition.page import Page
from collector.exposition.parse import Parser
from collector.round import Outcome, Round
from collector.targets import Target
from quartermaster.config.clusters import DcgmPart

from .conftest import Answer, Server, hang, page, reply

NODE_EXPORTER = b'# TYPE node_cpu_seconds_total counter\nnode_cpu_seconds_total{cpu="0"} 1\n'
HTML = b"<!doctype html>\n<html><body>Welcome to nginx!</body></html>\n"


async def rounds(
    server: Server,
    paths: list[str],
    times: list[tuple[int, dict[str, bytes | Answer]]],
    timeout_ms: int = 10_000,
) -> list[Outcome]:
    """The outcomes of rounds at the given times, each with the answers that it changes."""
    settings = DcgmPart().model_copy(
        update={"interval_ms": 30_000, "timeout_ms": timeout_ms, "max_page_mib": 1}
    )
    targets = [Target("c", server.url(path)) for path in paths]
    outcomes: list[Outcome] = []
    async with Fetcher(settings) as fetcher:
        made = Round("c", 30_000, fetcher)
        for now_ms, answers in times:
            server.answers |= answers
            outcomes.append(await made.collect(targets, now_ms))
    return outcomes


def gaps_of(outcomes: list[Outcome]) -> list[tuple[int, int | None, str, str]]:
    told = [outcome.frames["gaps_versions"] for outcome in outcomes if "gaps_versions" in outcome.frames]
    if not told:
        return []
    last = (
        pl.concat(told, how="vertical_relaxed")
        .sort("revision")
        .unique("gap_id", keep="last")
        .sort("start_at", "node")
    )
    return [tuple(row) for row in last.select("start_at", "end_at", "node", "reason").rows()]


async def test_a_good_page_is_samples_series_labels_and_a_watermark(server: Server) -> None:
    first, second = await rounds(
        server,
        ["/n1"],
        [
            (30_000, {"/n1": page("n1", energy_mj=1_000_000)}),
            (60_000, {"/n1": page("n1", energy_mj=9_000_000)}),
        ],
    )
    assert first.frames.keys() == {
        "samples",
        "series_versions",
        "label_refs",
        "targets_versions",
        "watermarks",
    }
    assert second.frames.keys() == {"samples", "watermarks"}, "what is known is not told again"
    assert set(first.frames["samples"]["sampled_at"]) == {30_000}
    assert first.frames["samples"].height == 2
    assert first.frames["label_refs"].select("namespace", "pod").rows() == [("vision", "train-0")]
    assert first.frames["targets_versions"].select("target", "start_at", "end_at", "interval_ms").rows() == [
        (server.url("/n1"), 30_000, None, 30_000)
    ]
    assert [outcome.complete_until_at for outcome in (first, second)] == [30_000, 60_000]
    assert (second.start_at, second.pages, second.samples) == (30_000, 1, 2)


FAULTS: dict[str, tuple[bytes | Answer, str]] = {
    "hangs": (hang, "timeout"),
    "answers 500": (reply(b"", status="500 Internal Server Error"), "status 500"),
    "redirects": (reply(b"", status="302 Found", headers="Location: /\r\n"), "redirect"),
    "too large": (b"#" * 2_000_000, "too large"),
    "half a page by its length": (reply(page("n1")[:400], length=9999), "half page"),
    "half a page by its end": (page("n1")[:-20], "half page"),
    "node_exporter": (NODE_EXPORTER, "not an exporter"),
    "HTML": (HTML, "not an exporter"),
    "HTML without an end": (HTML[:-1], "not an exporter"),
    "nothing": (b"", "not an exporter"),
}


@pytest.mark.parametrize(("answer", "reason"), FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.patient
async def test_each_fault_is_a_gap_and_no_sample(server: Server, answer: bytes | Answer, reason: str) -> None:
    outcomes = await rounds(
        server,
        ["/n1", "/n2"],
        [
            (30_000, {"/n1": page("n1"), "/n2": page("n2")}),
            (60_000, {"/n1": answer, "/n2": page("n2", energy_mj=3_000_000)}),
            (90_000, {"/n2": page("n2", energy_mj=5_000_000)}),
            (120_000, {"/n1": page("n1", energy_mj=9_000_000), "/n2": page("n2", energy_mj=7_000_000)}),
        ],
        timeout_ms=1_000 if reason == "timeout" else 10_000,
    )
    assert gaps_of(outcomes) == [(60_000, 120_000, "n1", reason)]
    assert [outcome.samples for outcome in outcomes] == [4, 2, 2, 4], (
        "the other target goes on; no sample is invented"
    )
    assert [dict(outcome.missed) for outcome in outcomes] == [{}, {reason: 1}, {reason: 1}, {}]
    assert [outcome.complete_until_at for outcome in outcomes] == [30_000, 60_000, 90_000, 120_000]
    assert [failure[1] for failure in outcomes[1].failures] == [reason]
    assert not outcomes[2].failures, "said once"
    assert [target.url for target in outcomes[3].recovered] == [server.url("/n1")]


async def test_frozen_telemetry_is_a_gap_from_the_last_change_on(server: Server) -> None:
    times: list[tuple[int, dict[str, bytes | Answer]]] = [(30_000, {"/n1": page("n1", energy_mj=1_000_000)})]
    still: dict[str, bytes | Answer] = {"/n1": page("n1", energy_mj=4_000_000)}
    times.extend((30_000 * i, still) for i in range(2, 9))
    times.append((300_000, {"/n1": page("n1", energy_mj=90_000_000)}))
    outcomes = await rounds(server, ["/n1"], times)
    assert gaps_of(outcomes) == [(60_000, 300_000, "n1", "frozen")]
    assert outcomes[-1].samples == 2


async def test_who_leaves_keeps_no_open_gap(server: Server) -> None:
    settings = DcgmPart().model_copy(update={"timeout_ms": 10_000})
    target = Target("c", server.url("/none"))
    async with Fetcher(settings) as fetcher:
        made = Round("c", 30_000, fetcher)
        outcomes = [await made.collect([target], 30_000), await made.collect([], 60_000)]
    assert gaps_of(outcomes) == [(30_000, 60_000, "127.0.0.1", "status 404")]
    assert outcomes[1].frames["targets_versions"].select("start_at", "end_at", "revision").rows() == [
        (30_000, 60_000, 1)
    ]


async def test_a_visit_under_way_is_not_made_twice_and_holds_the_watermark(server: Server) -> None:
    async def slow(writer: asyncio.StreamWriter, headers: dict[str, str]) -> None:
        await asyncio.sleep(0.1)
        await reply(page("n1"))(writer, headers)

    server.answers["/n1"] = slow
    target = Target("c", server.url("/n1"))
    async with Fetcher(DcgmPart()) as fetcher:
        made = Round("c", 30_000, fetcher)
        made.retarget([target], 0)
        visit = asyncio.create_task(made.visit(target, 1000))
        await asyncio.sleep(0.02)
        await made.visit(target, 2000)
        early = made.take(2500)
        await visit
        late = made.take(3000)
    assert early.complete_until_at == 1000, "a page that was asked for at 1000 may still come"
    assert dict(early.missed) == {"overlapped": 1}
    assert late.complete_until_at == 3000
    assert late.samples == 2


async def test_a_page_whose_clock_is_wrong_is_a_gap(server: Server) -> None:
    stamped = (
        b"\n".join(line + b" 1000" if not line.startswith(b"#") else line for line in page("n1").splitlines())
        + b"\n"
    )
    outcomes = await rounds(server, ["/n1"], [(1_000_000_000, {"/n1": stamped})])
    assert gaps_of(outcomes) == [(1_000_000_000, None, "127.0.0.1", "clock jumped")]
    assert outcomes[0].samples == 0


async def test_a_page_that_breaks_the_parser_costs_its_target_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = Parser.parse

    def breaks(self: Parser, body: bytes, *, openmetrics: bool = False) -> Page:
        if b"n1" in body:
            raise RecursionError("too deep")
        return parse(self, body, openmetrics=openmetrics)

    monkeypatch.setattr(Parser, "parse", breaks)
    (outcome,) = await rounds(server, ["/n1", "/n2"], [(30_000, {"/n1": page("n1"), "/n2": page("n2")})])
    assert dict(outcome.missed) == {"not understood": 1}
    assert outcome.failures[0][2] == "RecursionError: too deep"
    assert outcome.samples == 2

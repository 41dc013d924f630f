"""One core over 200-sample pages: the parser against prometheus_client; a round parsed and understood."""

import gc
import time
from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from bench.machine import Result
from bench.pages import SAMPLES, page
from collector.dcgm.understand import Reading, Understanding, samples_frame
from collector.exposition.parse import Parser

TARGETS = 1_250
TIMES_FASTER = 100
SAMPLES_A_SECOND = 1_500_000
ROUND_S = 0.2


def run() -> list[Result]:
    """The two figures of the parser's goal, the ways beside the fast one, and a round's CPU."""
    theirs = _theirs()
    fast, changed, cold = _values_change(), _pods_change(), _first_page()
    ratio, rate = theirs / fast, SAMPLES / fast
    return [
        Result(
            "parse, 70 kB page, only values change",
            f"≥ {TIMES_FASTER} × prometheus_client",
            f"{ratio:.0f} × prometheus_client",
            ratio >= TIMES_FASTER,
            f"{fast * 1e6:.0f} µs against {theirs * 1e6:.0f} µs a page of {SAMPLES} samples",
        ),
        Result(
            "parse, one core",
            f"≥ {SAMPLES_A_SECOND / 1e6} M samples/s",
            f"{rate / 1e6:.2f} M samples/s",
            rate >= SAMPLES_A_SECOND,
        ),
        Result(
            "parse, one GPU's pod changes",
            "—",
            f"{SAMPLES / changed / 1e6:.2f} M samples/s",
            True,
            f"{theirs / changed:.0f} × prometheus_client",
        ),
        Result(
            "parse, a target's first page",
            "—",
            f"{SAMPLES / cold / 1e6:.2f} M samples/s",
            True,
            f"{theirs / cold:.0f} × prometheus_client",
        ),
        _round(),
    ]


def _best(work: Callable[[int], object], times: int) -> float:
    """CPU seconds of one call of `work`, the best of five series; it is given a number that counts up."""
    best = float("inf")
    for series in range(5):
        start = time.process_time()
        for number in range(times):
            work(series * times + number)
        best = min(best, (time.process_time() - start) / times)
    return best


def _theirs() -> float:
    texts = [page(1, at).decode() for at in range(4)]
    return _best(
        lambda number: [len(family.samples) for family in text_string_to_metric_families(texts[number % 4])],
        8,
    )


def _values_change() -> float:
    pages, parser = [page(1, at) for at in range(16)], Parser()
    return _best(lambda number: parser.parse(pages[number % 16]), 400)


def _pods_change() -> float:
    pages, parser = [page(1, at, moved_pods=1) for at in range(16)], Parser()
    return _best(lambda number: parser.parse(pages[number % 16]), 100)


def _first_page() -> float:
    pages = [page(at, 0) for at in range(16)]
    return _best(lambda number: Parser().parse(pages[number % 16]), 40)


def _round() -> Result:
    """Parse and understand 1,250 pages, to the ledger's frame; the best round after the first."""
    pages = [[page(node, at) for node in range(TARGETS)] for at in range(2)]
    parsers = [Parser() for _ in range(TARGETS)]
    targets = [
        Understanding("bench", f"http://n{node}:9400/metrics", "dcgm", 30_000) for node in range(TARGETS)
    ]
    seconds: list[float] = []
    gc.collect()
    gc.freeze()
    for at in range(6):
        start = time.process_time()
        readings: list[Reading] = []
        for parser, target, body in zip(parsers, targets, pages[at % 2], strict=True):
            readings.append(target.read(parser.parse(body), at * 30_000))
        rows = len(samples_frame(readings))
        seconds.append(time.process_time() - start)
        assert rows == TARGETS * 8
    gc.unfreeze()
    best = min(seconds[1:])
    detail = f"to a frame of {TARGETS * 8} rows; the first round, when everything is new, {seconds[0]:.2f} s"
    return Result(
        f"parse and understand {TARGETS} pages × {SAMPLES} samples",
        f"≤ {ROUND_S} s CPU",
        f"{best:.3f} s CPU",
        best <= ROUND_S,
        detail,
    )

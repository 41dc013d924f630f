# ruff: noqa: E501  (tables of lines)
"""Frozen telemetry: unchanged for more than three of the exporter's intervals although energy should move."""

import pytest

from collector.dcgm.understand import Reading, Understanding, samples_frame
from collector.exposition.parse import Parser

START = 1_700_000_000_000
STEP = 30_000


def page(values: dict[str, tuple[float, float]], extra: str = "") -> bytes:
    """A page of devices with their activity and energy (mJ)."""
    lines = [
        f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID="{uuid}",Hostname="n7"}} {activity}\n'
        f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{UUID="{uuid}",Hostname="n7"}} {energy}\n'
        for uuid, (activity, energy) in values.items()
    ]
    return ("".join(lines) + extra).encode()


def readings(pages: list[bytes], step_ms: int = STEP, **more: int) -> list[Reading]:
    """The readings of pages that are fetched one step after the other."""
    parser = Parser()
    target = Understanding("demo", "http://n7:9400/metrics", "dcgm", step_ms, **more)  # pyright: ignore[reportArgumentType]
    return [target.read(parser.parse(body), START + number * step_ms) for number, body in enumerate(pages)]


def since(pages: list[bytes], step_ms: int = STEP, **more: int) -> list[int | None]:
    """How long after the start each reading says that nothing moves any more."""
    return [
        None if r.frozen_since_ms is None else r.frozen_since_ms - START
        for r in readings(pages, step_ms, **more)
    ]


def moving(count: int) -> list[bytes]:
    """Pages on which energy moves."""
    return [page({"GPU-a": (0.0, 1e6 + 1e5 * number)}) for number in range(count)]


def test_an_idle_gpu_is_not_frozen() -> None:
    assert since(moving(10)) == [None] * 10


def test_a_page_that_stands_still_is_frozen_from_its_last_change() -> None:
    pages = moving(3) + [moving(3)[-1]] * 5
    # The last change came with the page of 60 s; more than 90 s later, at 180 s, it is frozen from there.
    assert since(pages) == [None] * 6 + [60_000, 60_000]


def test_it_ends_with_the_next_change() -> None:
    pages = [moving(1)[0]] * 6 + moving(3)[1:]
    assert since(pages) == [None] * 4 + [0, 0, None, None]


def test_scraping_faster_than_the_exporter_collects_is_not_frozen() -> None:
    pages = [body for body in moving(5) for _ in range(30)]
    assert since(pages, 1_000) == [None] * 150


@pytest.mark.parametrize(
    ("exporter_ms", "expected"), [(30_000, [None, 0]), (100_000, [None, None]), (90_000, [None, 0])]
)
def test_the_exporters_own_interval_counts_not_the_scrapes(
    exporter_ms: int, expected: list[int | None]
) -> None:
    assert since([moving(1)[0]] * 2, 300_000, exporter_interval_ms=exporter_ms) == expected


@pytest.mark.parametrize("energy", ["0", "NaN", "absent"])
def test_without_a_counter_that_counts_nothing_is_proven(energy: str) -> None:
    body = page({"GPU-a": (0.0, 1e6)}).replace(b" 1000000.0\n", f" {energy}\n".encode())
    if energy == "absent":
        body = body.split(b"\n")[0] + b"\n"
    assert since([body] * 10) == [None] * 10


def test_a_counter_that_stands_while_other_signals_move_is_no_frozen_page() -> None:
    pages = [page({"GPU-a": (number / 100, 1e6)}) for number in range(10)]
    assert since(pages) == [None] * 10


def test_one_frozen_device_is_unknown_and_the_others_are_as_they_were() -> None:
    pages = [page({"GPU-a": (0.5, 1e6), "GPU-b": (0.5, 2e6 + number)}) for number in range(5)]
    last = readings(pages)[-1]
    assert last.frozen_since_ms is None
    frame = samples_frame([last])
    assert frame["gr_engine_permille"].to_list() == [None, 500]
    assert frame["energy_j"].to_list() == [None, 2000]


def test_a_pod_that_comes_does_not_hide_that_the_values_stand_still() -> None:
    """The layout changes, series and values do not: pod labels live on while the values are dead."""
    still = page({"GPU-a": (0.5, 1e6)})
    with_pod = still.replace(b'Hostname="n7"', b'Hostname="n7",namespace="nlp",pod="nb-2"')
    assert since([still] * 3 + [with_pod] * 3) == [None] * 4 + [0, 0]


def test_a_series_that_comes_is_a_change_of_its_own() -> None:
    still, more = {"GPU-a": (0.5, 1e6)}, {"GPU-a": (0.5, 1e6), "GPU-b": (0.5, 1e6)}
    assert since([page(still)] * 3 + [page(more)] * 6) == [None] * 7 + [90_000, 90_000]


def test_a_signal_that_vanishes_is_a_change() -> None:
    still = page({"GPU-a": (0.5, 1e6)})
    less = still.split(b"\n", 1)[1]
    assert since([still] * 3 + [less] * 5) == [None] * 7 + [90_000]


def test_the_instances_of_a_frozen_gpu_are_frozen_with_it() -> None:
    """The counter is the GPU's own series'; its instances have none, and an idle one never changes."""

    def mig(energy: int, busy: float) -> bytes:
        lines = [
            f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID="GPU-{gpu}",Hostname="n7",GPU_I_ID="1",GPU_I_PROFILE="1g.10gb"}} 0\n'
            f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID="GPU-{gpu}",Hostname="n7",GPU_I_ID="2",GPU_I_PROFILE="1g.10gb"}} {b}\n'
            f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{UUID="GPU-{gpu}",Hostname="n7",GPU_I_ID="1",GPU_I_PROFILE="1g.10gb"}} {e}\n'
            for gpu, e, b in (("a", 1_000_000, 0.5), ("b", energy, busy))
        ]
        return "".join(lines).encode()

    last = readings([mig(2_000_000 + number, 0.5) for number in range(5)])[-1]
    assert last.frozen_since_ms is None
    known = dict(
        zip(
            [(r.series.gpu_uuid, r.series.gi_id) for r in last.rows],
            samples_frame([last])["gr_engine_permille"],
            strict=True,
        )
    )
    assert known == {
        ("GPU-a", "1"): None, ("GPU-a", "2"): None, ("GPU-a", ""): None,
        ("GPU-b", "1"): 0, ("GPU-b", "2"): 500, ("GPU-b", ""): None,
    }  # fmt: skip

"""The fleet's hour: who held which GPU, in which state, and what is amiss; given rows, expected rows."""

import pytest

from analytics.reports.tables import shown
from analytics.scope import ALL, Scope
from analytics.views import fleet_tables as tables
from analytics.views.fleet import Device, Fleet, Gpu, Node, Pool, days, fleet, hours, labelled
from analytics.views.gpu_map import gpu_map, words
from quartermaster.clock import HOUR_MS, from_iso, to_datetime
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.views.markup import Tags
from tests.views.scene import NOON, START

VISION = Scope(frozenset({"vision"}))
NOBODY = Scope(frozenset())


def states(found: Fleet) -> list[tuple[str, int | None, str, str]]:
    return [
        (device.node, device.index, device.profile, device.state)
        for pool in found.pools
        for device in pool.devices
    ]


def test_each_device_has_the_state_that_most_of_the_hour_went_into(scene: Ledger) -> None:
    found = fleet(scene, ALL, START)
    assert states(found) == [
        ("n1", 0, "", "computing"),
        ("n1", 1, "", "idle"),  # half idle, half free: what was held comes first
        ("n2", 0, "3g.40gb", "unknown"),
        ("n2", 0, "2g.20gb", "idle"),
        ("n2", 0, "", "unallocated"),
        ("n2", 1, "", "unallocated"),
    ]
    assert found.gpus == 4
    assert [len(gpu.devices) for pool in found.pools for node in pool.nodes for gpu in node.gpus] == [
        1,
        1,
        3,
        1,
    ]


def test_the_states_add_up_to_what_the_ledger_has(scene: Ledger) -> None:
    found = fleet(scene, ALL, START)
    told = scene.query(
        "select sum(columns('^(computing|idle|unknown|unallocated|unavailable|unobserved)_pms$')) "
        "from usage_hourly where row_start_at = $at",
        {"at": to_datetime(START)},
    ).row(0, named=True)
    assert found.pms == {name.removesuffix("_pms"): int(pms) for name, pms in told.items()}
    total = tables.by_pool(found).total
    assert total is not None
    assert sum(int(str(cell)) for cell in total[3:]) == 4 * GPU_PARTS * HOUR_MS


def test_a_team_sees_what_it_held_and_nothing_else(scene: Ledger) -> None:
    found = fleet(scene, VISION, START)
    assert states(found) == [
        ("n1", 0, "", "computing"),
        ("n2", 0, "3g.40gb", "unknown"),
        ("n2", 0, "2g.20gb", "idle"),
    ]
    assert {device.team for pool in found.pools for device in pool.devices} == {"vision"}
    assert found.troubles == found.silences == ()
    assert "speech" not in gpu_map(found) + repr(found)
    assert shown(tables.of_node(found, "n2"))[0] == [
        ["0 · 3g.40gb", "Unknown", "vision", "Job vision/sweep", *["0.0\xa0%", "0.0\xa0%", "100.0\xa0%"]],
        ["0 · 2g.20gb", "Idle", "vision", "Notebook lab/drafts", *["0.0\xa0%", "100.0\xa0%", "0.0\xa0%"]],
    ]


@pytest.mark.parametrize("scope", [NOBODY, Scope(frozenset({"no such team"}))])
def test_who_holds_nothing_is_told_as_of_an_hour_that_is_not_there(scene: Ledger, scope: Scope) -> None:
    with pytest.raises(InputError, match="no usage of that hour"):
        fleet(scene, scope, START)
    with pytest.raises(InputError, match="no usage of that hour"):
        fleet(scene, ALL, START - 48 * HOUR_MS)
    assert days(scene, scope) == ()
    assert hours(scene, scope, "2026-11-25", "UTC") == ()


def test_days_and_hours_to_choose_from(scene: Ledger) -> None:
    assert days(scene, VISION) == ("2026-11-25",)
    found = hours(scene, ALL, "2026-11-25", "Europe/Berlin")
    assert [(hour.label, hour.start_ms) for hour in found] == [("11:00", START), ("12:00", START + HOUR_MS)]


def test_an_hour_that_comes_twice_has_its_offset() -> None:

    back = from_iso("2026-10-25T00:00:00Z")
    found = labelled([back, back + HOUR_MS, back + 2 * HOUR_MS], "Europe/Berlin")
    assert [hour.label for hour in found] == ["02:00", "02:00 (UTC+0100)", "03:00"]


def test_what_still_fits_and_how_mig_has_cut(scene: Ledger) -> None:
    found = fleet(scene, ALL, START)
    assert tables.fragmentation(found).rows == (("training · main", "H100", 1, 1, 1, 0, 0, 0),)
    assert [row[:5] for row in tables.mig(found).rows] == [
        ("training · main", "2g.20gb", 1, 1, 0),
        ("training · main", "3g.40gb", 1, 1, 0),
        ("training · main", "not cut", 1, 1, 0),
    ]


def test_what_is_amiss(scene: Ledger) -> None:
    found = fleet(scene, ALL, START + HOUR_MS)
    assert [row[:3] for row in tables.troubles(found, "UTC").rows] == [
        ("n2 · main", "GPU 1", "not healthy"),
        ("n2 · main", "the whole node", "cordoned"),
    ]
    assert tables.silences(found, "UTC").rows == (
        ("n2 · main", "dcgm", "timeout", "25 Nov 2026, 11:50", 10, "lasts"),
        ("n1 · main", "dcgm", "refused", "25 Nov 2026, 10:58", 2, "is over"),
    )
    assert found.end_ms == NOON


def test_a_node_that_is_not_there(scene: Ledger) -> None:
    with pytest.raises(InputError, match="no node 'n9'"):
        tables.of_node(fleet(scene, ALL, START), "n9")


def test_hostile_names_are_only_text(hostile_scene: Ledger) -> None:
    read = Tags(gpu_map(fleet(hostile_scene, ALL, START)))
    assert read.found <= {"style", "div", "ul", "li", "span", "section", "h3", "b", "i", "em"}
    assert read.attributes <= {"class", "style", "aria-label", "aria-hidden", "role", "title"}


def test_ten_thousand_gpus_are_one_small_piece() -> None:
    hour = (HOUR_MS * GPU_PARTS, 0, 0, 0, 0, 0)
    nodes = tuple(
        Node(
            f"node-{n}",
            tuple(
                Gpu(
                    f"node-{n}",
                    g,
                    (
                        Device(
                            "main", "p", "H100", f"node-{n}", g, "", "gpu", "", GPU_PARTS, "t", 1, "", hour
                        ),
                    ),
                )
                for g in range(8)
            ),
        )
        for n in range(1250)
    )
    whole = Fleet(START, NOON, True, (Pool("main", "p", "H100", nodes),), (), ())
    drawn = gpu_map(whole)
    assert drawn.count("<i class=") == 10_000
    assert len(drawn) < 400_000
    assert words(whole.pools[0].devices) == "10,000 computing"

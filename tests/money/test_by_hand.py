"""Cases worked by hand: the arithmetic stands beside them, and the lines are what it gives, to the millionth.

An hour of one pool, whose GPU-hour costs 3.00 unless a case says otherwise."""

from decimal import Decimal
from typing import Any

from analytics.money.segments import part_of_month
from analytics.money.terms import Commitment
from quartermaster.parts import GPU_PARTS
from tests.money.accountant import GPU_HOUR, HOUR_MS, KINDS, Asked, Promise, Row, World, account
from tests.money.worlds import SEGMENTS, key, lines_of, micros

OWN = dict.fromkeys((*KINDS, "system"), "own")
_BESIDE: dict[str, str] = {"commitment": "the commitment"}
Told = dict[tuple[str, str, str], str]  # kind, team, detail (or measure, of what is no GPU-hour): amount


def held(team: str, gpus: int, allocation: int = 1, workload: int = 1, **gpu_hours: float) -> Row:
    """A row of GPUs held for the hour; `borrowed=2` says how much of it is so."""
    times = {name: round(one * GPU_HOUR) for name, one in gpu_hours.items()}
    return Row(0, team, workload, allocation, gpus * GPU_HOUR, **times)


def told(line: dict[str, str], *rows: Row, ways: dict[str, str] | None = None, **given: Any) -> Told:
    """The lines but those of clearing, which must be their mirror image; the accountant must agree."""
    nano = {name: int(Decimal(price) * 10**9) for name, price in ({"gpu_hour": "3"} | line).items()}
    world = World(SEGMENTS, (nano,) * 3, rows, OWN | (ways or {}), **given)
    lines = lines_of(world)
    assert {key(line): micros(line) for line in lines} == account(world)
    assert sum(one["amount"] for one in lines if one["kind"] in ("adjustment", "shared", "clearing")) == 0
    found: Told = {}
    for one in lines:
        if one["kind"] != "clearing":
            measure: str = one["measure"]
            what: str = one["detail"] if measure == "gpu_hour" else _BESIDE.get(measure) or measure
            found[one["kind"], one["team"] or "", what] = f"{one['amount'].normalize():f}"
    return found


def test_1_borrowed_time_is_cheaper() -> None:
    """8 GPUs, 3 of them above the guarantee at 2.00:

    base            8 × 3.00          = 24.00
    borrowed        3 × (2.00 - 3.00) = -3.00
                                 owed = 21.00
    """
    assert told({"borrowed": "2"}, held("a", 8, borrowed=3)) == {
        ("base", "a", ""): "24",
        ("adjustment", "a", "borrowed"): "-3",
    }


def test_2_borrowed_time_is_dearer() -> None:
    """8 GPUs, 3 of them borrowed at 4.50:   24.00 + 3 × (4.50 - 3.00) = 28.50."""
    assert told({"borrowed": "4.5"}, held("a", 8, borrowed=3)) == {
        ("base", "a", ""): "24",
        ("adjustment", "a", "borrowed"): "4.5",
    }


def test_3_what_may_be_preempted_has_its_rate_and_is_not_borrowed_as_well() -> None:
    """4 GPUs that may be preempted (at 1.20), all borrowed (at 2.00); and 2 that may not, one of them borrowed:

    base            6 × 3.00          = 18.00
    preemptible     4 × (1.20 - 3.00) = -7.20      taken once: not the borrowed price too
    borrowed        1 × (2.00 - 3.00) = -1.00
                                 owed =  9.80
    """
    rows = (held("a", 4, 1, borrowed=4), held("a", 2, 2, borrowed=1))
    line = {"preemptible": "1.2", "borrowed": "2"}
    assert told(line, *rows, preemptible=frozenset({1})) == {
        ("base", "a", ""): "18",
        ("adjustment", "a", "preemptible"): "-7.2",
        ("adjustment", "a", "borrowed"): "-1",
    }


def test_4_a_guarantee_is_a_standing_charge_and_what_of_it_is_lent_a_credit() -> None:
    """`a` is promised 8 GPUs at 0.50 and uses none; `b` holds 6 of them, 2 stay free:

    a: reserved     8 × 0.50          =  4.00
       lent         6 × 0.30          = -1.80      owed 2.20
    b: base         6 × 3.00          = 18.00
    """
    promise = Promise("pool-1", "a", 8 * GPU_HOUR, 6 * GPU_HOUR)
    rows = (held("b", 6, borrowed=6), Row(0, unallocated=2 * GPU_HOUR))
    assert told({"reserved": "0.5", "lent": "0.3"}, *rows, promises=(promise,)) == {
        ("base", "b", ""): "18",
        ("unallocated", "", ""): "6",
        ("adjustment", "a", "reserved"): "4",
        ("adjustment", "a", "lent"): "-1.8",
    }


def test_5_idle_time_is_surcharged_where_enough_of_the_hour_is_known() -> None:
    """Card: 1.00 a GPU-hour confirmed idle, where 90 % of the row is known.

    a: 4 GPUs, 2 idle, 1.6 computing: 3.6 ÷ 4 = 90 % known    base 12.00, idle 2 × 1.00 = 2.00
    b: 4 GPUs, 2 idle, 1.5 computing: 3.5 ÷ 4 = 87.5 % known  base 12.00
    """
    rows = (held("a", 4, 1, idle=2, computing=1.6), held("b", 4, 2, idle=2, computing=1.5))
    assert told({"idle": "1"}, *rows, idle_coverage_permille=900) == {
        ("base", "a", ""): "12",
        ("adjustment", "a", "idle"): "2",
        ("base", "b", ""): "12",
    }


def test_6_half_of_lost_work_is_credited() -> None:
    """An owner's return ended a pod of 4 GPUs; another of 1 ran on:   15.00 - 4 × 3.00 ÷ 2 = 9.00."""
    rows = (held("a", 4, 1), held("a", 1, 2))
    assert told({}, *rows, lost=frozenset({1}), lost_permille=500) == {
        ("base", "a", ""): "15",
        ("adjustment", "a", "lost"): "-6",
    }


def test_7_what_is_faulted_and_lost_and_borrowed_is_taken_off_once() -> None:
    """4 GPUs, 1 of them faulty, all borrowed at 1.00, and all lost:

    base            4 × 3.00          =  12.00
    faulted         1 × 3.00          =  -3.00
    lost            (4 - 1) × 3.00    =  -9.00     nothing is left for the borrowed price to take off
                                 owed =   0.00
    """
    row = held("a", 4, faulted=1, borrowed=4)
    assert told({"borrowed": "1"}, row, lost=frozenset({1}), lost_permille=1000) == {
        ("base", "a", ""): "12",
        ("adjustment", "a", "faulted"): "-3",
        ("adjustment", "a", "lost"): "-9",
    }


def test_8_a_commitment_is_due_every_day_and_covers_the_first_gpu_hours() -> None:
    """`a` pays 3,100.00 in January for a quarter of a GPU, 6 GPU-hours a day, and holds 8:

    base            8 × 3.00                  =  24.00
    covered         24.00 × 6 ÷ 8             = -18.00
    the day's part  3,100.00 ÷ 31             = 100.00
                                         owed = 106.00
    """
    commitments = {("pool-1", "a"): (GPU_PARTS // 4, 100 * 10**6)}
    assert told({}, held("a", 8), commitments=commitments) == {
        ("base", "a", ""): "24",
        ("adjustment", "a", "commitment"): "-18",
        ("adjustment", "a", "the commitment"): "100",
    }


def test_9_a_months_sum_over_its_days_is_the_sum() -> None:
    """1,000.00 over 28 days: 35.714285 a day, and 20 millionths left, one for each of the first 20 days."""
    commitment = Commitment("a", "pool-1", "demo", GPU_PARTS, 1000 * 10**6)
    days = [part_of_month(commitment, f"2027-02-{day:02d}") for day in range(1, 29)]
    assert (days[0], days[19], days[20]) == (35_714_286, 35_714_286, 35_714_285)
    assert sum(days) == 1000 * 10**6


def test_10_a_discount_is_off_what_is_left() -> None:
    """8 GPUs, 2 of them faulty, 10 % off for teams that begin with `a`:

    base            8 × 3.00          = 24.00
    faulted         2 × 3.00          = -6.00
    discount        18.00 × 10 %      = -1.80
                                 owed = 16.20
    """
    assert told({}, held("a", 8, faulted=2), held("b", 1, 2), discounts=(("a*", 100),)) == {
        ("base", "a", ""): "24",
        ("adjustment", "a", "faulted"): "-6",
        ("adjustment", "a", "discount"): "-1.8",
        ("base", "b", ""): "3",
    }


def test_11_cpu_and_memory_stand_beside_the_gpus() -> None:
    """A pod of 1 GPU asks for 12.5 cores (0.04) and 96 GiB (0.005), for half of the hour:

    base            1 × 3.00          = 3.00
    CPU             12.5 × ½ × 0.04   = 0.25
    memory          96 × ½ × 0.005    = 0.24
                                 owed = 3.49
    """
    asked = {1: Asked(12_500, 96 * 1024, HOUR_MS // 2)}
    assert told({"cpu_hour": "0.04", "memory_gib_hour": "0.005"}, held("a", 1), asked=asked) == {
        ("base", "a", ""): "3",
        ("base", "a", "cpu_hour"): "0.25",
        ("base", "a", "memory_gib_hour"): "0.24",
    }


def test_12_what_serves_everybody_is_shared_by_weight_and_none_pays_nothing() -> None:
    """The platform's own workload holds 1 GPU, `a` (weight 3) 2, `b` (weight 1, not named) 1, and 4 stand free:

    platform: base  1 × 3.00          =  3.00, taken off: 0.00 owed
    a: base         2 × 3.00          =  6.00, shared 3.00 × 3 ÷ 4 = 2.25
    b: base         1 × 3.00          =  3.00, shared 3.00 × 1 ÷ 4 = 0.75
    free            4 × 3.00          = 12.00, nobody is asked
    """
    rows = (held("platform", 1, 1, 3), held("a", 2, 2), held("b", 1, 3), Row(0, unallocated=4 * GPU_HOUR))
    ways = {"system": "weighted", "unallocated": "none"}
    assert told({}, *rows, ways=ways, weights={"a": 3}, system=frozenset({3})) == {
        ("base", "platform", ""): "3",
        ("adjustment", "platform", "system"): "-3",
        ("base", "a", ""): "6",
        ("shared", "a", "system"): "2.25",
        ("base", "b", ""): "3",
        ("shared", "b", "system"): "0.75",
        ("unallocated", "", ""): "12",
        ("adjustment", "", "unallocated"): "-12",
    }


def test_13_energy_is_the_counters_by_pue_and_price() -> None:
    """5.4 MJ = 1.5 kWh, PUE 1.3, 0.28 a kWh:   1.5 × 1.3 × 0.28 = 0.546. What no counter told is not billed."""
    rows = (Row(0, "a", 1, 1, GPU_HOUR, energy_j=5_400_000), held("b", 1, 2))
    assert told({}, *rows, kwh_nano=280_000_000, pue_permille=1300) == {
        ("base", "a", ""): "3",
        ("adjustment", "a", "kwh"): "0.546",
        ("base", "b", ""): "3",
    }


def test_aws_split_cost_allocation_of_an_accelerated_instance() -> None:
    """AWS' documentation ("Example of split cost allocation data for accelerated instances"): a p3.16xlarge at 10.00 an
    hour, 8 GPUs, 64 vCPU, 488 GB, weights 9 : 0.9 : 0.1.

    unit            10.00 ÷ (9 × 8 + 0.9 × 64 + 0.1 × 488) = 10.00 ÷ 178.4 = 0.0560538   (AWS: 0.056)
    a GPU           9   × unit = 0.504484       (0.504)
    a vCPU          0.9 × unit = 0.050448       (0.05)
    a GB            0.1 × unit = 0.005605

    Two namespaces share it: `a` with 6 GPUs, 40 vCPU, 300 GB, `b` with 1, 8, 64; 1 GPU stands free.
    a: 6 × 0.504484305 + 40 × 0.050448430 + 300 × 0.005605381 = 3.026906 + 2.017937 + 1.681614 = 6.726457
    """
    unit = Decimal(10) / Decimal("178.4")
    line = {
        name: f"{(weight * unit).quantize(Decimal('1e-9'))}"
        for name, weight in (
            ("gpu_hour", 9),
            ("cpu_hour", Decimal("0.9")),
            ("memory_gib_hour", Decimal("0.1")),
        )
    }
    assert line == {"gpu_hour": "0.504484305", "cpu_hour": "0.050448430", "memory_gib_hour": "0.005605381"}
    asked = {1: Asked(40_000, 300 * 1024, HOUR_MS), 2: Asked(8_000, 64 * 1024, HOUR_MS)}
    rows = (held("a", 6, 1), held("b", 1, 2), Row(0, unallocated=GPU_HOUR))
    assert told(line, *rows, asked=asked) == {
        ("base", "a", ""): "3.026906",
        ("base", "a", "cpu_hour"): "2.017937",
        ("base", "a", "memory_gib_hour"): "1.681614",
        ("base", "b", ""): "0.504484",
        ("base", "b", "cpu_hour"): "0.403587",
        ("base", "b", "memory_gib_hour"): "0.358744",
        ("unallocated", "", ""): "0.504484",
    }

"""What the tests of reports share: a ledger to write into by hand, and three months of a small fleet in one."""

from collections.abc import Generator
from datetime import date, timedelta
from pathlib import Path

import pytest

from analytics.money.charges import charge
from sql.ledger import Ledger, memory_ledger, open_ledger
from tests.ledgers import new_ledger
from tests.money.books import Books

TEAMS = {"vision": ("research", "4711"), "language": ("research", "4711"), "speech": ("product", "")}
FIRST, DAYS = date(2026, 9, 28), 64  # to 2026-11-30, the Monday after 2026-W48
WEEK, MONTH = "2026-W48", "2026-11"


@pytest.fixture(scope="session")
def money_ledger() -> Generator[Ledger]:
    """One ledger for all tests of a process; `books` empties it."""
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def books(money_ledger: Ledger) -> Books:
    """An empty ledger to write into."""
    return Books(money_ledger)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and a ledger of nine weeks: three teams, a price rise in 2026-W48, a workload that
    is new in it and one that ended before."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "quartermaster.yaml").write_text("business: {time_zone: UTC}\nclusters: [{name: demo}]\n")
    with new_ledger(folder / "ledger") as ledger:
        fill(Books(ledger))
    return folder


@pytest.fixture(scope="session")
def quarter(site: Path) -> Generator[Ledger]:
    """Its ledger."""
    with open_ledger(site / "ledger", read_only=True) as ledger:
        yield ledger


def fill(books: Books) -> None:
    """Write it: 16 GPUs, 2 EUR a GPU-hour and 2.50 from 2026-11-23 on; what nobody held is shared evenly."""
    books.card("2026", end_at="2026-11-23T00:00:00Z", unallocated="even")
    books.rate("2")
    books.card("2027", start="2026-11-23T00:00:00Z", unallocated="even")
    books.rate("2.5", card="2027")
    for number, (team, (department, centre)) in enumerate(TEAMS.items()):
        told = {"department": department, "cost_centre": centre, "start_at": "2026-01-01", "revision": 0}
        books.add("teams_versions", team_id=number, team=team, **told)
    for workload, kind, name in (
        ("vision-job", "PyTorchJob", "detector"),
        ("vision-nb", "Notebook", "drafts"),
        ("language-job", "Job", "tuning"),
        ("language-new", "PyTorchJob", "llama"),
        ("speech-job", "Deployment", "voice"),
    ):
        books.name(workload, kind, name, workload.split("-")[0])
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        here = f"{day}T00:00:00Z"
        held = {
            "vision-job": (4, 0.9),
            "vision-nb": (2, 0.0),
            "speech-job": (2, 0.5),
            **({"language-new": (5, 0.75)} if day >= date(2026, 11, 23) else {"language-job": (3, 0.8)}),
        }
        for device, (workload, (gpus, computing)) in enumerate(held.items()):
            team = workload.split("-")[0]
            told = {"workload": workload, "device_id": device, "activity_peak_permille": 900}
            books.usage(here, hours=24, gpus=gpus, team=team, computing=computing, unknown=0.05, **told)
        books.usage(here, hours=24, gpus=16 - sum(gpus for gpus, _ in held.values()))
        books.guarantee("vision", 8, here, hours=24, lent_pms=GPU_DAY, within_pms=6 * GPU_DAY)
        books.guarantee("language", 4, here, hours=24, borrowed_pms=GPU_DAY, within_pms=4 * GPU_DAY)
        lent = {"lender": "vision", "borrower": "language", "pool": "training", "cluster": "demo"}
        books.add("lending_hourly", **lent, row_start_at=here, row_end_at=here, lent_pms=GPU_DAY)
    books.rolled_until("2026-12-01T00:00:00Z")
    charge(books.fill(), 0, "UTC")


GPU_DAY = 168_000 * 86_400_000

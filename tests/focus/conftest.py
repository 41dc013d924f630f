"""What the tests of finance's files share: a ledger with lines of every kind, and its export."""

from collections.abc import Generator, Mapping, Sequence

import polars as pl
import pytest

from analytics.finance.span import Span, span_of
from analytics.money.calendar import Calendar
from quartermaster.ids import content_id
from sql.ledger import Ledger, memory_ledger
from tests.focus.lines import Lines, every_kind
from tests.ledgers import new_ledger
from tests.money.books import Books


@pytest.fixture(scope="session")
def finance_ledger() -> Generator[Ledger]:
    """One ledger for all tests of a process, with two teams and a workload."""
    with memory_ledger() as ledger:
        team = {"start_at": 0, "revision": 0}
        teams = [
            {"team_id": 1, "team": "vision", "department": "research", "cost_centre": "CC-100", **team},
            {"team_id": 2, "team": "nlp", "department": "research", "cost_centre": None, **team},
        ]
        job = {
            "cluster": "demo",
            "workload_id": content_id("workload", "vision-job"),
            "start_at": 0,
            "revision": 0,
        }
        job |= {"kind": "PyTorchJob", "namespace": "research", "name": "train", "tags": '{"project":"atlas"}'}
        ledger.append(
            "finance/names", {"teams_versions": pl_frame(teams), "workloads_versions": pl_frame([job])}
        )
        yield ledger


@pytest.fixture
def lines() -> Lines:
    """Lines of every kind."""
    return every_kind()


@pytest.fixture(scope="session")
def november() -> Span:
    """The month that they are of."""
    return span_of(Calendar("Europe/Berlin").named("2026-11"))


def pl_frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Rows as a frame."""
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Generator[Books]:
    """A module's own ledger to write usage and prices into, empty at first."""
    with new_ledger(tmp_path_factory.mktemp("books") / "ledger") as ledger:
        yield Books(ledger)

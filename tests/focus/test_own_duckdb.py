"""The statements of docs/lake.md for an analyst's own DuckDB, exactly as written, where nothing of ours is known."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from analytics.money.charges import charge
from sql.catalog import extension_file
from tests.ledgers import new_ledger
from tests.money.books import Books

PAGE = Path(__file__).parents[2] / "docs" / "lake.md"
# Reads statements; prints the rows of each, and why one is refused.
CLIENT = """
import sys, duckdb
connection = duckdb.connect(config={"extension_directory": sys.argv[1]})
for statement in duckdb.extract_statements(sys.stdin.read()):
    try:
        for row in connection.execute(statement).fetchall():
            print(*row, sep="|")
    except duckdb.Error as error:
        print("refused:", "read-only" in str(error) or error)
"""
WRITES = (
    "delete from charges",
    "insert into charges by name select 1 as charge_id",
    "drop view reporting.costs",
    "create table t (a int)",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of a team's day, and the extensions where `install` would put them."""
    made = tmp_path_factory.mktemp("analyst")
    with new_ledger(made / "ledger") as ledger:
        books = Books(ledger)
        books.card()
        books.rate("2.50")
        books.usage(team="vision", gpus=3, hours=4, computing=0.5)
        books.usage(team="nlp", gpus=1, hours=2)
        charge(books.fill(), 0, "UTC")
    ((platform,),) = duckdb.execute("select platform from pragma_platform()").fetchall()
    place = made / "extensions" / f"v{duckdb.__version__}" / str(platform)
    place.mkdir(parents=True)
    for name in ("ducklake", "sqlite_scanner"):
        shutil.copy(extension_file(name), place)
    return made


def ask(folder: Path, statements: str) -> subprocess.CompletedProcess[str]:
    """Run the statements in a process of its own, without any of our modules."""
    command = [sys.executable, "-I", "-c", CLIENT, str(folder / "extensions")]
    return subprocess.run(command, input=statements, cwd=folder, capture_output=True, text=True, check=False)


def documented() -> str:
    """The statements of the page."""
    section = PAGE.read_text(encoding="utf-8").partition("## Your own DuckDB")[2]
    (found,) = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    return found


@pytest.mark.patient
def test_the_documented_statements_answer_and_nothing_can_be_written(folder: Path) -> None:
    done = ask(folder, ";\n".join((documented(), *WRITES)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "vision|30.000000|EUR",
        "nlp|5.000000|EUR",
        "nlp|2.000000|2.000000",
        "vision|12.000000|6.000000",
        *["refused: True"] * len(WRITES),
    ]

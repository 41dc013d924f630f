"""A process without pandas: what would import it goes on without."""

import subprocess
import sys

import pytest

_ASK = """
import sys
from quartermaster.lean import without_pandas
without_pandas()
without_pandas()
import duckdb
found = duckdb.connect().execute("select ?::timestamptz as at, 1.50 as price", ["2026-12-01T00:00:00Z"])
rows = [column.to_pylist() for column in found.to_arrow_table().columns]
print(rows[0][0].isoformat(), rows[1][0], "pandas" in sys.modules)
try:
    import pandas
except ImportError:
    print("none")
"""


@pytest.mark.patient
def test_instants_are_read_through_arrow_without_pandas():
    done = subprocess.run(
        [sys.executable, "-c", _ASK], capture_output=True, text=True, check=True, env={"TZ": "UTC"}
    )
    assert done.stdout.split() == ["2026-12-01T00:00:00+00:00", "1.50", "False", "none"]

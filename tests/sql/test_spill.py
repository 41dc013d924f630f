"""What does not fit into memory is written to the system's temporary folder, not to the one that a user stands in."""

import tempfile
from pathlib import Path

from sql.catalog import connect


def test_duckdb_spills_into_the_temporary_folder() -> None:
    connection = connect()
    (folder,) = connection.execute("select current_setting('temp_directory')").fetchone() or ("",)
    connection.close()
    assert Path(str(folder)).parent == Path(tempfile.gettempdir())

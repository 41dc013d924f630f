"""A lock file that cannot be opened, as on a read-only file system, is the ledger's trouble and said so."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from quartermaster.errors import LedgerError
from sql.lock import file_lock, momentary_lock


@pytest.mark.parametrize("lock", [file_lock, momentary_lock])
def test_a_lock_that_cannot_be_opened(
    lock: Callable[..., AbstractContextManager[None]], tmp_path: Path
) -> None:
    path = tmp_path / "backfill.lock"
    path.mkdir()  # for any user, root too, what no rights are for others
    with pytest.raises(LedgerError, match=r"backfill\.lock cannot be opened") as raised, lock(path, wait_s=1):
        pass
    assert raised.value.exit_code == 4
    assert raised.value.hint

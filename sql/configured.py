"""The ledger that a configuration names."""

import contextlib
from collections.abc import Generator

from quartermaster.config.model import Configuration
from sql import revision
from sql.ledger import Ledger, open_ledger


@contextlib.contextmanager
def open_configured(configuration: Configuration, *, read_only: bool = False) -> Generator[Ledger]:
    """Open it where it is, at this program's revision.

    Raises LedgerError, LedgerVersionError; ConfigurationError for a missing secret.
    """
    settings = configuration.ledger
    with open_ledger(settings.path, settings.catalog.reveal(), read_only=read_only, make=False) as ledger:
        if not read_only:
            revision.check(ledger.revision(), ledger.where)
        yield ledger

"""The ledger that a configuration names."""

import contextlib
from collections.abc import Generator

from quartermaster.config.model import Configuration
from sql.ledger import Ledger, open_ledger


@contextlib.contextmanager
def open_configured(configuration: Configuration, *, read_only: bool = False) -> Generator[Ledger]:
    """Open it where it is. Raises LedgerError; ConfigurationError for a missing secret."""
    settings = configuration.ledger
    with open_ledger(settings.path, settings.catalog.reveal(), read_only=read_only, make=False) as ledger:
        yield ledger

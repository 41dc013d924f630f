"""Recorded plans, as they were written down."""

import json
from collections.abc import Mapping
from typing import Any

from enforcer.book import rows
from sql.ledger import Ledger


def read(ledger: Ledger, prefix: str, cluster: str | None) -> Mapping[str, Any] | None:
    """The last plan whose hash begins so, of one cluster or of any; None where there is none. Raises LedgerError."""
    with ledger.reading() as cursor:
        found = rows(cursor, "recorded", {"cluster": cluster, "prefix": prefix, "most": 1})
    return json.loads(found["body"][0]) if found.height else None

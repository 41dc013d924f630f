"""The choice of clusters that somebody makes on the command line."""

from typing import TYPE_CHECKING

from quartermaster.errors import InputError

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration
    from sql.ledger import Ledger


def clusters(configuration: "Configuration", wanted: str | None) -> list[str]:
    """The cluster that is wanted, or all. Raises InputError for one that there is not."""
    names = [each.name for each in configuration.clusters]
    if wanted is not None and wanted not in names:
        raise InputError(f"there is no cluster {wanted!r}", f"the configuration has: {', '.join(names)}")
    return names if wanted is None else [wanted]


def acted_on(ledger: "Ledger", configuration: "Configuration", wanted: str | None) -> list[str]:
    """The same of what was done: also a cluster that the configuration has no more, of which there is an audit."""
    from enforcer.audit.verify import clusters

    known = sorted({*clusters(ledger), *(each.name for each in configuration.clusters)})
    if wanted is not None and wanted not in known:
        raise InputError(f"there is no cluster {wanted!r}", f"there are: {', '.join(known)}")
    return known if wanted is None else [wanted]

"""Places: where a switch is that the configuration does not name."""

from pathlib import Path

from quartermaster.config.model import Configuration

_FREEZE = "freeze"


def freeze_file(configuration: Configuration) -> Path:
    """The file that stops everything while it is there: as configured, else `freeze` beside the ledger's folder."""
    named = configuration.policy.acting.freeze_file
    return configuration.ledger.path.parent / _FREEZE if named is None else Path(named)

"""The first configuration of one machine with GPUs: what `quartermaster collect --nvml` writes where there is none."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from quartermaster.errors import ConfigurationError

_TEXT = """\
# Written by quartermaster collect --nvml: this machine's GPUs, and who uses them. docs/configuration.md has every key.
ledger: {{path: {ledger}}}
collector: {{spool: {{path: {spool}}}}}
clusters:
  - name: {cluster}
    holders: nvml
    nvml: {{host: {host}}}

# Who pays: the first rule that matches decides; what none matches is the team `unassigned`.
teams: []         # [{{name: vision}}]
team_rules: []    # [{{team: vision, unix_group: vision}}, {{team: vision, unix_user: alice}}]

# What a GPU costs: held for an hour, by whoever; without a card the bill has hours and no money.
rate_cards: []    # [{{card: first, prices: [{{gpu_hour: "1.50"}}]}}]
"""


def first_configuration(host: str, environment: Mapping[str, str], home: Path) -> str:
    """The text: a cluster named after the host, the ledger and the spool where a user's data are (XDG)."""
    cluster = re.sub(r"[^A-Za-z0-9._-]+", "-", host).strip("-._")[:63].strip("-._") or "host"
    data = _folder(environment, "XDG_DATA_HOME", home / ".local" / "share")
    state = _folder(environment, "XDG_STATE_HOME", home / ".local" / "state")
    values = {"ledger": data / "ledger", "spool": state / "spool", "cluster": cluster, "host": host}
    return _TEXT.format(**{key: json.dumps(str(value), ensure_ascii=False) for key, value in values.items()})


def write_first(file: Path, text: str) -> None:
    """Write the file where none is. Raises ConfigurationError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8"
        ) as opened:
            opened.write(text)
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be written: {error.strerror}", "write one yourself, and name it with --config"
        ) from error


def _folder(environment: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    """A user's folder by the XDG rules: what is not absolute does not count."""
    named = Path(environment.get(variable, ""))
    return (named if named.is_absolute() else otherwise) / "quartermaster"

"""docker-compose.yml as values: read, with .env's variables in it, as docker compose would."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z_]+)(?::(?P<how>[-?])(?P<other>[^}]*))?\}")


def variables(file: Path = ROOT / ".env.example") -> dict[str, str]:
    """The variables of an .env file."""
    lines = (
        line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    )
    return dict(line.split("=", 1) for line in lines)


def composed(given: Mapping[str, str]) -> dict[str, Any]:
    """The file with these variables. Raises KeyError for one that must be given and is not."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

    def value(match: re.Match[str]) -> str:
        found = given.get(match["name"], "")
        if not found and match["how"] == "?":
            raise KeyError(f"{match['name']}: {match['other']}")
        return found or (match["other"] if match["how"] == "-" else "")

    return yaml.safe_load(_VARIABLE.sub(value, text))

"""What every sub-command shares: the configuration's file, how to print, and whether a traceback is wanted."""

import os
from dataclasses import dataclass
from pathlib import Path

import typer

from quartermaster.errors import ConfigurationError

FILE = "quartermaster.yaml"


@dataclass
class Session:
    """The options before the sub-command."""

    config: Path | None = None
    debug: bool = False

    def config_path(self) -> Path:
        """The configuration's file: --config, else ./quartermaster.yaml, else the user's, else the system's.

        Raises ConfigurationError when none is named and none is there.
        """
        if self.config is not None:
            return self.config  # whether it can be read is found out by reading it; it may be a pipe
        looked_in = [Path(), Path(typer.get_app_dir("quartermaster")), Path("/etc/quartermaster")]
        for folder in looked_in:
            if os.path.isfile(folder / FILE):  # noqa: PTH113 - a folder that may not be entered has none
                return folder / FILE
        raise ConfigurationError(
            f"there is no {FILE} in {', '.join(str(folder.absolute()) for folder in looked_in)}",
            "try quartermaster demo --keep, or name one with --config",
        )


def session(context: typer.Context) -> Session:
    """The session of a sub-command's context."""
    found = context.find_root().obj
    return found if isinstance(found, Session) else Session()

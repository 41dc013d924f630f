"""A real PostgreSQL, of the system's packages, on a socket of its own."""

import itertools
import os
import pwd
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PostgresServer:
    """A running PostgreSQL on a socket of its own."""

    folder: Path
    bin: Path
    owner: dict[str, Any]
    _names: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def database(self) -> str:
        """A libpq connection string of a new, empty database."""
        name = f"test{next(self._names)}"
        self.tool("createdb", "-h", str(self.folder), "-U", "postgres", name)
        return f"host={self.folder} user=postgres dbname={name}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        self.tool("pg_ctl", "-D", self.data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is as a crash."""
        self.tool("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def start_if_down(self) -> None:
        """Start the server when a test has stopped it."""
        if not (self.folder / "data" / "postmaster.pid").exists():
            self.start()

    @property
    def data(self) -> str:
        """The cluster's folder."""
        return str(self.folder / "data")

    def tool(self, name: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own programs as the server's user."""
        environment = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
        command = [str(self.bin / name), *arguments]
        subprocess.run(
            command, check=True, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, **self.owner
        )


def postgres_programs() -> Path | None:
    """The folder of the newest PostgreSQL's programs; None: it is not installed."""
    return max(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), default=None
    )


def start_postgres(folder: Path, programs: Path) -> PostgresServer:
    """A new server with its data and log in the folder, as the user `postgres` when we are root.

    A socket's path ends at 107 characters, and the server's user must be let into all folders above it.
    """
    owner: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = PostgresServer(folder, programs, owner)
    locale = ["-A", "trust", "-E", "UTF8", "--no-locale", "-N", "--no-instructions"]
    server.tool("initdb", "-D", server.data, "-U", "postgres", *locale)
    server.start()
    return server

"""`quartermaster version`: what is installed."""

import platform
from importlib.metadata import version as installed
from typing import Annotated

import typer

from cli import output

STANDS_ON = ("gpu-quartermaster", "duckdb", "polars", "streamlit")


def version(as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False) -> None:
    """Print the versions of Quartermaster and of what it stands on."""
    versions = {name: installed(name) for name in STANDS_ON} | {"python": platform.python_version()}
    if as_json:
        output.emit_json(versions)
        return
    for name, number in versions.items():
        typer.echo(f"{name} {number}")

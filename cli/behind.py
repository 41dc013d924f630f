"""Options behind the sub-command: --config and --debug work there as they do before it."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.session import session

ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", help="The configuration's file.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the two options as its last; what stands behind the sub-command beats what is before it."""
    signature = inspect.signature(command, eval_str=True)
    taken = {
        name for name, parameter in signature.parameters.items() if parameter.annotation is typer.Context
    }

    @functools.wraps(command)
    def obeying(
        *, context_here: typer.Context, config_here: Path | None, debug_here: bool, **given: object
    ) -> object:
        heard = session(context_here)
        heard.config = config_here or heard.config
        heard.debug = debug_here or heard.debug
        return command(**dict.fromkeys(taken, context_here), **given)

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name not in taken
    ]
    more = [
        inspect.Parameter("context_here", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *own,
        inspect.Parameter("config_here", inspect.Parameter.KEYWORD_ONLY, annotation=ConfigFile, default=None),
        inspect.Parameter("debug_here", inspect.Parameter.KEYWORD_ONLY, annotation=Debug, default=False),
    ]
    obeying.__signature__ = inspect.Signature(more)  # pyright: ignore[reportAttributeAccessIssue]
    obeying.__annotations__ = {parameter.name: parameter.annotation for parameter in more}
    return obeying


def of_group(context: typer.Context, config_here: ConfigFile = None, debug_here: Debug = False) -> None:
    """A group's own: between it and its sub-command."""
    heard = session(context)
    heard.config = config_here or heard.config
    heard.debug = debug_here or heard.debug

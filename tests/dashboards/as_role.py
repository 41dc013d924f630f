"""`python -m tests.dashboards.as_role PORT`: the pages without the guard, for people whose cookie names their group.

What the guard in front knows, a test says itself.
"""

import sys
from importlib.resources import files

import streamlit as st
from streamlit.web.cli import main

from dashboards import access
from dashboards.granted import Identity


def who() -> Identity:
    """Who looks, by their own word."""
    return Identity("somebody", "", "Somebody", frozenset({st.context.cookies.get("role", "")}))


if __name__ == "__main__":
    access._identity = who
    app = str(files("dashboards.site") / "app.py")
    options = {"server.port": sys.argv[1], "server.address": "127.0.0.1", "logger.level": "error"}
    sys.argv = ["streamlit", "run", app, *(f"--{key}={value}" for key, value in options.items())]
    main(prog_name="streamlit")

"""The guard that stands in front of this process's pages, for their scripts: what it knows of who looks.

Streamlit runs scripts in the process of its server, so that this is memory that both share.
"""

from dataclasses import dataclass

from dashboards.granted import Identity
from dashboards.guard.sessions import Sessions
from quartermaster.config.dashboards import SignIn


@dataclass
class Standing:
    """`sign_in` is how people are known since the server began; None: no guard is in front."""

    sessions: Sessions
    sign_in: SignIn | None = None

    def who(self, handle: str | None, now_ms: int) -> Identity | None:
        """Who it is that a stream's handle stands for; None when they are signed out, or nobody let them in."""
        session = None if handle is None else self.sessions.holder(handle, now_ms)
        return None if session is None else session.identity


STANDING = Standing(Sessions())

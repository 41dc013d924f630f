"""What the pages show, from analytics, kept for a minute: one module a page. The viewer's teams are part of every key."""

from dashboards.data.week import Weeks, file, report, weeks

KEPT_S = 60

__all__ = ["KEPT_S", "Weeks", "file", "report", "weeks"]

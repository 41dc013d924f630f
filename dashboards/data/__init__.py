"""What the pages show, from analytics, kept for a minute; a module a page. The viewer's teams are part of every key."""

from dashboards.data.week import Weeks, file, report, teams, weeks

__all__ = ["Weeks", "file", "report", "teams", "weeks"]

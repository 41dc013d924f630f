"""Roles: what a person who signs in may see and do, beside which teams are theirs."""

from enum import StrEnum


class Role(StrEnum):
    """A person may have several; none is a part of another."""

    VIEWER = "viewer"  # sees the figures of their teams
    OWNER = "owner"  # keeps, gives back and disputes for their teams
    MANAGER = "manager"  # sees a department's teams, and what lies between them
    FINANCE = "finance"  # sees all teams' money: statements, periods, prices
    ADMIN = "admin"  # sees everything; approves, freezes, restores

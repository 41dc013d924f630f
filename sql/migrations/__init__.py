"""Alembic's revisions of the ledger."""

"""Alembic's entry: the revisions run on the cursor of `sql.upgrade`, in one transaction with the views."""

from alembic import context
from alembic.ddl.impl import DefaultImpl
from duckdb_engine import ConnectionWrapper
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool


class DuckDBImpl(DefaultImpl):
    """DuckDB's DDL is transactional, and DuckLake's commits are atomic."""

    __dialect__ = "duckdb"
    transactional_ddl = True


def _migrate() -> None:
    cursor = context.config.attributes["connection"]
    engine = create_engine("duckdb://", creator=lambda: ConnectionWrapper(cursor), poolclass=NullPool)
    with engine.connect() as connection:
        context.configure(connection=connection, version_table_pk=False, transaction_per_migration=False)
        with context.begin_transaction():
            context.run_migrations()
            context.config.attributes["finish"](cursor)


_migrate()

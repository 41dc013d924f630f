"""The first revision: every table with its codec, partitions and sort order."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    for statement in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """There is nothing before the first revision."""
    raise NotImplementedError("the first revision has nothing before it")

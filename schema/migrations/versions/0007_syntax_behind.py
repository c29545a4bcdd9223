"""Where a line stands in its program is told after it was written, once."""

import sqlalchemy as sa
from alembic import op

from schema.migrations import sealing, telling

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COLUMNS = ("scope", "node_kind")


def upgrade() -> None:
    for column in _COLUMNS:
        op.alter_column("snippets", column, existing_type=sa.Text(), nullable=True, server_default=None)
    op.execute(telling.GUARD_SNIPPET)
    op.execute(sealing.seal("opmend_seal_tombstones", telling.SEALED_TOMBSTONES))


def downgrade() -> None:
    # What was not told is told by nobody then. The guard would refuse it, also of tombstones.
    op.execute("ALTER TABLE snippets DISABLE TRIGGER USER")
    op.execute(
        "UPDATE snippets SET scope = coalesce(scope, ''), node_kind = coalesce(node_kind, '') "
        "WHERE scope IS NULL OR node_kind IS NULL"
    )
    op.execute("ALTER TABLE snippets ENABLE TRIGGER USER")
    op.execute(sealing.seal("opmend_seal_tombstones"))
    op.execute(sealing.GUARD_SNIPPET)
    for column in _COLUMNS:
        op.alter_column("snippets", column, existing_type=sa.Text(), nullable=False, server_default="")

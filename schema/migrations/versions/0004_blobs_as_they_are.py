"""Blobs are stored as they are: to compress a file takes the server longer than to store the rows of its revision."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL")


def downgrade() -> None:
    op.execute("ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTENDED")

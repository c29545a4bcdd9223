"""Runs have a priority, and the outbox knows whose its rows are, so that runs can share the queues."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("priority", sa.Integer(), server_default="0", nullable=False))
    op.add_column("outbox", sa.Column("run_id", sa.BigInteger(), nullable=True))
    op.add_column("outbox", sa.Column("queue", sa.Text(), nullable=True))
    # Whoever writes a row names the job alone; what follows from it is not left to the writer.
    op.execute("""
CREATE FUNCTION fill_outbox() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    SELECT t.run_id, j.queue INTO NEW.run_id, NEW.queue
    FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id;
    RETURN NEW;
END $$
""")
    op.execute("CREATE TRIGGER fill BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION fill_outbox()")
    op.execute(
        "UPDATE outbox o SET run_id = t.run_id, queue = j.queue FROM jobs j JOIN tasks t ON t.id = j.task_id "
        "WHERE j.id = o.job_id"
    )
    op.alter_column("outbox", "run_id", nullable=False)
    op.alter_column("outbox", "queue", nullable=False)
    op.create_index("ix_outbox_share", "outbox", ["queue", "run_id", "id"])


def downgrade() -> None:
    op.drop_index("ix_outbox_share", "outbox")
    op.execute("DROP TRIGGER fill ON outbox")
    op.execute("DROP FUNCTION fill_outbox()")
    op.drop_column("outbox", "queue")
    op.drop_column("outbox", "run_id")
    op.drop_column("runs", "priority")

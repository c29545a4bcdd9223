"""A worker changes jobs through functions alone; what each role may do is granted after the migrations (schema.roles)."""

import sqlalchemy as sa
from alembic import op

from schema import roles
from schema.migrations import claiming

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("claim_hash", sa.LargeBinary(), nullable=True))
    for statement in claiming.install(roles.home_schema(op.get_bind())):
        # To SQLAlchemy's text, a colon begins a parameter; to the driver, a per cent sign does.
        op.get_bind().exec_driver_sql(statement.replace("%", "%%"))


def downgrade() -> None:
    roles.remove(op.get_bind())
    for statement in claiming.remove(roles.home_schema(op.get_bind())):
        op.execute(statement)
    op.drop_column("jobs", "claim_hash")

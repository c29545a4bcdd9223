"""What the rows of a revision point to is asked once a statement, not once a row."""

from alembic import op

from schema.migrations import references

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for one in references.REFERENCES:
        op.drop_constraint(one.name, one.table, type_="foreignkey")
    for statement in references.install():
        op.execute(statement)


def downgrade() -> None:
    for statement in references.remove():
        op.execute(statement)
    for one in references.REFERENCES:
        op.create_foreign_key(
            one.name,
            one.table,
            one.parent,
            list(one.columns),
            list(one.parent_columns),
            ondelete=one.ondelete,
        )

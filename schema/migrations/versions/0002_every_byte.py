"""The snippet store keeps every byte, and a revision is sealed with its transaction."""

import sqlalchemy as sa
from alembic import op

from schema.migrations import history, sealing

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Rule D8 as far as one expression goes: the alphabet, no empty tree node, as many opened as closed.
GRAMMAR = (
    "position_key ~ '^[-.0-9A-Za-z]+$' AND strpos(position_key, '.-') = 0 AND "
    "length(replace(position_key, '.', '')) = length(replace(position_key, '-', ''))"
)


def upgrade() -> None:
    op.add_column("snippets", sa.Column("raw", sa.LargeBinary(), nullable=True))
    op.create_check_constraint(op.f("ck_snippets_position_key_grammar"), "snippets", GRAMMAR)
    for statement in sealing.install():
        op.execute(statement)


def downgrade() -> None:
    for statement in sealing.remove(history.GUARD_SNIPPET):
        op.execute(statement)
    op.drop_constraint(op.f("ck_snippets_position_key_grammar"), "snippets", type_="check")
    # The exact bytes of lines that `content` can't hold go with it.
    op.drop_column("snippets", "raw")

"""Alembic's entry: migrations run on the connection that schema.database hands over."""

from alembic import context

from schema.tables import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, compare_type=True)
with context.begin_transaction():
    context.run_migrations()

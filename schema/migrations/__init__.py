"""Alembic migrations: the schema's history, oldest first under versions/."""

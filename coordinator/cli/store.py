"""How reading commands reach the store: a real server, or the embedded one for the length of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from coordinator.local.services import services
from schema.database import Database
from schema.settings import Settings


@contextmanager
def reading() -> Iterator[Session]:
    """One transaction on the store of this folder or of DATABASE_URL."""
    with services(Settings.load()) as found:
        database = Database(found.database_url, pool_size=1)
        try:
            with database.transaction() as session:
                yield session
        finally:
            database.close()

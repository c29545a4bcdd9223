"""Which Postgres and Redis this command uses: real ones by URL, or embedded ones in `.opmend/`.

Embedded servers live as long as somebody uses them. Each user (a command, the supervisor of
`opmend up`) holds a shared lock on `.opmend/services.lock`; the last one to leave stops them. The
kernel drops the lock of a process that dies, so a killed command never keeps servers alive by itself,
and never takes them away from others.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from coordinator.local.postgres import EmbeddedPostgres
from coordinator.local.redis import EmbeddedRedis
from schema.database import Database
from schema.errors import BadInput, BrokerUnavailable
from schema.settings import Settings

BROKER_TIMEOUT = 10.0


@dataclass(frozen=True, kw_only=True)
class Services:
    """Where the servers are.

    Attributes:
        database_url, broker_url: as DATABASE_URL and BROKER_URL for other processes.
        worker_database_url: the same database as workers reach it.
        embedded_postgres, embedded_redis: whether we run them.
    """

    database_url: str
    worker_database_url: str
    broker_url: str | None
    embedded_postgres: bool
    embedded_redis: bool

    def environment(self) -> dict[str, str]:
        """Variables that hand the servers to another process of ours."""
        found = {"DATABASE_URL": self.database_url}
        if self.broker_url is not None:
            found["BROKER_URL"] = self.broker_url
        return found

    def worker_environment(self) -> dict[str, str]:
        """The same for a worker, which is not told how others reach the database."""
        found = {
            "DATABASE_URL": self.worker_database_url,
            "OPMEND_WORKER_DATABASE_URL": self.worker_database_url,
        }
        return {**self.environment(), **found}


def prepare_home(root: Path) -> None:
    """Make the home, private to this user.

    Raises:
        BadInput: it can't be made or written.
    """
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
        (root / "logs").mkdir(mode=0o700, exist_ok=True)
        ignore = root / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise BadInput(
            f"can't write here: {error.strerror}",
            where=str(root),
            mend="choose another folder with OPMEND_HOME",
        ) from error


@contextmanager
def services(settings: Settings, *, broker: bool = False) -> Iterator[Services]:
    """Use the servers for the length of a block; start the embedded ones if nobody has.

    The schema is brought to its newest version before the block begins.

    Args:
        settings: the settings of this command.
        broker: whether Redis is needed too; reading commands need none.

    Raises:
        DatabaseUnavailable, BrokerUnavailable: a server refused or did not start.
    """
    root = settings.root
    if broker and settings.broker_url:
        _check_broker(settings.broker_url)
    postgres = None if settings.database_url else EmbeddedPostgres(root)
    redis = None if settings.broker_url or not broker else EmbeddedRedis(root)
    if postgres is None and redis is None:
        assert settings.database_url is not None
        _migrate(settings.database_url)
        yield Services(
            database_url=settings.database_url,
            worker_database_url=settings.worker_database_url or settings.database_url,
            broker_url=settings.broker_url,
            embedded_postgres=False,
            embedded_redis=False,
        )
        return
    prepare_home(root)
    with open(root / "services.lock", "w") as users:
        with _exclusive(root / "start.lock"):
            # Shared, and taken while nobody can be stopping: from here on the servers stay.
            fcntl.flock(users, fcntl.LOCK_SH)
            if postgres is not None:
                postgres.start()
            if redis is not None:
                redis.start()
            url = postgres.url if postgres else str(settings.database_url)
            _migrate(url)
            # Commands that need no broker start no workers.
            worker_url = settings.worker_database_url or (
                postgres.worker_url() if postgres and broker else url
            )
        try:
            yield Services(
                database_url=url,
                worker_database_url=worker_url,
                broker_url=redis.url if redis else settings.broker_url,
                embedded_postgres=postgres is not None,
                embedded_redis=redis is not None,
            )
        finally:
            _leave(users, root)


def revive(root: Path, found: Services) -> None:
    """Start those embedded servers again that have died; they lose nothing that was committed.

    Args:
        root: their home.
        found: what `services` gave: servers of the user's own are left to the user.

    Raises:
        DatabaseUnavailable, BrokerUnavailable: one does not start; another try may help.
    """
    postgres, redis = EmbeddedPostgres(root), EmbeddedRedis(root)
    dead_postgres = found.embedded_postgres and not postgres.running()
    dead_redis = found.embedded_redis and not redis.running()
    if not dead_postgres and not dead_redis:
        return
    with _exclusive(root / "start.lock"):
        if dead_postgres:
            postgres.start()
        if dead_redis:
            redis.start()


def _leave(users: IO[str], root: Path) -> None:
    with _exclusive(root / "start.lock"):
        fcntl.flock(users, fcntl.LOCK_UN)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # others still use them
        EmbeddedRedis(root).stop()
        EmbeddedPostgres(root).stop()


def _check_broker(url: str) -> None:
    # Without it a run would be stored, and wait for ever on jobs that nobody can publish.
    from kombu import Connection
    from kombu.exceptions import OperationalError
    from redis.exceptions import RedisError

    options = {"socket_connect_timeout": BROKER_TIMEOUT, "socket_timeout": BROKER_TIMEOUT}
    try:
        with Connection(url, transport_options=options) as connection:
            connection.default_channel.client.ping()
    except (OperationalError, RedisError, OSError) as error:
        raise BrokerUnavailable(
            f"Redis does not answer: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            where=Connection(url).as_uri(),
            mend="start it, or correct BROKER_URL; without that variable opmend starts its own (`opmend up`)",
        ) from error
    except (KeyError, ValueError, TypeError, AttributeError, ImportError) as error:
        raise BadInput(
            f"BROKER_URL names no Redis ({type(error).__name__})", mend="give it as redis://HOST:PORT/NUMBER"
        ) from error


def _migrate(url: str) -> None:
    database = Database(url, pool_size=1)
    try:
        database.migrate()
    finally:
        database.close()


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

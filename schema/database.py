"""The one way to reach Postgres: an engine, transactions, migrations."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from select import POLLIN, poll

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, InternalError, OperationalError
from sqlalchemy.orm import Session

from schema import roles
from schema.errors import BadInput, DatabaseUnavailable

READ_ONLY, DISK_FULL = "25006", "53100"  # SQLSTATE: read_only_sql_transaction, disk_full
_REFUSALS = {
    READ_ONLY: "point DATABASE_URL at the primary, or unset default_transaction_read_only; nothing was written",
    DISK_FULL: "make room on the server's disk; nothing was written, and what was under way goes on by itself",
}


def sqlalchemy_url(url: str) -> str:
    """Accept postgres://, postgresql:// and postgresql+psycopg:// alike.

    Raises:
        BadInput: not a Postgres URL.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise BadInput(
            "DATABASE_URL does not parse", mend="write postgresql://user@host:5432/name"
        ) from error
    if parsed.drivername not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise BadInput(
            f"DATABASE_URL names {parsed.drivername!r}",
            mend="opmend needs Postgres: postgresql://user@host:5432/name",
        )
    return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def newest_version() -> str:
    """The version of the schema that this code is written for: the last migration's."""
    versions = files("schema") / "migrations" / "versions"
    return max(one.name.split("_")[0] for one in versions.iterdir() if one.name[:1].isdigit())


def _version(connection: Connection) -> str | None:
    """Which version the schema has; None before the first migration."""
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar_one() is None:
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return None if found is None else str(found)


def _ask_if_dropped(connection: psycopg.Connection[object], *_: object) -> None:
    """Refuse a connection of the pool that the server has closed, at no cost to the others.

    A server that ends says so, and what it says lies in the socket: a silent one is open. Asking each time, as
    `pool_pre_ping` does, would be a round trip more for every transaction. One that fell silent with its cable fails
    its transaction either way.
    """
    try:
        waiting = poll()
        waiting.register(connection.fileno(), POLLIN)
        if waiting.poll(0):
            connection.execute("")
            connection.rollback()
    except (psycopg.Error, OSError) as error:
        raise DisconnectionError from error


class Database:
    """A Postgres with opmend's schema.

    Args:
        url: a Postgres URL; it may hold a password and is never printed whole.
        pool_size: connections kept open by this process.
    """

    def __init__(self, url: str, *, pool_size: int = 5) -> None:
        self.url = sqlalchemy_url(url)
        self.engine: Engine = create_engine(
            self.url,
            pool_size=pool_size,
            connect_args={"connect_timeout": 10},
        )
        # Servers restart under us; a stale connection must not fail a job.
        event.listen(self.engine, "checkout", _ask_if_dropped)

    def __str__(self) -> str:
        return make_url(self.url).render_as_string(hide_password=True)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """One transaction: committed at the end, rolled back on any exception.

        Raises:
            DatabaseUnavailable: Postgres refused or broke the connection, is read-only, or has no disk left.
        """
        try:
            with Session(self.engine, expire_on_commit=False) as session, session.begin():
                yield session
        except (OperationalError, InternalError) as error:
            raise self._unavailable(error) from error

    def check(self) -> str:
        """The server's version.

        Raises:
            DatabaseUnavailable: Postgres refused the connection.
        """
        try:
            with self.engine.connect() as connection:
                return str(connection.execute(text("SHOW server_version")).scalar_one())
        except OperationalError as error:
            raise self._unavailable(error) from error

    def migrate(self) -> None:
        """Bring the schema to the newest version. Safe to call from several processes at once."""
        try:
            with self.engine.connect() as connection:
                if _version(connection) == newest_version():
                    return
        except OperationalError as error:
            raise self._unavailable(error) from error
        # Every command calls this, and almost none has anything to migrate.
        import alembic.command
        import alembic.config

        try:
            with as_file(files("schema") / "migrations") as scripts, self.engine.connect() as connection:
                config = alembic.config.Config()
                config.set_main_option("script_location", str(scripts).replace("%", "%%"))
                config.attributes["connection"] = connection
                # Two commands may start at once; the second one waits here and finds nothing to do.
                connection.execute(text("SELECT pg_advisory_lock(hashtext('opmend migrations'))"))
                connection.commit()
                try:
                    alembic.command.upgrade(config, "head")
                    connection.commit()
                    roles.install(connection)
                    connection.commit()
                finally:
                    connection.execute(text("SELECT pg_advisory_unlock(hashtext('opmend migrations'))"))
                    connection.commit()
        except (OperationalError, InternalError) as error:
            raise self._unavailable(error) from error

    def grant_roles(self) -> bool:
        """Put the roles in force if they are not; returns whether they are.

        Raises:
            DatabaseUnavailable: Postgres refused the connection or broke it.
        """
        with self._connected() as connection:
            return not roles.missing(connection) or roles.install(connection)

    def make_login(self, role: str, password: str) -> str:
        """A login of a role of this database, with this password from now on; returns its name.

        Raises:
            DatabaseUnavailable: Postgres refused the connection or broke it.
        """
        with self._connected() as connection:
            return roles.make_login(connection, role, password)

    def missing_roles(self) -> list[str]:
        """The roles of opmend that are not in force here."""
        with self._connected() as connection:
            return roles.missing(connection)

    def in_force(self) -> str:
        """As whom this process is here, and under which role of opmend, for people."""
        with self._connected() as connection:
            return roles.in_force(connection)

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self.engine.begin() as connection:
                yield connection
        except (OperationalError, InternalError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: OperationalError | InternalError) -> DatabaseUnavailable:
        cause = str(error.orig).strip().splitlines()
        state = getattr(error.orig, "sqlstate", None)
        if isinstance(error, InternalError) and state != READ_ONLY:
            raise error  # no refusal, but a fault of ours
        if state in _REFUSALS:
            return DatabaseUnavailable(
                f"Postgres refuses to write: {cause[0]}", where=str(self), mend=_REFUSALS[state]
            )
        return DatabaseUnavailable(
            f"Postgres does not answer: {cause[0] if cause else 'no reason given'}",
            where=str(self),
            mend="start it, or correct DATABASE_URL; without that variable opmend starts its own (`opmend up`)",
        )

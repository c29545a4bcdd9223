"""The schema as it is in a real Postgres."""

import pathlib
from importlib.resources import as_file, files

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, InternalError

from schema.blobs import get_tree, put_tree, tree_digest
from schema.database import Database, newest_version, sqlalchemy_url
from schema.errors import BadInput, DatabaseUnavailable, NotFound
from schema.migrations import history, sealing
from schema.tables import Base, Event
from tests.support.tasks import bare_task


def make_task(database: Database, name: str = "Add") -> int:
    with database.transaction() as session:
        return bare_task(session, name)


def test_migrations_and_models_agree(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_every_key_column_sorts_by_bytes(database: Database) -> None:
    with database.engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT table_name, column_name, collation_name FROM information_schema.columns "
                "WHERE table_schema = 'public' AND column_name LIKE '%key' AND column_name <> 'alembic'"
            )
        ).all()
    assert len(rows) >= 4
    assert {row.collation_name for row in rows} == {"C"}


def test_history_can_not_be_rewritten(database: Database) -> None:
    task = make_task(database)
    with database.transaction() as session:
        session.execute(
            text(
                "INSERT INTO events (task_id, sequence, kind, data, at, previous_hash, hash) "
                "VALUES (:task, 1, 'x', '{}', now(), '', 'h')"
            ),
            {"task": task},
        )
    for statement in ("UPDATE events SET kind = 'y'", "DELETE FROM events", "TRUNCATE events"):
        with pytest.raises(IntegrityError, match="append-only"), database.transaction() as session:
            session.execute(text(statement))
    with database.transaction() as session:
        assert session.get(Event, (task, 1)).kind == "x"


def test_every_append_only_table_has_its_triggers(database: Database) -> None:
    with database.engine.connect() as connection:
        triggers = set(
            connection.execute(text("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")).scalars()
        )
    for table in (*history.APPEND_ONLY, *sealing.APPEND_ONLY):
        assert {f"{table}_append_only", f"{table}_no_truncate"} <= triggers


def test_trees_come_back_byte_for_byte(database: Database) -> None:
    files = {"kernel/a.cpp": "int x;\r\n\x0c\u2028end", "b": "", "c": "\n\n"}
    with database.transaction() as session:
        key = put_tree(session, files)
        assert key == put_tree(session, dict(reversed(files.items()))) == tree_digest(files)
    with database.transaction() as session:
        assert get_tree(session, key) == files
        with pytest.raises(NotFound):
            get_tree(session, "0" * 64)


def test_a_database_that_refuses_says_what_where_and_how(tmp_path: pathlib.Path) -> None:
    refused = Database(f"postgresql://nobody:secret@/x?host={tmp_path}")
    with pytest.raises(DatabaseUnavailable) as caught:
        refused.check()
    assert "secret" not in str(caught.value)
    assert "DATABASE_URL" in str(caught.value)
    with pytest.raises(BadInput):
        sqlalchemy_url("mysql://x/y")


def test_a_read_only_database_refuses_in_one_line(database: Database, database_url: str) -> None:
    name = database_url.partition("?")[0].rpartition("/")[2]
    with database.transaction() as session:
        session.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    standby = Database(database_url)
    with pytest.raises(DatabaseUnavailable) as caught, standby.transaction() as session:
        bare_task(session)
    assert "read-only" in str(caught.value)
    assert "primary" in str(caught.value)
    with standby.transaction() as session:
        assert session.execute(text("SELECT count(*) FROM tasks")).scalar_one() == 0  # reading goes on
    standby.close()


def test_a_fault_of_ours_is_not_taken_for_a_refusal(database: Database) -> None:
    with pytest.raises(InternalError), database.transaction() as session:
        session.execute(text("DO $$ BEGIN RAISE internal_error; END $$"))


def test_the_newest_version_is_alembic_s(database: Database) -> None:
    with as_file(files("schema") / "migrations") as scripts:
        assert ScriptDirectory(str(scripts)).get_heads() == [newest_version()]
    with database.engine.connect() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == newest_version()


def test_a_connection_that_the_server_ended_fails_no_transaction(database: Database) -> None:
    def process() -> int:
        with database.transaction() as session:
            return int(session.execute(text("SELECT pg_backend_pid()")).scalar_one())

    before = process()
    assert process() == before
    other = Database(database.url)
    with other.transaction() as session:
        # Waits until it has ended.
        ending = text("SELECT pg_terminate_backend(:process, 10000)")
        assert session.execute(ending, {"process": before}).scalar_one()
    other.close()
    assert process() != before

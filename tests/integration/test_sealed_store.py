"""What the database itself refuses: raw SQL by the owner of the tables, who is a superuser as well."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from schema.benchmarks import benchmark_id
from schema.database import Database
from schema.describing import describe
from schema.migrations import history, sealing
from schema.snippets import FailureCause, read_files, write_revision
from schema.tables import Base
from tests.support.tasks import bare_task

STATES = (
    {"a.cpp": "head();\ncompute_first(alpha);\ntail\udcff\n", "gone.cpp": "x\n"},
    {"a.cpp": "head();\ncompute_first(beta);\ntail\udcff\n"},
    {"a.cpp": "head();\ncompute_first(gamma);\ntail\udcff\nmore();\n"},
)


@pytest.fixture
def task(database: Database) -> int:
    with database.transaction() as session:
        row = bare_task(session)
        for number, files in enumerate(STATES):
            case = benchmark_id(session, task_id=row, name="float16[7]", kind="case", spec={})
            write_revision(
                session,
                task_id=row,
                round=number,
                files=files,
                cause="session" if number else "initial",
                failures=[FailureCause(benchmark_id=case, output="got nan")] if number else [],
                explanation="the tail" if number else "",
            )
        return row


def refused(database: Database, statements: tuple[str, ...], said: str) -> None:
    for statement in statements:
        with pytest.raises(DBAPIError, match=said), database.transaction() as session:
            session.execute(text(statement))


def whole(database: Database, task: int) -> None:
    with database.transaction() as session:
        assert [read_files(session, task, revision=number) for number in range(3)] == [
            dict(sorted(files.items())) for files in STATES
        ]


def test_content_keys_and_history_of_a_line_can_not_change(database: Database, task: int) -> None:
    change = "UPDATE snippets SET {} WHERE disabled_revision IS NULL"
    refused(
        database,
        tuple(
            change.format(part)
            for part in (
                "content = 'z'",
                "raw = CASE WHEN raw IS NULL THEN 'x'::bytea END",
                "raw = 'z'",
                "position_key = position_key || '1'",
                "file_id = file_id + 1",
                "created_revision = created_revision - 1",
                "created_round = 7",
                "scope = 'f'",
                "node_kind = 'x'",
                "scope = '', node_kind = '', disabled_revision = 3, disabled_round = 3",
                "scope = '', node_kind = '', content = 'z'",
                "content = 'z', disabled_revision = 3, disabled_round = 3",
                "raw = 'z', disabled_revision = 3, disabled_round = 3",
            )
        ),
        "can not change",
    )
    refused(database, (change.format("disabled_revision = NULL"),), "the only change is to disable it")
    refused(
        database,
        (
            "INSERT INTO snippets SELECT file_id, position_key, 'z', created_revision, created_round FROM snippets "
            "WHERE disabled_revision IS NULL LIMIT 1 ON CONFLICT (file_id, position_key) DO UPDATE SET content = 'z'",
        ),
        "can not change",
    )
    whole(database, task)


def test_where_a_line_stands_is_told_once(database: Database, task: int) -> None:
    alive = "WHERE disabled_revision IS NULL"
    with database.transaction() as session:
        assert describe(session, task) == 4
    refused(
        database,
        (
            f"UPDATE snippets SET scope = NULL, node_kind = NULL {alive}",
            f"UPDATE snippets SET node_kind = NULL {alive}",
            f"UPDATE snippets SET scope = 'f', node_kind = 'x' {alive}",
        ),
        "it is told once",
    )
    refused(
        database,
        ("UPDATE snippets SET scope = '', node_kind = '' WHERE disabled_revision IS NOT NULL",),
        "is a tombstone already",
    )
    with database.transaction() as session:
        assert describe(session, task) == 0
    whole(database, task)


def test_a_line_becomes_a_tombstone_once(database: Database, task: int) -> None:
    dead = "WHERE disabled_revision IS NOT NULL"
    refused(
        database,
        (
            f"UPDATE snippets SET disabled_revision = NULL, disabled_round = NULL {dead}",
            f"UPDATE snippets SET disabled_revision = disabled_revision + 1 {dead}",
            f"UPDATE snippets SET disabled_round = 9 {dead}",
            f"UPDATE snippets SET scope = scope {dead}",
        ),
        "is a tombstone already",
    )
    whole(database, task)


def test_no_line_leaves_a_revision_that_is_sealed(database: Database, task: int) -> None:
    alive = "WHERE disabled_revision IS NULL AND created_revision = 0"
    refused(
        database,
        (
            f"UPDATE snippets SET disabled_revision = 1, disabled_round = 1 {alive}",
            f"UPDATE snippets SET disabled_revision = 2, disabled_round = 2 {alive}",
            f"UPDATE snippets SET disabled_revision = 3, disabled_round = 3 {alive}",
        ),
        "is sealed",
    )
    refused(database, (f"UPDATE snippets SET disabled_revision = 2 {alive}",), "disabled_revision_and_round")
    refused(
        database,
        (f"UPDATE snippets SET disabled_revision = 0, disabled_round = 0 {alive}",),
        "disabled_after_created",
    )
    whole(database, task)


REVISION = "INSERT INTO revisions (task_id, revision, round, cause, tree) "
INSERT = "INSERT INTO snippets (file_id, position_key, content, created_revision, created_round{}) "


@pytest.mark.parametrize(("revision", "round"), [(0, 0), (1, 1), (2, 2), (3, 3), (2, 1), (-1, 0)])
def test_no_line_joins_a_revision_that_is_sealed(
    database: Database, task: int, revision: int, round: int
) -> None:
    refused(
        database,
        (INSERT.format("") + f"SELECT min(id), 'zz', 'late', {revision}, {round} FROM files",),
        f"snippets: revision {revision} .* is sealed",
    )
    whole(database, task)


def into_an_open_revision(database: Database, statement: str, **values: str) -> None:
    with database.transaction() as session:
        session.execute(text(REVISION + "SELECT max(task_id), 3, 3, 'x', 't' FROM revisions"))
        session.execute(text(statement), values)


def test_no_line_is_born_a_tombstone(database: Database, task: int) -> None:
    columns = INSERT.format(", disabled_revision, disabled_round")
    with pytest.raises(DBAPIError, match="born a tombstone"):
        into_an_open_revision(database, columns + "SELECT min(id), 'zz', 'x', 3, 3, 4, 3 FROM files")
    into_an_open_revision(database, INSERT.format("") + "SELECT min(id), 'zz', 'x', 3, 3 FROM files")


def test_nothing_is_told_of_a_sealed_revision_later(database: Database, task: int) -> None:
    refused(
        database,
        (
            "INSERT INTO lineage (child_file_id, child_key, parent_file_id, parent_key, kind) "
            "SELECT c.file_id, c.position_key, p.file_id, p.position_key, 'moved' FROM snippets c, snippets p "
            "WHERE c.created_revision = 2 AND p.created_revision = 0",
            "INSERT INTO snippet_failures (file_id, position_key, revision, round, benchmark_id, failure_output) "
            "SELECT s.file_id, s.position_key, 0, 0, b.id, 'late' FROM snippets s, benchmarks b "
            "WHERE s.created_revision = 0",
            "INSERT INTO snippet_explanations (task_id, revision, round, explanation, entry_ids, direction, model) "
            "SELECT task_id, revision, round, 'late', '{}', '', '' FROM revisions WHERE revision = 0",
        ),
        "is sealed",
    )


EDGE = "INSERT INTO lineage (child_file_id, child_key, parent_file_id, parent_key, kind) "
FAILURE = (
    "INSERT INTO snippet_failures (file_id, position_key, revision, round, benchmark_id, failure_output) "
)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (INSERT.format("") + "VALUES (4711, 'V', 'x', 3, 3)", "files that is not there: file_id = 4711"),
        (
            EDGE + "SELECT file_id, 'nokey', file_id, position_key, 'moved' FROM snippets LIMIT 1",
            "there: child_file_id, child_key = .*, nokey",
        ),
        (
            EDGE + "SELECT 4711, position_key, file_id, position_key, 'moved' FROM snippets LIMIT 1",
            "there: child_file_id, child_key = 4711",
        ),
        (
            EDGE + "SELECT file_id, position_key, file_id, 'nokey', 'moved' FROM snippets LIMIT 1",
            "there: parent_file_id, parent_key = .*, nokey",
        ),
        (
            FAILURE + "SELECT s.file_id, 'nokey', 3, 3, b.id, 'x' FROM snippets s, benchmarks b LIMIT 1",
            "snippets that is not there: file_id, position_key = .*, nokey",
        ),
        (
            FAILURE + "SELECT file_id, position_key, 3, 3, 4711, 'x' FROM snippets LIMIT 1",
            "benchmarks that is not there: benchmark_id = 4711",
        ),
    ],
)
def test_a_row_names_only_what_is_there(database: Database, task: int, statement: str, said: str) -> None:
    with pytest.raises(IntegrityError, match=said):
        into_an_open_revision(database, statement)
    whole(database, task)


def test_one_stray_row_among_good_ones_is_found(database: Database, task: int) -> None:
    with pytest.raises(IntegrityError, match="benchmark_id = 4711"):
        into_an_open_revision(
            database,
            FAILURE + "SELECT file_id, position_key, 3, 3, b, 'x' FROM snippets, "
            "(SELECT id FROM benchmarks UNION ALL SELECT 4711) AS b (b)",
        )
    whole(database, task)


def test_revisions_count_on(database: Database, task: int) -> None:
    insert = REVISION + "SELECT max(task_id), {}, {}, 'x', 't' FROM revisions"
    refused(
        database, tuple(insert.format(number, 2) for number in (-1, 0, 1, 2, 4, 100)), "is not the next one"
    )
    refused(database, (insert.format(3, 1),), "goes back to round 1")
    with database.transaction() as session:
        # The time is the database's own, whatever the statement says.
        session.execute(
            text(
                "INSERT INTO revisions (task_id, revision, round, cause, tree, created_at) "
                "VALUES (:task, 3, 2, 'x', 't', '2001-01-01')"
            ),
            {"task": task},
        )
        found = session.execute(
            text("SELECT created_at = transaction_timestamp() FROM revisions WHERE revision = 3")
        )
        assert found.scalar_one()


@pytest.mark.parametrize("table", sorted({*history.APPEND_ONLY, *sealing.APPEND_ONLY, "snippets"}))
def test_no_row_of_history_goes_away(database: Database, task: int, table: str) -> None:
    column = list(Base.metadata.tables[table].columns)[1].name
    with database.transaction() as session:
        filled = session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
    refused(
        database,
        (f"TRUNCATE {table}", f"TRUNCATE {table} CASCADE"),
        "append-only|referenced in a foreign key",
    )
    if filled:
        refused(database, (f"DELETE FROM {table}",), "append-only")
        refused(
            database, (f"UPDATE {table} SET {column} = {column}",), "append-only|tombstone|the only change"
        )
    whole(database, task)


def test_the_tables_around_can_not_take_history_with_them(database: Database, task: int) -> None:
    refused(database, ("TRUNCATE tasks CASCADE", "TRUNCATE runs CASCADE"), "append-only")
    refused(database, ("DELETE FROM tasks", "UPDATE tasks SET id = DEFAULT"), "foreign key")
    whole(database, task)


def test_keys_that_break_the_grammar_are_refused(database: Database, task: int) -> None:
    for key, said in (
        ("", "position_key_"),
        ("V" * 1_001, "position_key_length"),
        ("a b", "position_key_grammar"),
        ("ä", "position_key_grammar"),
        ("V.-", "position_key_grammar"),
        ("V.a", "position_key_grammar"),
        ("Va-", "position_key_grammar"),
    ):
        with pytest.raises(DBAPIError, match=said):
            into_an_open_revision(
                database, INSERT.format("") + "SELECT min(id), :key, 'x', 3, 3 FROM files", key=key
            )


def test_what_belongs_to_an_open_revision_is_taken(database: Database, task: int) -> None:
    with database.transaction() as session, session.begin_nested():
        # Also inside a savepoint, as the driver writes candidates.
        write_revision(session, task_id=task, round=3, files={"b.cpp": "new\n"}, cause="session")
    with database.transaction() as session:
        assert read_files(session, task) == {"b.cpp": "new\n"}


def test_the_migration_goes_down_and_up_again(database: Database, task: int) -> None:
    import alembic.command
    from alembic.config import Config

    with database.engine.connect() as connection:
        config = Config()
        config.set_main_option("script_location", "schema:migrations")
        config.attributes["connection"] = connection
        alembic.command.downgrade(config, "0001")
        connection.commit()
    with database.engine.connect() as connection:
        names = (
            connection.execute(text("SELECT proname FROM pg_proc WHERE proname LIKE 'opmend_%'"))
            .scalars()
            .all()
        )
        assert sorted(names) == ["opmend_guard_snippet", "opmend_refuse"]
    database.migrate()
    with database.transaction() as session:
        # The exact bytes went with the column; all else is there.
        assert read_files(session, task, revision=1) == {
            path: content.replace("\udcff", "\ufffd") for path, content in STATES[1].items()
        }
    refused(database, ("UPDATE snippets SET raw = 'z'",), "can not change|tombstone")

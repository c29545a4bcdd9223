"""What a process knows of its last revision changes no row: not with other writers, and not after a rollback."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from schema.benchmarks import benchmark_id
from schema.database import Database
from schema.describing import describe
from schema.errors import BadInput, NotFound
from schema.last_states import KEPT_BYTES, KEPT_TASKS, LastState, LiveRows, Stamp, forget, recall, remember
from schema.snippets import FAILURE_CHARACTERS, FailureCause, read_files, write_revision
from tests.support.tasks import bare_task

State = dict[str, str]


@pytest.fixture(autouse=True)
def knowing_nothing() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.fixture
def other(database_url: str) -> Iterator[Database]:
    """The same database by another address: what is known under one is not known under the other."""
    join = "&" if "?" in database_url else "?"
    database = Database(f"{database_url}{join}application_name=other")
    yield database
    database.close()


def new_task(database: Database) -> int:
    with database.transaction() as session:
        return bare_task(session)


def write(session: Session, task: int, files: State, number: int, restores: int | None = None) -> int:
    case = benchmark_id(session, task_id=task, name="float16[7]", kind="case", spec={})
    return write_revision(
        session,
        task_id=task,
        round=number,
        files=files,
        cause="restore" if restores is not None else "session",
        failures=[FailureCause(benchmark_id=case, output="nan at [6]")],
        explanation=f"why {number}",
        restores=restores,
    )


# File ids are those of the task: told by path, two tasks are comparable.
ROWS = {
    "snippets": """
        SELECT f.path, s.position_key, s.content, s.raw, s.created_revision, s.created_round, s.disabled_revision,
               s.disabled_round, s.scope, s.node_kind
        FROM snippets s JOIN files f ON f.id = s.file_id WHERE f.task_id = :task ORDER BY 1, 2""",
    "lineage": """
        SELECT f.path, e.child_key, p.path, e.parent_key, e.kind
        FROM lineage e JOIN files f ON f.id = e.child_file_id JOIN files p ON p.id = e.parent_file_id
        WHERE f.task_id = :task ORDER BY 1, 2, 3, 4, 5""",
    "failures": """
        SELECT f.path, e.position_key, e.revision, e.round, e.failure_output
        FROM snippet_failures e JOIN files f ON f.id = e.file_id WHERE f.task_id = :task ORDER BY 1, 2, 3""",
    "revisions": "SELECT revision, round, cause, tree FROM revisions WHERE task_id = :task ORDER BY 1",
    "explanations": "SELECT revision, explanation FROM snippet_explanations WHERE task_id = :task ORDER BY 1",
    "files": "SELECT path FROM files WHERE task_id = :task ORDER BY 1",
}


def stored(database: Database, task: int) -> dict[str, list[tuple[object, ...]]]:
    with database.transaction() as session:
        return {
            name: [tuple(row) for row in session.execute(text(query), {"task": task})]
            for name, query in ROWS.items()
        }


LINE = st.sampled_from(
    [
        "{\n", "}\n", "\n", "void f() {\n", "  g(alpha, beta);\n", "  return alpha + 1;\n", "int x = 3;\n", "end",
        "  another_statement_of_some_length(alpha, beta);\n", "  a_third_one_that_can_move_elsewhere(gamma);\n",
    ]
)  # fmt: skip
CONTENT = st.lists(LINE, max_size=12).map("".join)
FILES = st.dictionaries(st.sampled_from(["a.cpp", "b.py", "lib/c.cpp"]), CONTENT, max_size=3)
# A state, who writes it (the second one by the other address), and what was written and rolled back before it.
STEP = st.tuples(
    FILES,
    st.booleans(),
    st.sampled_from(["nothing", "here", "there", "savepoint", "twice"]),
    FILES,
    st.booleans(),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=1, max_size=7))
def test_with_it_and_without_the_store_holds_the_same_rows(
    database: Database, other: Database, steps: list[tuple[State, bool, str, State, bool]]
) -> None:
    plain, known = new_task(database), new_task(database)
    for number, (files, _, _, _, again) in enumerate(steps):
        forget()
        with database.transaction() as session:
            write(session, plain, files, number, 0 if again and number else None)
        forget()
        with database.transaction() as session:
            describe(session, plain)
    forget()
    for number, (files, elsewhere, failing, draft, again) in enumerate(steps):
        writer, neighbour = (other, database) if elsewhere else (database, other)
        if failing in ("here", "there"):
            # There: who is rolled back does not learn what this number was given to in the end.
            with Session((writer if failing == "here" else neighbour).engine) as session:
                write(session, known, draft, number)
                session.rollback()
        with writer.transaction() as session:
            if failing == "savepoint":
                # The store says in one transaction what it has: the rolled-back revision has the next one's
                # number and time.
                nested = session.begin_nested()
                write(session, known, draft, number)
                nested.rollback()
            if failing == "twice":
                nested = session.begin_nested()
                write(session, known, draft, number)
                write(session, known, files, number)
                nested.rollback()
            assert write(session, known, files, number, 0 if again and number else None) == number
        with writer.transaction() as session:
            describe(session, known)
    assert stored(database, known) == stored(database, plain)


def test_it_is_used_and_it_is_current(database: Database) -> None:
    task = new_task(database)
    address = str(database.engine.url)
    for number, content in enumerate(["a\nb\n", "a\nc\nb\n", "c\nb\nd\n"]):
        with database.transaction() as session:
            write(session, task, {"a.cpp": content}, number)
        state = recall(address, task)
        assert state is not None
        assert (state.stamp.revision, state.round) == (number, number)
        rows = state.files["a.cpp"]
        assert "".join(rows.lines) == content
        with database.transaction() as session:
            keys = session.execute(
                text(
                    "SELECT position_key, disabled_revision IS NULL FROM snippets WHERE file_id = :id "
                    "ORDER BY position_key"
                ),
                {"id": rows.file_id},
            ).all()
        assert list(rows.keys) == [key for key, live in keys if live]
        assert rows.every is not None
        assert list(rows.every) == [key for key, _ in keys]


def test_a_process_that_did_not_write_the_first_revision_comes_to_know_all_keys(
    database: Database, other: Database
) -> None:
    task = new_task(database)
    for number, (writer, content) in enumerate(
        [(database, "a\nb\n"), (database, "x\nb\n"), (other, "y\nb\n"), (other, "z\nb\n")]
    ):
        with writer.transaction() as session:
            write(session, task, {"a.cpp": content}, number)
    state = recall(str(other.engine.url), task)
    assert state is not None
    assert len(state.files["a.cpp"].every or ()) == 5
    assert len(state.files["a.cpp"].keys) == 2


def test_two_processes_at_once_take_turns(database: Database, other: Database) -> None:
    task = new_task(database)
    with database.transaction() as session:
        write(session, task, {"a.cpp": "start\n"}, 0)
    failed: list[BaseException] = []

    def work(writer: Database, name: str) -> None:
        try:
            for number in range(12):
                with writer.transaction() as session:
                    write(session, task, {"a.cpp": f"{name} {number}\nstart\n{name}\n" * 3}, 0)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [
        threading.Thread(target=work, args=(writer, name)) for writer, name in ((database, "a"), (other, "b"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with database.transaction() as session:
        trees = session.execute(
            text("SELECT revision, tree FROM revisions WHERE task_id = :task ORDER BY 1"), {"task": task}
        ).all()
        assert [number for number, _ in trees] == list(range(25))
        for number, _ in trees[1:]:
            content = read_files(session, task, revision=number)["a.cpp"]
            assert content in {f"{name} {one}\nstart\n{name}\n" * 3 for name in "ab" for one in range(12)}


def test_errors_are_the_same_with_it(database: Database) -> None:
    task = new_task(database)
    with database.transaction() as session:
        write(session, task, {"a.cpp": "a\n"}, 3)
    with pytest.raises(BadInput, match="round 2 comes after round 3"), database.transaction() as session:
        write(session, task, {"a.cpp": "b\n"}, 2)
    with pytest.raises(NotFound, match="revision 9"), database.transaction() as session:
        write(session, task, {"a.cpp": "b\n"}, 3, restores=9)
    with pytest.raises(NotFound, match="there is no task"), database.transaction() as session:
        write_revision(session, task_id=task + 1, round=0, files={"a": "x\n"}, cause="initial")
    with database.transaction() as session:
        assert write(session, task, {"a.cpp": "b\n"}, 3) == 1


def test_what_the_server_refuses_comes_as_from_any_statement(database: Database) -> None:
    task = new_task(database)
    with database.transaction() as session:
        write(session, task, {"a.cpp": "a\n"}, 0)
    nobody = [FailureCause(benchmark_id=10**9, output="?")]
    with Session(database.engine) as session:
        with pytest.raises(
            DBAPIError, match="names a row of benchmarks that is not there: benchmark_id = 1000000000"
        ):
            write_revision(
                session, task_id=task, round=1, files={"a.cpp": "b\n"}, cause="session", failures=nobody
            )
        session.rollback()
        # The connection is as good as before.
        assert (
            session.execute(text("SELECT count(*) FROM revisions WHERE task_id = :t"), {"t": task}).scalar()
            == 1
        )
        assert write(session, task, {"a.cpp": "c\n"}, 1) == 1
        session.commit()
    with database.transaction() as session:
        assert read_files(session, task) == {"a.cpp": "c\n"}


def test_a_long_failure_goes_to_a_blob(database: Database) -> None:
    task = new_task(database)
    output = "x" * (FAILURE_CHARACTERS + 1)
    for number in range(2):
        with database.transaction() as session:
            case = benchmark_id(session, task_id=task, name="BUILD", kind="build", spec={})
            causes = [FailureCause(benchmark_id=case, output=output)]
            write_revision(
                session, task_id=task, round=0, files={"a": f"{number}\n"}, cause="session", failures=causes
            )
            found = session.execute(
                text("SELECT b.data FROM snippet_failures f JOIN blobs b ON b.digest = f.failure_blob")
            ).scalars()
            assert {bytes(data) for data in found} == {output.encode()}


def state(size: int) -> LastState:
    stamp = Stamp(revision=0, transaction="7", created_at=datetime.now(UTC), tree="")
    rows = LiveRows(file_id=1, keys=["a"], lines=["x" * size], every=["a"])
    return LastState(stamp=stamp, round=0, manifest={}, files={"a": rows})


def test_it_has_bounds() -> None:
    for task in range(KEPT_TASKS + 2):
        remember("one", task, state(10))
    assert [task for task in range(KEPT_TASKS + 2) if recall("one", task)] == list(range(2, KEPT_TASKS + 2))
    assert recall("two", 3) is None
    remember("one", 3, state(KEPT_BYTES + 1))
    assert recall("one", 3) is None
    remember("one", 4, state(KEPT_BYTES // 2 + 1))
    remember("one", 5, state(KEPT_BYTES // 2 + 1))
    assert recall("one", 4) is None
    assert recall("one", 5) is not None

"""Where lines stand in their programs: told behind the commit, told by readers, it is what the files say."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from coordinator.export.source import read_source
from schema.database import Database
from schema.describing import describe
from schema.last_states import MOST_UNDESCRIBED, forget
from schema.lineage import why
from schema.parsing import forget as forget_trees
from schema.reading import read_files, snippets_at
from schema.syntax import syntax_of_lines
from schema.tables import File, Snippet, Task
from tests.support.tasks import bare_task, revise

Files = dict[str, str]

PIECE = st.sampled_from(
    [
        "void f() {\n", "  g(alpha);\n", "}\n", "\n", "class K {\n", "  int Process(int n) {\n", "    return n;\n",
        "  }\n", "};\n", "def f(x):\n", "    return x\n", "namespace a {\n", "odd\udcff\n", "if (",
    ]
)  # fmt: skip
STATES = st.lists(
    st.dictionaries(
        st.sampled_from(["a.cpp", "b.py", "notes.txt"]), st.lists(PIECE, max_size=10).map("".join), max_size=3
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(autouse=True)
def knowing_nothing() -> Iterator[None]:
    forget()
    forget_trees()
    yield
    forget()


def by_file(files: Files) -> list[tuple[str, str, str]]:
    """What a parser that sees the whole file says: path, scope and kind of each line, by path."""
    return [
        (path, line.scope, line.node_kind)
        for path in sorted(files)
        for line in syntax_of_lines(path, files[path])
    ]


def read(session: Session, task: int) -> list[tuple[str, str, str]]:
    return [(one.path, one.scope, one.node_kind) for one in snippets_at(session, task)]


def first_seen(
    states: list[Files], rows: list[tuple[str, str, int, int]]
) -> dict[tuple[str, str], tuple[str, str]]:
    """(path, key) → syntax in the file of the revision that made the row; rows: path, key, made, line there."""
    return {
        (path, key): (line.scope, line.node_kind)
        for path, key, made, index in rows
        for line in [syntax_of_lines(path, states[made][path])[index]]
    }


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=STATES, told=st.lists(st.sampled_from(["now", "later", "elsewhere"]), min_size=5, max_size=5))
def test_whoever_tells_it_and_when_it_is_the_same(
    database: Database, states: list[Files], told: list[str]
) -> None:
    with Session(database.engine) as session:
        task = bare_task(session)
        rows: list[tuple[str, str, int, int]] = []
        for number, (files, when) in enumerate(zip(states, told, strict=False)):
            revise(session, task, number, files)
            for one in snippets_at(session, task):
                if one.created_revision == number:
                    rows.append((one.path, one.position_key, number, one.line - 1))
            if when == "elsewhere":
                forget()
                forget_trees()
            if when != "later":
                describe(session, task)
        truth = first_seen(states, rows)
        for snippet in snippets_at(session, task):
            assert (snippet.scope, snippet.node_kind) == truth[snippet.path, snippet.position_key]
        for snippet in snippets_at(session, task):
            for step in why(session, task, snippet.path, snippet.line).steps:
                assert (step.scope, step.node_kind) == truth[step.path, step.position_key]
        describe(session, task)
        kept = session.execute(
            text(
                "SELECT f.path, s.position_key, s.scope, s.node_kind, s.disabled_revision "
                "FROM snippets s JOIN files f ON f.id = s.file_id WHERE f.task_id = :task"
            ),
            {"task": task},
        ).all()
        for path, key, scope, kind, gone in kept:
            if path == "notes.txt":
                assert (scope, kind) == (None, None)
            elif gone is None:
                assert (scope, kind) == truth[path, key]
            else:
                assert (scope, kind) in {(None, None), truth[path, key]}
        session.rollback()


def test_a_reader_does_not_wait_for_it(database: Database) -> None:
    files = {"a.cpp": "class K {\n  int Process(int n) {\n    return n;\n  }\n};\n", "m.txt": "x\n"}
    with database.transaction() as session:
        task = bare_task(session)
        revise(session, task, 0, files)
        before = read(session, task)
        exported = [
            (one.path, one.scope, one.node_kind)
            for one in read_source(session, session.get_one(Task, task)).lines.all
        ]
        assert before == exported == by_file(files)
        assert before[2] == ("a.cpp", "K::Process", "return_statement")
        assert describe(session, task) == 5
        assert describe(session, task) == 0
        assert read(session, task) == before


def test_a_writer_that_never_tells_keeps_little_and_all_is_told_at_last(database: Database) -> None:
    with database.transaction() as session:
        task = bare_task(session)
        lines = [f"int line_{number} = {number};\n" for number in range(MOST_UNDESCRIBED + 9)]
        for number in range(len(lines)):
            revise(session, task, number, {"a.cpp": "".join(lines[: number + 1])})
        describe(session, task)
        untold = (
            select(func.count()).select_from(Snippet).where(Snippet.scope.is_(None), File.task_id == task)
        )
        assert session.execute(untold.join(File, File.id == Snippet.file_id)).scalar_one() == 0
        assert read(session, task) == by_file(read_files(session, task))


def test_what_was_rolled_back_is_not_told(database: Database) -> None:
    with database.transaction() as session:
        task = bare_task(session)
        revise(session, task, 0, {"a.cpp": "int a = 0;\n"})
    with Session(database.engine) as session:
        revise(session, task, 1, {"a.cpp": "void f() {\n  g();\n}\n"})
        session.rollback()
    with database.transaction() as session:
        assert describe(session, task) == 1
        revise(session, task, 1, {"a.cpp": "int a = 0;\nclass K {};\n"})
        assert describe(session, task) == 1
        assert read(session, task) == [("a.cpp", "", "declaration"), ("a.cpp", "K", "class_specifier")]


def test_it_takes_turns_with_writers(database: Database) -> None:
    """Both lock rows of one file, in orders of their own: without turns they would wait for each other."""
    with database.transaction() as session:
        task = bare_task(session)
        revise(session, task, 0, {"a.cpp": "".join(f"int n{number} = 0;\n" for number in range(60))})
    failed: list[BaseException] = []

    def work(tell: bool) -> None:
        try:
            for number in range(25):
                with database.transaction() as session:
                    if tell:
                        forget()
                        describe(session, task)
                    else:
                        revise(
                            session,
                            task,
                            1,
                            {"a.cpp": "".join(f"int n{one} = {number};\n" for one in range(60))},
                        )
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(tell,)) for tell in (True, False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_of_no_task_and_no_revision_there_is_nothing_to_tell(database: Database) -> None:
    with database.transaction() as session:
        task = bare_task(session)
        assert describe(session, task) == 0
        assert describe(session, task + 1) == 0

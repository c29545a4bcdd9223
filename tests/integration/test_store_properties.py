"""Laws of the snippet store over random edits of several files of arbitrary bytes, and under many writers at once."""

import threading
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.benchmarks import benchmark_id
from schema.blobs import get_tree
from schema.database import Database
from schema.position_keys import are_ascending, is_valid
from schema.snippets import FailureCause, read_files, snippets_at, write_revision
from schema.tables import Revision
from schema.texts import bytes_of, text_of
from tests.support.tasks import bare_task

PATHS = ("a.py", "b.cpp", "lib/a.py", "odd.dat")
LINES = st.one_of(
    st.sampled_from(
        [
            b"{\n", b"}\n", b"\n", b"x\r\n", b"\x0c\n", b"  a_statement_of_some_length(alpha);\n", b"\xff\n",
            b"  another_statement_of_length(beta);\n", "é\u2028\n".encode(), b"\0\n", b"\xc3", b"\xa9\n", b"end",
        ]
    ),
    st.binary(max_size=5),
)  # fmt: skip
CONTENTS = st.lists(LINES, max_size=10).map(b"".join)
State = dict[str, bytes]
Edit = Callable[[State], State]


def replaced(path: str, data: bytes) -> Edit:
    return lambda state: state | {path: data}


def removed(path: str) -> Edit:
    return lambda state: {name: data for name, data in state.items() if name != path}


def renamed(path: str, other: str) -> Edit:
    def edit(state: State) -> State:
        return removed(path)(state) | {other: state[path]} if path in state else state

    return edit


def cut(path: str, start: int, end: int, data: bytes) -> Edit:
    """Bytes of a file give way to others, wherever lines and characters begin."""
    return lambda state: state | {path: state.get(path, b"")[:start] + data + state.get(path, b"")[end:]}


def swapped(path: str, other: str) -> Edit:
    def edit(state: State) -> State:
        return state | {path: state.get(other, b""), other: state.get(path, b"")}

    return edit


PLACES = st.integers(0, 60)
EDITS = st.one_of(
    st.builds(replaced, st.sampled_from(PATHS), CONTENTS),
    st.builds(removed, st.sampled_from(PATHS)),
    st.builds(renamed, st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.builds(swapped, st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.builds(cut, st.sampled_from(PATHS), PLACES, PLACES, CONTENTS),
)
# One or two edits a revision; a revision that changes nothing is one as well.
HISTORIES = st.lists(st.lists(EDITS, max_size=2), min_size=1, max_size=8)


def new_task(session: Session) -> int:
    return bare_task(session)


def as_bytes(files: dict[str, str]) -> State:
    return {path: bytes_of(content) for path, content in files.items()}


def rows(session: Session, task: int) -> dict[tuple[int, str], tuple[object, ...]]:
    found = session.execute(
        text(
            "SELECT s.file_id, s.position_key, s.content, s.raw, s.created_revision, s.created_round, "
            "s.disabled_revision, s.disabled_round, s.scope, s.node_kind "
            "FROM snippets s JOIN files f ON f.id = s.file_id WHERE f.task_id = :task"
        ),
        {"task": task},
    )
    return {(row[0], row[1]): tuple(row[2:]) for row in found}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=HISTORIES, rounds=st.lists(st.integers(0, 1), min_size=8, max_size=8))
def test_whatever_is_edited_every_state_stays(
    database: Database, history: list[list[Edit]], rounds: list[int]
) -> None:
    with Session(database.engine) as session:
        task = new_task(session)
        failing = [
            FailureCause(
                benchmark_id=benchmark_id(session, task_id=task, name=name, kind="case", spec={}), output=name
            )
            for name in ("one", "two")
        ]
        state: State = {}
        states: list[State] = []
        last_of_round: dict[int, State] = {}
        known: dict[tuple[int, str], tuple[object, ...]] = {}
        round = 0
        for number, edits in enumerate(history):
            for edit in edits:
                state = edit(state)
            states.append(state)
            round += rounds[number] if number else 0
            last_of_round[round] = state
            files = {path: text_of(data) for path, data in state.items()}
            revision = write_revision(
                session, task_id=task, round=round, files=files, cause="session", failures=failing
            )
            assert revision == number
            known = check_rows(session, task, known, number, round)
        for number, wanted in enumerate(states):
            assert as_bytes(read_files(session, task, revision=number)) == wanted
            assert as_bytes(get_tree(session, session.get_one(Revision, (task, number)).tree)) == wanted
            check_order(session, task, number, wanted)
        for number, wanted in last_of_round.items():
            assert as_bytes(read_files(session, task, round=number)) == wanted
        check_failures(session, task)
        session.rollback()


def check_rows(
    session: Session,
    task: int,
    before: dict[tuple[int, str], tuple[object, ...]],
    revision: int,
    round: int,
) -> dict[tuple[int, str], tuple[object, ...]]:
    """No row goes, none comes back, and none changes but to become a tombstone of this revision."""
    after = rows(session, task)
    assert before.keys() <= after.keys()
    for key, row in after.items():
        content, raw, created, created_round, disabled, disabled_round, *syntax = row
        if key not in before:
            assert (created, created_round, disabled, disabled_round) == (revision, round, None, None)
        elif before[key] != row:
            assert before[key] == (content, raw, created, created_round, None, None, *syntax)
            assert (disabled, disabled_round) == (revision, round)
    return after


def check_order(session: Session, task: int, revision: int, wanted: State) -> None:
    """Keys ascend along each file, tombstones and all, and lines count on."""
    keys: dict[str, list[str]] = {path: [] for path in wanted}
    for snippet in snippets_at(session, task, revision=revision):
        keys[snippet.path].append(snippet.position_key)
        assert snippet.line == len(keys[snippet.path])
        assert bytes_of(snippet.exact).count(b"\n") <= 1
    for listed in keys.values():
        assert are_ascending(listed)
        assert all(is_valid(key) for key in listed)
        assert len(set(listed)) == len(listed)


def check_failures(session: Session, task: int) -> None:
    """Each line that a revision made, and each that it ended with no successor, names both benchmarks, once."""
    found = Counter(
        (row.file_id, row.position_key, row.revision)
        for row in session.execute(
            text(
                "SELECT x.file_id, x.position_key, x.revision FROM snippet_failures x "
                "JOIN files f ON f.id = x.file_id WHERE f.task_id = :task"
            ),
            {"task": task},
        )
    )
    assert set(found.values()) <= {2}
    parents = {
        (row.parent_file_id, row.parent_key, row.created_revision)
        for row in session.execute(
            text(
                "SELECT l.parent_file_id, l.parent_key, s.created_revision FROM lineage l JOIN snippets s "
                "ON s.file_id = l.child_file_id AND s.position_key = l.child_key "
                "JOIN files f ON f.id = s.file_id WHERE f.task_id = :task AND l.kind IN ('modified', 'moved')"
            ),
            {"task": task},
        )
    }
    expected = set()
    for (file_id, key), row in rows(session, task).items():
        _, _, created, _, disabled, *_ = row
        expected.add((file_id, key, created))
        if disabled is not None and (file_id, key, disabled) not in parents:
            expected.add((file_id, key, disabled))
    assert set(found) == expected


@pytest.fixture
def task(database: Database) -> int:
    with database.transaction() as session:
        return new_task(session)


def at_once(count: int, write: Callable[[int], None]) -> None:
    """Run `write(0)` … at the same moment, each on a connection of its own."""
    faults: list[BaseException] = []
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            ready.wait()
            write(number)
        except BaseException as fault:  # noqa: BLE001  the main thread raises it
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_writers_in_one_gap_of_one_file_all_land(database: Database, task: int) -> None:
    with database.transaction() as session:
        write_revision(session, task_id=task, round=0, files={"a": "head\ntail\n"}, cause="initial")
    writers, turns = 4, 5

    def write(number: int) -> None:
        for turn in range(turns):
            with database.transaction() as session:
                content = f"head\n{number} at {turn}\ntail\n"
                write_revision(session, task_id=task, round=1, files={"a": content}, cause="session")

    at_once(writers, write)
    with database.transaction() as session:
        states = [read_files(session, task, revision=number)["a"] for number in range(1 + writers * turns)]
        assert set(states[1:]) == {f"head\n{w} at {t}\ntail\n" for w in range(writers) for t in range(turns)}
        keys = (
            session.execute(text("SELECT position_key FROM snippets ORDER BY position_key")).scalars().all()
        )
        assert len(set(keys)) == len(keys) == 2 + writers * turns


def test_writers_that_make_the_same_new_files_do_not_collide(database: Database, task: int) -> None:
    with database.transaction() as session:
        write_revision(session, task_id=task, round=0, files={}, cause="initial")

    def write(number: int) -> None:
        with database.transaction() as session:
            # The same blobs and paths in opposite orders.
            paths = [f"f{index}" for index in range(10)]
            files = {path: f"{path}\nshared\n" for path in (paths if number % 2 else reversed(paths))}
            write_revision(session, task_id=task, round=1, files=files, cause="session")

    at_once(4, write)
    with database.transaction() as session:
        assert len({str(read_files(session, task, revision=number)) for number in range(1, 5)}) == 1
        assert session.execute(text("SELECT count(*) FROM files")).scalar_one() == 10


def test_a_writer_that_gives_up_leaves_nothing_behind(database: Database, task: int) -> None:
    with database.transaction() as session:
        write_revision(session, task_id=task, round=0, files={"a": "x\n"}, cause="initial")

    def write(number: int) -> None:
        try:
            with database.transaction() as session:
                write_revision(session, task_id=task, round=1, files={"a": f"{number}\n"}, cause="session")
                if number % 2:
                    raise InterruptedError
        except InterruptedError:
            return

    at_once(4, write)
    with database.transaction() as session:
        assert session.execute(text("SELECT max(revision) FROM revisions")).scalar_one() == 2
        assert session.execute(text("SELECT count(*) FROM snippets")).scalar_one() == 3
        assert {read_files(session, task, revision=number)["a"] for number in (1, 2)} == {"0\n", "2\n"}

"""`opmend verify` on a real store: a task as it was left holds, and each thing broken on purpose is named."""

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, event, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from coordinator.report.faults import FAULT_KINDS, Fault
from coordinator.report.verification import verify_task
from schema.benchmarks import benchmark_id
from schema.database import Database
from schema.snippets import FailureCause, write_revision
from schema.tables import Revision, Task
from tests.support.played import play
from tests.support.tasks import bare_task


@pytest.fixture(scope="module")
def store(postgres: str, template: str) -> Iterator[Database]:
    """One store with two played tasks for the whole module: what a test breaks is rolled back."""
    name = f"verify_{uuid.uuid4().hex[:12]}"
    admin = create_engine(
        make_url(postgres).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", pool_size=1
    )
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    database = Database(make_url(postgres).set(database=name).render_as_string(hide_password=False))
    play(database, "Add", "Sub")
    yield database
    database.close()
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@contextmanager
def broken(store: Database, *statements: str, task: str = "Add") -> Iterator[list[Fault]]:
    """The faults of a task after statements that no trigger and no foreign key hinders; nothing stays."""
    with Session(store.engine) as session:
        found = session.execute(select(Task).where(Task.name == task)).scalar_one()
        session.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in statements:
            changed = session.execute(text(statement))
            assert changed.rowcount or statement.startswith("ALTER"), f"nothing to break: {statement}"
        session.expire_all()
        yield verify_task(session, found)[0]
        session.rollback()


def test_what_was_left_holds(store: Database) -> None:
    with store.transaction() as session:
        for task in session.execute(select(Task)).scalars():
            faults, checked = verify_task(session, task)
            assert faults == []
            assert task.outcome == "passed"
            for words in ("events in an unbroken chain", "4 pieces of evidence", "3 revisions byte for byte"):
                assert words in checked, checked


A_LINE = "(SELECT id FROM files WHERE task_id = 1 AND path = 'kernel/a.cpp')"
MODIFIED = "content = E'copy_pad(n, 32);\\n'"
DELETED = "content = E'int wrong = 1;\\n'"
GONE = f"{DELETED} AND file_id = {A_LINE}"
FIRST_TREE = "(SELECT tree FROM revisions WHERE task_id = 1 AND revision = 1)"
RUNS = "SELECT min(id) FROM benchmark_runs WHERE task_id = 1"

# (kind that must come first, words that must name it, what breaks it)
BREAKS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "an event was changed": (
        "event-chain",
        "event 2",
        ("UPDATE events SET data = data || '{\"verdict\": \"CHEAT\"}' WHERE task_id = 1 AND sequence = 2",),
    ),
    "an event was taken out": ("event-chain", "event 4", ("DELETE FROM events WHERE task_id = 1 AND sequence = 3",)),
    "the last event was taken out": (
        "event-chain",
        "its head says",
        ("DELETE FROM events e USING tasks t WHERE t.id = 1 AND e.task_id = 1 AND e.sequence = t.last_sequence",),
    ),
    "an event of a kind that there is not": (
        "event-chain",
        "does not fit the chain",
        ("UPDATE events SET kind = 'told' WHERE task_id = 1 AND sequence = 2",),
    ),
    "a revision was taken out": (
        "revision",
        "revision 1 is missing",
        ("DELETE FROM revisions WHERE task_id = 1 AND revision = 1",),
    ),
    "the baseline is none": (
        "revision",
        "revision 0",
        ("UPDATE revisions SET cause = 'session' WHERE task_id = 1 AND revision = 0",),
    ),
    "a round goes back": (
        "revision",
        "round 0 comes after round 1",
        ("UPDATE revisions SET round = 0 WHERE task_id = 1 AND revision = 2",),
    ),
    "a revision has another tree": (
        "tree",
        "revision 2, kernel/a.cpp",
        (
            "UPDATE revisions SET tree = (SELECT tree FROM revisions WHERE task_id = 1 AND revision = 1) "
            "WHERE task_id = 1 AND revision = 2",
        ),
    ),
    "a tree manifest was changed": (
        "blob",
        "does not hash",
        (f"UPDATE blobs SET data = data || ' ' WHERE digest = {FIRST_TREE}",),
    ),
    "a tree is gone": (
        "blob",
        "not in the store",
        (f"DELETE FROM blobs WHERE digest = {FIRST_TREE}",),
    ),
    "a file's bytes were changed": (
        "blob",
        "kernel/b.h",
        ("UPDATE blobs SET data = set_byte(data, 3, 65) WHERE convert_from(data, 'UTF8') LIKE '    accumulate%'",),
    ),
    "a file's bytes are gone": (
        "blob",
        "kernel/b.h",
        ("DELETE FROM blobs WHERE convert_from(data, 'UTF8') LIKE '    accumulate%'",),
    ),
    "a blob has another size on record": (
        "blob",
        "size",
        ("UPDATE blobs SET size = size + 1 WHERE convert_from(data, 'UTF8') LIKE '    accumulate%'",),
    ),
    "an extension is gone": (
        "blob",
        "artifact",
        ("DELETE FROM blobs WHERE digest = (SELECT data #>> '{result,artifact}' FROM events "
         "WHERE task_id = 1 AND kind = 'job_finished' AND data #>> '{result,artifact}' IS NOT NULL LIMIT 1)",),
    ),
    "a line was changed": (
        "tree",
        "line 2",
        (f"UPDATE snippets SET content = E'copy_pad(n, 64);\\n' WHERE {MODIFIED} AND file_id = {A_LINE}",),
    ),
    "a line's raw bytes were changed": (
        "tree",
        "line 2",
        (f"UPDATE snippets SET raw = '\\xff0a' WHERE {MODIFIED} AND file_id = {A_LINE}",),
    ),
    "a tombstone was enabled again": (
        "tree",
        "revision 1, kernel/a.cpp",
        (f"UPDATE snippets SET disabled_revision = NULL, disabled_round = NULL WHERE {GONE}",),
    ),
    "a line was slipped in": (
        "tree",
        "revision 2, kernel/a.cpp",
        (
            "INSERT INTO snippets (file_id, position_key, content, created_revision, created_round) "
            f"SELECT {A_LINE}, 'zzz', 'x', 2, 2",
        ),
    ),
    "a line went to a file that no tree has": (
        "tree",
        "kernel/z.h",
        (
            "INSERT INTO files (task_id, path) VALUES (1, 'kernel/z.h')",
            "INSERT INTO snippets (file_id, position_key, content, created_revision, created_round) "
            "SELECT id, 'V', 'x', 1, 1 FROM files WHERE path = 'kernel/z.h'",
        ),
    ),
    "two lines changed places": (
        "tree",
        "revision 0, kernel/a.cpp",
        (
            f"UPDATE snippets SET position_key = position_key || 'zz' WHERE {MODIFIED} AND file_id = {A_LINE}",
            f"UPDATE snippets SET position_key = '0' WHERE content = E'store(n);\\n' AND file_id = {A_LINE}",
        ),
    ),
    "a key breaks the grammar": (
        "position-key",
        "grammar",
        (
            "ALTER TABLE snippets DROP CONSTRAINT IF EXISTS ck_snippets_position_key_grammar",
            f"UPDATE snippets SET position_key = position_key || '!' WHERE {MODIFIED} AND file_id = {A_LINE}",
        ),
    ),
    "a line is of a revision that is not there": (
        "tree",
        "kernel/a.cpp",
        (f"UPDATE snippets SET created_revision = 9 WHERE {MODIFIED} AND file_id = {A_LINE}",),
    ),
    "a line is of another round": (
        "snippet",
        "kernel/a.cpp@",
        (f"UPDATE snippets SET created_round = 2 WHERE {MODIFIED} AND file_id = {A_LINE}",),
    ),
    "a tombstone is of another round": (
        "snippet",
        "kernel/a.cpp@",
        (f"UPDATE snippets SET disabled_round = 2 WHERE {DELETED} AND file_id = {A_LINE}",),
    ),
    "a line ended before it began": (
        "snippet",
        "before or as it was created",
        (
            "ALTER TABLE snippets DROP CONSTRAINT ck_snippets_disabled_after_created",
            f"UPDATE snippets SET disabled_revision = 0, disabled_round = 0 WHERE {MODIFIED} AND file_id = {A_LINE}",
        ),
    ),
    "lineage leads backwards": (
        "lineage",
        "no younger than its parent",
        (
            "UPDATE lineage SET child_file_id = parent_file_id, child_key = parent_key, "
            "parent_file_id = child_file_id, parent_key = child_key "
            "WHERE id = (SELECT min(id) FROM lineage WHERE kind = 'modified')",
        ),
    ),
    "lineage leads to another task": (
        "lineage",
        "task 2",
        (
            "UPDATE lineage SET parent_file_id = (SELECT id FROM files WHERE task_id = 2 AND path = 'kernel/a.cpp') "
            f"WHERE child_file_id = {A_LINE} AND kind = 'modified'",
        ),
    ),
    "lineage leads nowhere": (
        "lineage",
        "not in the store",
        (f"UPDATE lineage SET parent_key = 'nowhere' WHERE child_file_id = {A_LINE} AND kind = 'modified'",),
    ),
    "lineage is of no kind": (
        "lineage",
        "no such lineage",
        (f"UPDATE lineage SET kind = 'guessed' WHERE child_file_id = {A_LINE} AND kind = 'modified'",),
    ),
    "a parent is still there": (
        "lineage",
        "still there",
        (
            f"UPDATE lineage SET parent_key = (SELECT position_key FROM snippets WHERE file_id = {A_LINE} "
            "AND content = E'store(n);\\n') "
            f"WHERE child_file_id = {A_LINE} AND kind = 'modified' AND child_key = (SELECT position_key FROM snippets "
            f"WHERE file_id = {A_LINE} AND {MODIFIED})",
        ),
    ),
    "a failure is gone": (
        "failure",
        "names no failure of float32[9] #1",
        (
            "DELETE FROM snippet_failures x USING snippets s, benchmarks b WHERE x.file_id = s.file_id "
            "AND x.position_key = s.position_key AND b.id = x.benchmark_id AND b.name = 'float32[9] #1' "
            f"AND s.{MODIFIED} AND s.file_id = {A_LINE}",
        ),
    ),
    "all failures of a revision are gone": (
        "failure",
        "which failed, and no line names a failure",
        ("DELETE FROM snippet_failures x USING files f WHERE f.id = x.file_id AND f.task_id = 1 AND x.revision = 1",),
    ),
    "a failure says what nobody measured": (
        "failure",
        "no measurement of this task said",
        ("UPDATE snippet_failures SET failure_output = 'expected 1.0, got 7.0' WHERE revision = 1",),
    ),
    "a failure is of another revision": (
        "failure",
        "came in revision",
        (
            f"UPDATE snippet_failures SET revision = 2, round = 2 WHERE file_id = {A_LINE} AND position_key = "
            f"(SELECT position_key FROM snippets WHERE file_id = {A_LINE} AND {MODIFIED})",
        ),
    ),
    "a failure is of another round": (
        "failure",
        "round 5",
        (f"UPDATE snippet_failures SET round = 5 WHERE revision = 2 AND file_id = {A_LINE}",),
    ),
    "a failure is of another task's benchmark": (
        "failure",
        "of task 2",
        (
            f"UPDATE snippet_failures SET benchmark_id = (SELECT min(id) FROM benchmarks WHERE task_id = 2) "
            f"WHERE revision = 2 AND file_id = {A_LINE}",
        ),
    ),
    "a benchmark is gone": (
        "failure",
        "benchmark is not in the store",
        ("DELETE FROM benchmarks WHERE task_id = 1 AND name = 'float32[9] #1'",),
    ),
    "a failure is of no line": (
        "failure",
        "a line that is not in the store",
        (f"UPDATE snippet_failures SET position_key = 'zzzz' WHERE revision = 2 AND file_id = {A_LINE}",),
    ),
    "a deletion has no failure": (
        "tombstone",
        "without a successor",
        (
            "DELETE FROM snippet_failures x USING snippets s WHERE x.file_id = s.file_id "
            f"AND x.position_key = s.position_key AND s.{DELETED} AND s.file_id = {A_LINE}",
        ),
    ),
    "a line lost its successor": (
        "tombstone",
        "without a successor",
        (f"DELETE FROM lineage WHERE child_file_id = {A_LINE} AND kind = 'modified'",),
    ),
    "an explanation was changed": (
        "explanation",
        "revision 1",
        ("UPDATE snippet_explanations SET explanation = 'it felt right' WHERE task_id = 1 AND revision = 1",),
    ),
    "an explanation is gone": (
        "explanation",
        "revision 2",
        ("DELETE FROM snippet_explanations WHERE task_id = 1 AND revision = 2",),
    ),
    "an explanation names another entry": (
        "explanation",
        "revision 1",
        ("UPDATE snippet_explanations SET entry_ids = '{other}' WHERE task_id = 1 AND revision = 1",),
    ),
    "an explanation is of another round": (
        "explanation",
        "round 4",
        ("UPDATE snippet_explanations SET round = 4 WHERE task_id = 1 AND revision = 1",),
    ),
    "evidence was changed": (
        "evidence",
        "digest",
        ("UPDATE evidence SET body = body || '{\"coverage\": 0.5}' WHERE id = (SELECT min(id) FROM evidence)",),
    ),
    "evidence and its digest were changed": (
        "evidence",
        "not what job",
        (
            "UPDATE evidence SET body = (SELECT body FROM evidence WHERE task_id = 1 ORDER BY id OFFSET 1 LIMIT 1), "
            "digest = (SELECT digest FROM evidence WHERE task_id = 1 ORDER BY id OFFSET 1 LIMIT 1), "
            "match_rate = (SELECT match_rate FROM evidence WHERE task_id = 1 ORDER BY id OFFSET 1 LIMIT 1) "
            "WHERE id = (SELECT min(id) FROM evidence WHERE task_id = 1)",
        ),
    ),
    "evidence says that it passed": (
        "evidence",
        "whether it passed",
        ("UPDATE evidence SET passed = true WHERE id = (SELECT min(id) FROM evidence WHERE task_id = 1)",),
    ),
    "evidence has another match rate": (
        "evidence",
        "columns",
        ("UPDATE evidence SET match_rate = 1.0 WHERE id = (SELECT min(id) FROM evidence WHERE task_id = 1)",),
    ),
    "evidence is gone": (
        "evidence",
        "there is no evidence",
        ("DELETE FROM evidence WHERE id = (SELECT max(id) FROM evidence WHERE task_id = 1)",),
    ),
    "a benchmark run was changed": (
        "benchmark-run",
        "float32[8] #0",
        (f"UPDATE benchmark_runs SET status = 'passed' WHERE id = ({RUNS})",),
    ),
    "a benchmark run is gone": ("benchmark-run", "float32[8] #0", (f"DELETE FROM benchmark_runs WHERE id = ({RUNS})",)),
    "a benchmark run is of another task's evidence": (
        "benchmark-run",
        "another task",
        (
            "UPDATE benchmark_runs SET evidence_id = (SELECT min(id) FROM evidence WHERE task_id = 2) "
            f"WHERE id = ({RUNS})",
        ),
    ),
    "a benchmark run is of no revision": (
        "benchmark-run",
        "revision 77",
        (f"UPDATE benchmark_runs SET revision = 77 WHERE id = ({RUNS})",),
    ),
    "a verdict was changed": (
        "verdict",
        "the log has no such scan",
        ("UPDATE verdicts SET verdict = 'CHEAT' WHERE id = (SELECT min(id) FROM verdicts WHERE task_id = 1)",),
    ),
    "a verdict is gone": (
        "verdict",
        "there is no such verdict",
        ("DELETE FROM verdicts WHERE id = (SELECT min(id) FROM verdicts WHERE task_id = 1)",),
    ),
    "a verdict was put in": (
        "verdict",
        "the log has no such resolution",
        (
            "INSERT INTO verdicts (task_id, tree, verdict, origin, body) "
            "SELECT 1, tree, 'CLEAN', 'resolution', '{}' FROM revisions WHERE task_id = 1 AND revision = 2",
        ),
    ),
    "a job was put in": (
        "job",
        "no event asked for it",
        (
            "INSERT INTO jobs (id, task_id, kind, queue, payload) "
            "VALUES ('1-9999-trial-compile', 1, 'compile', 'compile', '{}')",
        ),
    ),
    "a job is gone": (
        "job",
        "there is no such job",
        ("DELETE FROM jobs WHERE id = (SELECT min(id) FROM jobs WHERE task_id = 1)",),
    ),
    "a job's result was changed": (
        "job",
        "result",
        ("UPDATE jobs SET result = '{}' WHERE id = (SELECT min(id) FROM jobs WHERE task_id = 1)",),
    ),
    "a job's payload was changed": (
        "job",
        "payload",
        ("UPDATE jobs SET payload = '{}' WHERE id = (SELECT min(id) FROM jobs WHERE task_id = 1)",),
    ),
    "a job is open again": (
        "job",
        "it is queued, and by the log done",
        ("UPDATE jobs SET status = 'queued' WHERE id = (SELECT min(id) FROM jobs WHERE task_id = 1)",),
    ),
    "the outbox names a job that nobody asked for": (
        "outbox",
        "1-9999-trial-compile",
        ("INSERT INTO outbox (job_id, run_id, queue) VALUES ('1-9999-trial-compile', 1, 'compile')",),
    ),
    "a revision is of another cause": (
        "decision",
        "revision 1",
        ("UPDATE revisions SET cause = 'restore' WHERE task_id = 1 AND revision = 1",),
    ),
    "a revision that nobody decided": (
        "decision",
        "revision 3",
        ("INSERT INTO revisions (task_id, revision, round, cause, tree, created_at) "
         "SELECT 1, 3, 2, 'session', tree, now() FROM revisions WHERE task_id = 1 AND revision = 2",),
    ),
    "the outcome was changed": (
        "outcome",
        "the log says that it ended as passed",
        ("UPDATE tasks SET outcome = 'rejected' WHERE id = 1",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_each_thing_that_is_broken_is_named(store: Database, name: str) -> None:
    kind, words, statements = BREAKS[name]
    with broken(store, *statements) as faults:
        assert faults, "verify saw nothing"
        told = [str(fault) for fault in faults]
        assert kind == faults[0].kind, told
        assert any(words in one for one, fault in zip(told, faults, strict=True) if fault.kind == kind), told


def test_every_kind_of_fault_has_its_test() -> None:
    assert {kind for kind, _, _ in BREAKS.values()} == set(FAULT_KINDS)


def test_a_failed_build_and_a_restored_checkpoint_hold_too(database: Database) -> None:
    (task,) = play(database, "Add", model="scripted")
    with database.transaction() as session:
        found = session.get_one(Task, task)
        assert verify_task(session, found)[0] == []
        rows = session.execute(select(Revision.cause).order_by(Revision.revision)).scalars().all()
        assert rows == ["initial", "session", "session", "restore", "session"]
        assert found.outcome == "passed"
    for kind, words, statement in (
        (
            "blob",
            "the whole text of a failure",
            "UPDATE blobs SET data = 'x' WHERE media_type LIKE 'text/plain; %'",
        ),
        ("blob", "transcript", "DELETE FROM blobs WHERE data = 'transcript 2'"),
        (
            "failure",
            "no measurement of this task said of BUILD",
            "UPDATE snippet_failures SET failure_blob = NULL WHERE failure_blob IS NOT NULL",
        ),
        ("decision", "revision 3", "UPDATE revisions SET cause = 'session' WHERE revision = 3"),
    ):
        with broken(database, statement) as faults:
            told = [str(fault) for fault in faults if fault.kind == kind]
            assert any(words in one for one in told), (statement, [str(fault) for fault in faults])


def test_another_task_is_not_blamed(store: Database) -> None:
    for name in ("a line was changed", "a failure is gone", "a job's result was changed"):
        with broken(store, *BREAKS[name][2], task="Sub") as faults:
            assert faults == []


def test_several_faults_are_told_from_the_root_on(store: Database) -> None:
    statements = (
        *BREAKS["the outcome was changed"][2],
        *BREAKS["a line was changed"][2],
        *BREAKS["a job is gone"][2],
    )
    with broken(store, *statements) as faults:
        assert [fault.kind for fault in faults] == ["tree", "job", "outbox", "outcome"]


def test_a_pass_needs_evidence_and_a_clean_verdict_of_its_own_tree(store: Database) -> None:
    last = "(SELECT tree FROM revisions WHERE task_id = 1 AND revision = 2)"
    for table in ("evidence", "verdicts"):
        with broken(store, f"DELETE FROM {table} WHERE task_id = 1 AND tree = {last}") as faults:
            assert faults[-1].kind == "outcome"
            assert "its tree" in faults[-1].what


def test_a_line_that_was_changed_is_told_once_for_all_its_revisions(store: Database) -> None:
    line = f"content = E'int n = 8;\\n' AND file_id = {A_LINE}"
    statement = f"UPDATE snippets SET content = E'int n = 9;\\n' WHERE {line}"
    with broken(store, statement) as faults:
        assert [str(fault) for fault in faults] == [
            "revision 0, kernel/a.cpp: line 1 (key "
            + faults[0].what.split("key ")[1].split(")")[0]
            + ") differs from the stored file (tree)"
        ]


def test_the_number_of_queries_does_not_grow_with_the_revisions(database: Database) -> None:
    chosen = random.Random(5)
    lines = [f"    value_{number} = compute({number}, tile);\n" for number in range(200)]
    with database.transaction() as session:
        task = bare_task(session, "Long")
        case = benchmark_id(session, task_id=task, name="float16[7]", kind="case", spec={})
        write_revision(session, task_id=task, round=0, files={"a.cpp": "".join(lines)}, cause="initial")
    queries = {}
    for number in range(1, 121):
        with database.transaction() as session:
            at = chosen.randrange(len(lines))
            lines[at] = f"    value_{at} = compute({number}, other);\n"
            write_revision(
                session, task_id=task, round=number, files={"a.cpp": "".join(lines)}, cause="session",
                failures=[FailureCause(benchmark_id=case, output=f"expected 1, got {number}")],
            )  # fmt: skip
        if number in {20, 120}:
            asked: list[str] = []
            with database.transaction() as session:
                found = session.get_one(Task, task)
                event.listen(
                    database.engine, "before_cursor_execute", lambda *told, to=asked: to.append(told[2])
                )
                faults, checked = verify_task(session, found)
                assert faults == []
                assert f"{number + 1} revisions byte for byte" in checked
            queries[number] = len(asked)
    assert queries[20] == queries[120]

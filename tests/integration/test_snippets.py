"""The snippet store and lineage against a real Postgres."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from schema.benchmarks import benchmark_id
from schema.blobs import get_blob
from schema.database import Database
from schema.errors import BadInput, NotFound
from schema.lineage import blame, history, why
from schema.position_keys import is_valid
from schema.snippets import (
    FailureCause,
    read_files,
    redact,
    snippets_at,
    write_revision,
)
from schema.tables import Snippet, SnippetFailure
from tests.support.tasks import bare_task


def new_task(database: Database) -> int:
    with database.transaction() as session:
        return bare_task(session)


@pytest.fixture
def task(database: Database) -> int:
    return new_task(database)


KERNEL = """\
#include "kernel_operator.h"
class KernelAdd {
    __aicore__ inline void Process(uint32_t n)
    {
        DataCopy(xLocal, xGm[offset], n);
        Add(zLocal, xLocal, yLocal, n);
    }
};
"""
PADDED = KERNEL.replace("DataCopy(xLocal, xGm[offset], n)", "DataCopyPad(xLocal, xGm[offset], params)")
GUARDED = PADDED.replace("        Add(", "        if (n == 0) { return; }\n        Add(")


def repair(session: Session, task: int, round: int, files: dict[str, str], **more: object) -> int:
    case = benchmark_id(session, task_id=task, name="float16[7]", kind="case", spec={"index": 3})
    build = benchmark_id(session, task_id=task, name="BUILD", kind="build", spec={})
    return write_revision(
        session,
        task_id=task,
        round=round,
        files=files,
        **{
            "cause": "rewrite",
            "failures": [
                FailureCause(benchmark_id=case, output="expected 1.5, got nan at [6]"),
                FailureCause(benchmark_id=build, output="error: no member"),
            ],
            "explanation": f"the tail is not 32-byte aligned ({round})",
            "entry_ids": ["datacopy-pad"],
            "direction": "datacopy-pad @ kernel/add.cpp",
            "model": "kb",
            **more,
        },
    )


def initial(session: Session, task: int, files: dict[str, str]) -> int:
    return write_revision(session, task_id=task, round=0, files=files, cause="initial")


def test_a_line_names_its_failure_and_leads_back_to_the_initial_code(database: Database, task: int) -> None:
    with database.transaction() as session:
        assert initial(session, task, {"kernel/add.cpp": KERNEL}) == 0
        assert repair(session, task, 1, {"kernel/add.cpp": PADDED}) == 1
        assert repair(session, task, 2, {"kernel/add.cpp": GUARDED}) == 2
        again = GUARDED.replace("params)", "params, pad)")
        assert repair(session, task, 3, {"kernel/add.cpp": again}, model="some-model", entry_ids=[]) == 3
    with database.transaction() as session:
        answer = why(session, task, "kernel/add.cpp", 5)
        assert [(s.change, s.revision, s.round) for s in answer.steps] == [
            ("modified", 3, 3),
            ("modified", 1, 1),
            ("initial", 0, 0),
        ]
        newest, older, oldest = answer.steps
        assert (newest.model, older.model, oldest.model) == ("some-model", "kb", "")
        assert older.entry_ids == ("datacopy-pad",)
        assert "aligned (1)" in older.explanation
        assert [(f.benchmark, f.output) for f in older.failures] == [
            ("float16[7]", "expected 1.5, got nan at [6]"),
            ("BUILD", "error: no member"),
        ]
        assert oldest.failures == ()
        assert oldest.content == "        DataCopy(xLocal, xGm[offset], n);\n"
        assert older.scope == "KernelAdd::Process"
        assert older.node_kind == "expression_statement"
        assert why(session, task, "kernel/add.cpp", 5, revision=1).steps == (older, oldest)
        assert why(session, task, "kernel/add.cpp", 1).steps[0].change == "initial"
        assert why(session, task, "kernel/add.cpp", 6).steps[0].change == "inserted"

        lines = blame(session, task, "kernel/add.cpp")
        assert [line.revisions for line in lines] == [0, 0, 0, 0, 2, 1, 0, 0, 0]
        assert lines[4].benchmarks == ("float16[7]", "BUILD")
        assert "".join(line.content for line in lines) == again
        changes = history(session, task, "kernel/add.cpp")
        assert [(c.revision, len(c.created), len(c.disabled)) for c in changes] == [
            (0, 8, 0),
            (1, 1, 1),
            (2, 1, 0),
            (3, 1, 1),
        ]
        assert [f.benchmark for f in changes[1].failures] == ["float16[7]", "BUILD"]


def test_a_deletion_has_its_failure_on_the_tombstone(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a.cpp": "one();\ntwo();\nthree();\n"})
        repair(session, task, 1, {"a.cpp": "one();\nthree();\n"})
    with database.transaction() as session:
        stone = session.execute(select(Snippet).where(Snippet.disabled_revision == 1)).scalar_one()
        assert stone.content == "two();\n"
        keys = session.execute(select(SnippetFailure.position_key)).scalars().all()
        assert keys == [stone.position_key] * 2


def test_new_keys_follow_the_tombstones_and_none_is_used_twice(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a": "a\nb\n"})
        for round in range(1, 30):
            write_revision(session, task_id=task, round=round, files={"a": f"a\nb{round}\n"}, cause="session")
    with database.transaction() as session:
        rows = session.execute(select(Snippet).order_by(Snippet.position_key)).scalars().all()
        assert [row.created_revision for row in rows] == [0, *range(30)]
        assert max(len(row.position_key) for row in rows) <= 2


def test_a_move_across_files_keeps_its_lineage(database: Database, task: int) -> None:
    block = "".join(f"    accumulate(total, weights[{n}]);\n" for n in range(4))
    with database.transaction() as session:
        initial(session, task, {"a.cpp": "a();\n" + block, "b.cpp": "b();\n"})
        repair(session, task, 1, {"a.cpp": "a();\n", "c.cpp": block, "b.cpp": "b();\n"})
    with database.transaction() as session:
        steps = why(session, task, "c.cpp", 3).steps
        assert [(s.path, s.change) for s in steps] == [("c.cpp", "moved"), ("a.cpp", "initial")]
        assert steps[0].content == steps[1].content


def test_a_merged_line_has_several_parents(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a.cpp": "head();\ncompute_first(alpha);\ncompute_second(beta);\ntail();\n"})
        repair(session, task, 1, {"a.cpp": "head();\ncompute_first(alpha); compute_second(beta);\ntail();\n"})
    with database.transaction() as session:
        answer = why(session, task, "a.cpp", 2)
        assert len(answer.steps[0].parents) == 2
        assert {step.content for step in (*answer.steps[1:], *answer.others)} == {
            "compute_first(alpha);\n",
            "compute_second(beta);\n",
        }
        assert blame(session, task, "a.cpp")[1].revisions == 1


def test_a_restored_checkpoint_leads_to_the_lines_it_restores(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a.cpp": KERNEL})
        repair(session, task, 1, {"a.cpp": PADDED})
        repair(session, task, 2, {"a.cpp": KERNEL.replace("DataCopy", "Nonsense"), "b.cpp": "x\n"})
        write_revision(session, task_id=task, round=2, files={"a.cpp": PADDED}, cause="restore", restores=1)
    with database.transaction() as session:
        assert read_files(session, task) == {"a.cpp": PADDED}
        steps = why(session, task, "a.cpp", 5).steps
        assert [(s.change, s.revision) for s in steps] == [("restored", 3), ("modified", 1), ("initial", 0)]
        # Several revisions in one round: the last one is the round's state.
        assert read_files(session, task, round=2) == {"a.cpp": PADDED}
        assert read_files(session, task, round=1) == {"a.cpp": PADDED}
        assert "b.cpp" in read_files(session, task, revision=2)


ODD_FILES = {
    "crlf.txt": "a\r\nb\r\n",
    "no-final-newline.py": "x = 1",
    "separators.cpp": "a\x0cb\u2028c\x85d\u2029\ne\x1c\n",
    "empty": "",
    "blank": "\n\n\n",
    "bom.cpp": "\ufeffint x;\n",
    "wide.cpp": "\N{GRINNING FACE}" * 50 + "\n",
}


def test_odd_files_come_back_byte_for_byte(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, ODD_FILES)
        write_revision(session, task_id=task, round=1, files={"long": "x" * 10_000_000}, cause="session")
        write_revision(session, task_id=task, round=2, files={}, cause="session")
        write_revision(session, task_id=task, round=3, files=ODD_FILES, cause="session")
    with database.transaction() as session:
        assert read_files(session, task, revision=0) == dict(sorted(ODD_FILES.items()))
        assert read_files(session, task, round=1) == {"long": "x" * 10_000_000}
        assert read_files(session, task, round=2) == {}
        assert read_files(session, task) == read_files(session, task, revision=0)


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"k.cpp": "a\nb\ud800c\n"}, "k.cpp:2"),
        ({"k/a": "a\n", "k/a/b": "b\n"}, "k/a/b"),
        ({"k\udcff.cpp": "a\n"}, "path"),
        ({"../k.cpp": "a\n"}, "../k.cpp"),
        ({"/etc/k.cpp": "a\n"}, "/etc/k.cpp"),
        ({"": "a\n"}, "path"),
    ],
)
def test_text_that_can_not_be_stored_is_refused_by_name(
    database: Database, task: int, files: dict[str, str], where: str
) -> None:
    with pytest.raises(BadInput, match=where), database.transaction() as session:
        initial(session, task, files)
    with database.transaction() as session, pytest.raises(NotFound):
        read_files(session, task)


def test_what_is_not_there_is_said(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a": "x\n", "empty": ""})
        with pytest.raises(NotFound, match="no task"):
            initial(session, task + 1, {"a": "x\n"})
        with pytest.raises(NotFound, match="no such file"):
            why(session, task, "b", 1)
        for line in (0, -1, 2):
            with pytest.raises(NotFound, match="has 1 line "):
                why(session, task, "a", line)
        with pytest.raises(NotFound, match="empty"):
            why(session, task, "empty", 1)
        with pytest.raises(NotFound, match="revision 7"):
            read_files(session, task, revision=7)
        with pytest.raises(NotFound, match="never had"):
            history(session, task, "b")


def test_long_failures_are_capped_and_kept_whole_in_a_blob(database: Database, task: int) -> None:
    log = "error: " + "y" * 5_000 + " api_key=abcdefgh12345678\0"
    with database.transaction() as session:
        initial(session, task, {"a": "x\n"})
        build = benchmark_id(session, task_id=task, name="BUILD", kind="build", spec={})
        assert build == benchmark_id(session, task_id=task, name="BUILD", kind="build", spec={"other": 1})
        write_revision(
            session,
            task_id=task,
            round=1,
            files={"a": "y\n"},
            cause="session",
            failures=[FailureCause(benchmark_id=build, output=log)],
        )
    with database.transaction() as session:
        (failure,) = why(session, task, "a", 1).steps[0].failures
        assert len(failure.output) == 1_000
        assert failure.blob is not None
        whole = get_blob(session, failure.blob).decode()
        assert whole == "error: " + "y" * 5_000 + " [redacted]"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("key sk-abcdefghijklmnopqrstuv left", "key [redacted] left"),
        ("postgresql://user:secret@host/db", "postgresql://[redacted]@host/db"),
        ("Authorization: Bearer abcdef.ghijkl-mnop", "Authorization: Bearer [redacted]"),
        ("error: unexpected token: identifier", "error: unexpected token: identifier"),
        ("expected 1.5, got 2.5", "expected 1.5, got 2.5"),
    ],
)
def test_redaction(message: str, kept: str) -> None:
    assert redact(message) == kept


def test_the_database_refuses_to_rewrite(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a": "x\n"})
        repair(session, task, 1, {"a": "y\n"})
    for statement in (
        "UPDATE snippets SET content = 'z'",
        "UPDATE snippets SET disabled_revision = 5, disabled_round = 5",
        "DELETE FROM snippets",
        "UPDATE snippet_failures SET failure_output = ''",
        "DELETE FROM lineage",
    ):
        with pytest.raises(DBAPIError), database.transaction() as session:
            session.execute(text(statement))


def test_two_writers_of_one_task_take_turns(database: Database, task: int) -> None:
    with database.transaction() as session:
        initial(session, task, {"a": "head\ntail\n"})
    faults: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with database.transaction() as session:
                write_revision(
                    session,
                    task_id=task,
                    round=1,
                    files={"a": f"head\n{number}\ntail\n"},
                    cause="session",
                )
        except BaseException as fault:  # noqa: BLE001  the main thread raises it
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with database.transaction() as session:
        assert [len(read_files(session, task, revision=n)["a"].split()) for n in range(5)] == [2, 3, 3, 3, 3]


LINES = st.lists(
    st.sampled_from(
        [
            "a\n",
            "b\n",
            "{\n",
            "\n",
            "  long_enough_statement(alpha);\n",
            "another_long_statement(beta);\n",
            "x\r\n",
        ]
    )
    | st.text(alphabet="ab\x0c\u2028", max_size=4).map(lambda line: line + "\n"),
    max_size=12,
).map("".join)
STATES = st.lists(
    st.dictionaries(
        st.sampled_from(["a.py", "b.cpp", "c"]), LINES | LINES.map(lambda t: t + "end"), max_size=3
    ),
    min_size=1,
    max_size=6,
)


@contextmanager
def undone(database: Database) -> Iterator[Session]:
    """A transaction that leaves nothing behind: each example starts clean."""
    with Session(database.engine) as session:
        yield session
        session.rollback()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=STATES)
def test_every_revision_comes_back(database: Database, states: list[dict[str, str]]) -> None:
    task = new_task(database)
    with undone(database) as session:
        for number, files in enumerate(states):
            assert initial(session, task, files) == number
        for number, files in enumerate(states):
            assert read_files(session, task, revision=number) == dict(sorted(files.items()))
        for number in range(len(states)):
            lines: dict[str, int] = {}
            for snippet in snippets_at(session, task, revision=number):
                assert is_valid(snippet.position_key)
                lines[snippet.path] = lines.get(snippet.path, 0) + 1
                assert snippet.line == lines[snippet.path]
                assert snippet.created_revision <= number
                answer = why(session, task, snippet.path, snippet.line, number)
                assert answer.snippet == snippet
                # Effects come after causes, and every chain ends where a line was first written.
                revisions = [step.revision for step in answer.steps]
                assert revisions == sorted(set(revisions), reverse=True)
                assert answer.steps[-1].parents == ()


def test_a_long_file_over_many_rounds(database: Database, task: int) -> None:
    chosen = random.Random(2)
    lines = [f"    value_{n} = compute({n}, tile);\n" for n in range(2_000)]
    states = ["".join(lines)]
    with database.transaction() as session:
        initial(session, task, {"a.cpp": states[0]})
    for round in range(1, 21):
        for _ in range(8):
            at = chosen.randrange(len(lines))
            lines[at : at + chosen.randrange(4)] = [
                f"    new_{round}_{at}_{n}();\n" for n in range(chosen.randrange(4))
            ]
        states.append("".join(lines))
        with database.transaction() as session:
            repair(session, task, round, {"a.cpp": states[-1]})
    with database.transaction() as session:
        for revision, state in enumerate(states):
            assert read_files(session, task, revision=revision) == {"a.cpp": state}
        longest = session.execute(text("SELECT max(length(position_key)) FROM snippets")).scalar_one()
    assert longest <= 6

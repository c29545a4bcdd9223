"""why, blame and history against a real Postgres: they never lie, whatever the edits were."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from sqlalchemy import select, text
from sqlalchemy.exc import DataError, DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from coordinator.report.chain import changed_words, harmless, print_blame, print_history, print_why
from coordinator.report.lookup import find_place, find_revision, split_place
from schema import ancestry, causes, describing, file_history
from schema.database import Database
from schema.diff import split_lines
from schema.errors import BadInput, NotFound
from schema.lineage import Explanation, blame, history, why, why_key
from schema.snippets import snippets_at
from schema.tables import Benchmark, File, Snippet, SnippetFailure, Task
from tests.support.tasks import bare_task, revise

BLOCK = "".join(f"    accumulate(total, weights[{number}]);\n" for number in range(4))
START = f"int n = 8;\ncopy(n);\nint wrong = 1;\n{BLOCK}store(n);\n"


@contextmanager
def undone(database: Database) -> Iterator[Session]:
    """A transaction that leaves nothing behind."""
    with Session(database.engine) as session:
        yield session
        session.rollback()


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with undone(database) as found:
        yield found


# --- it never lies ---------------------------------------------------------------------------------------------------

WORDS = ("alpha", "beta", "gamma", "delta")


def fresh_line(chosen: Random) -> str:
    if chosen.random() < 0.2:
        return chosen.choice(("\n", "{\n", "}\n", "a\n"))
    name, of = chosen.choice(WORDS), chosen.choice(WORDS)
    return f"    {name}_{chosen.randrange(50)} = compute({of}, {chosen.randrange(9)});\n"


def edited(files: dict[str, str], chosen: Random) -> dict[str, str]:
    """The next state: lines come, go, change, change places, merge, split; files come, go, and are renamed."""
    state = {path: split_lines(content) for path, content in files.items()}
    for _ in range(chosen.randrange(1, 5)):
        paths = sorted(state)
        what = chosen.randrange(9)
        if not paths or what == 0:
            state.setdefault(
                f"f{chosen.randrange(4)}.cpp", [fresh_line(chosen) for _ in range(chosen.randrange(8))]
            )
            continue
        path = chosen.choice(paths)
        lines = state[path]
        at = chosen.randrange(len(lines) + 1)
        if what == 1 and chosen.random() < 0.4:
            state[f"f{chosen.randrange(4)}.cpp"] = state.pop(path)
        elif what == 2 and chosen.random() < 0.3:
            del state[path]
        elif what in {3, 4}:
            lines[at:at] = [fresh_line(chosen) for _ in range(chosen.randrange(1, 4))]
        elif what == 5:
            del lines[at : at + chosen.randrange(1, 4)]
        elif what == 6 and at < len(lines):
            lines[at] = lines[at].replace("compute", chosen.choice(("compute_all", "reduce")), 1)
        elif what == 7:
            block = lines[at : at + 4]
            del lines[at : at + 4]
            other = state[chosen.choice(paths)]
            put = chosen.randrange(len(other) + 1)
            other[put:put] = [("  " if chosen.random() < 0.5 else "") + line for line in block]
        elif what == 8 and at + 1 < len(lines):
            lines[at : at + 2] = [lines[at].rstrip("\n") + lines[at + 1]]
    return {path: "".join(lines) for path, lines in state.items()}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.randoms(use_true_random=False), count=st.integers(2, 7))
def test_the_chain_of_a_line_never_lies(database: Database, chosen: Random, count: int) -> None:
    """Every step says what the file held at that revision at that key, and names that revision's failures alone."""
    with undone(database) as session:
        task = bare_task(session)
        states = [{"f0.cpp": "".join(fresh_line(chosen) for _ in range(6))}]
        revise(session, task, 0, states[0])
        for number in range(1, count):
            restores = chosen.randrange(number) if chosen.random() < 0.25 else None
            states.append(edited(states[-1], chosen) if restores is None else states[restores])
            failed = {f"case {one}": f"of revision {number}" for one in range(chosen.randrange(3))}
            cause = "restore" if restores is not None else "session"
            revise(session, task, number, states[-1], failed=failed, cause=cause, restores=restores)
        # An oracle that knows nothing of lineage: (path, key) → line number, revision by revision.
        places = [
            {(one.path, one.position_key): one.line for one in snippets_at(session, task, revision=number)}
            for number in range(count)
        ]

        def held(path: str, key: str, revision: int) -> str:
            return split_lines(states[revision][path])[places[revision][path, key] - 1]

        newest = count - 1
        for path, content in states[newest].items():
            told = blame(session, task, path)
            assert "".join(line.content for line in told) == content
            for line in told:
                answer = why(session, task, path, line.line)
                check_answer(answer, held, places)
                assert answer.ended is None
                assert answer.snippet.content == line.content
                made = {step.revision for step in (*answer.steps, *answer.others)} - {0}
                assert line.revisions == len(made)
                assert line.benchmarks == tuple(failure.benchmark for failure in answer.steps[0].failures)
        rows = session.execute(select(File.path, Snippet).join(File, File.id == Snippet.file_id)).all()
        assert {(path, row.position_key) for path, row in rows} == {place for one in places for place in one}
        for path, row in rows:
            answer = why_key(session, task, path, row.position_key)
            check_answer(answer, held, places)
            assert answer.line == places[answer.revision][path, row.position_key]
            assert (answer.ended is None) == ((path, row.position_key) in places[newest])
            if answer.ended is not None:
                assert (path, row.position_key) not in places[answer.ended.revision]
                assert answer.ended.revision == answer.revision + 1
                assert {failure.output for failure in answer.ended.failures} <= {
                    f"of revision {answer.ended.revision}"
                }
                for successor in answer.ended.successors:
                    assert (
                        held(successor.path, successor.position_key, answer.ended.revision)
                        == successor.content
                    )
                # While it was there it had not ended.
                assert why_key(session, task, path, row.position_key, answer.revision).ended is None


def check_answer(answer: Explanation, held, places) -> None:  # type: ignore[no-untyped-def]
    assert held(answer.path, answer.snippet.position_key, answer.revision) == answer.snippet.content
    assert answer.steps[0].content == answer.snippet.content
    revisions = [step.revision for step in answer.steps]
    assert revisions == sorted(set(revisions), reverse=True)
    assert answer.steps[-1].parents == ()
    known = {(step.path, step.position_key): step for step in (*answer.steps, *answer.others)}
    for step in known.values():
        assert replace(step) == step  # as its own constructor makes it
        assert held(step.path, step.position_key, step.revision) == step.content
        if step.revision:
            assert (step.path, step.position_key) not in places[step.revision - 1]
        assert (step.change == "initial") == (step.revision == 0)
        assert {failure.output for failure in step.failures} <= {f"of revision {step.revision}"}
        before = []
        for parent in step.parents:
            assert (
                held(parent.path, parent.position_key, known[parent.path, parent.position_key].revision)
                == parent.content
            )
            assert known[parent.path, parent.position_key].revision < step.revision
            if parent.kind == "moved":
                assert parent.content.strip() == step.content.strip()
            if (parent.path, parent.position_key) in places[step.revision - 1]:
                assert (parent.path, parent.position_key) not in places[
                    step.revision
                ] or parent.kind == "split"
                before.append(parent.content)
            else:
                assert parent.kind == "restored"
        assert list(step.before) == before
    for step, parent in zip(answer.steps, answer.steps[1:], strict=False):
        assert (parent.path, parent.position_key) == (step.parents[0].path, step.parents[0].position_key)


# --- what it tells ---------------------------------------------------------------------------------------------------


def told(answer: Explanation) -> str:
    out = Console(file=io.StringIO(), width=150, highlight=False)
    print_why(out, answer, "Add")
    return out.file.getvalue()  # type: ignore[attr-defined]


def test_a_chain_is_told_with_failure_explanation_entry_and_both_lines(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START})
    revise(session, task, 1, {"a.cpp": START.replace("copy(n)", "copy_pad(n)")})
    words = told(why(session, task, "a.cpp", 2))
    assert words.splitlines() == [
        f"a.cpp:2 of Add (task {task}, revision 1, key {blame(session, task, 'a.cpp')[1].position_key})",
        "  copy_pad(n);",
        "round 1, revision 1: modified by a rewrite (pad @ kernel/a.cpp)",
        "  failed benchmark: float16[7]",
        "    expected 1.5, got 1 at [6]",
        "  explanation: the tail of round 1",
        "  entry applied: pad",
        "  - copy(n);",
        "  + copy_pad(n);",
        f"from the initial code, a.cpp@{blame(session, task, 'a.cpp', 0)[1].position_key}: copy(n);",
    ]


def test_a_line_that_only_moved_says_so(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START, "b.cpp": "x();\n"})
    rest = START.replace(BLOCK, "")
    revise(session, task, 1, {"a.cpp": rest, "b.cpp": "x();\n" + BLOCK})
    inner = BLOCK.replace("    acc", "        acc")
    revise(session, task, 2, {"a.cpp": rest.replace("store", inner + "store"), "b.cpp": "x();\n"})
    answer = why(session, task, "a.cpp", 5)
    assert [(step.path, step.change) for step in answer.steps] == [
        ("a.cpp", "moved"),
        ("b.cpp", "moved"),
        ("a.cpp", "initial"),
    ]
    words = told(answer)
    assert "moved here from b.cpp@" in words
    assert "re-indented," in words
    assert "itself unchanged," in words
    assert "The line only moved: no benchmark has changed what it says." in words
    assert "only moved" not in told(why(session, task, "a.cpp", 1))


def test_a_deleted_line_is_told_with_the_failure_on_its_tombstone(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START})
    key = blame(session, task, "a.cpp")[2].position_key
    revise(session, task, 1, {"a.cpp": START.replace("int wrong = 1;\n", "")})
    (row,) = session.execute(select(SnippetFailure)).scalars()
    assert row.position_key == key
    answer = why_key(session, task, "a.cpp", key)
    assert (answer.line, answer.revision) == (3, 0)
    assert answer.ended is not None
    assert [failure.benchmark for failure in answer.ended.failures] == ["float16[7]"]
    words = told(answer)
    assert "round 1, revision 1: deleted by a rewrite (pad @ kernel/a.cpp)" in words
    assert "expected 1.5, got 1 at [6]" in words
    (_, change) = history(session, task, "a.cpp")
    (stone,) = change.deleted
    assert (stone.position_key, stone.content, stone.benchmarks) == (key, "int wrong = 1;\n", ("float16[7]",))
    out = Console(file=io.StringIO(), width=150, highlight=False)
    print_history(out, history(session, task, "a.cpp"))
    assert "  - int wrong = 1;   (deleted for float16[7])" in out.file.getvalue()  # type: ignore[attr-defined]


def test_a_replaced_line_tells_what_took_its_place(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START})
    key = blame(session, task, "a.cpp")[1].position_key
    revise(session, task, 1, {"a.cpp": START.replace("copy(n)", "copy_pad(n)")})
    answer = why_key(session, task, "a.cpp", key)
    assert answer.ended is not None
    assert [(one.kind, one.content) for one in answer.ended.successors] == [("modified", "copy_pad(n);\n")]
    assert [failure.output for failure in answer.ended.failures] == ["expected 1.5, got 1 at [6]"]
    assert "+ copy_pad(n);   (modified: a.cpp@" in told(answer)


def test_a_restored_line_shows_what_it_took_the_place_of(session: Session) -> None:
    task = bare_task(session)
    better = START.replace("copy(n)", "copy_pad(n)")
    revise(session, task, 0, {"a.cpp": START})
    revise(session, task, 1, {"a.cpp": better})
    revise(session, task, 2, {"a.cpp": better.replace("copy_pad(n)", "copy_all(n)")})
    revise(session, task, 2, {"a.cpp": better}, cause="restore", restores=1)
    answer = why(session, task, "a.cpp", 2)
    assert [(step.change, step.revision) for step in answer.steps] == [
        ("restored", 3),
        ("modified", 1),
        ("initial", 0),
    ]
    assert answer.steps[0].before == ("copy_all(n);\n",)
    assert [step.revision for step in answer.others] == [2]
    words = told(answer)
    assert "restored to a.cpp@" in words
    assert "by going back to the checkpoint" in words
    assert "  - copy_all(n);\n  + copy_pad(n);" in words
    assert "also from a.cpp@" in words


def test_merged_and_split_lines_name_all_they_come_from(session: Session) -> None:
    task = bare_task(session)
    two = "head();\ncompute_first(alpha);\ncompute_second(beta);\ntail();\n"
    one = "head();\ncompute_first(alpha); compute_second(beta);\ntail();\n"
    revise(session, task, 0, {"a.cpp": two})
    revise(session, task, 1, {"a.cpp": one})
    merged = why(session, task, "a.cpp", 2)
    assert {parent.content for parent in merged.steps[0].parents} == set(two.splitlines(keepends=True)[1:3])
    assert set(merged.steps[0].before) == set(two.splitlines(keepends=True)[1:3])
    assert told(merged).count("\n  - ") == 2
    revise(session, task, 2, {"a.cpp": two})
    for line in (2, 3):
        assert one.splitlines(keepends=True)[1] in {
            step.content for step in why(session, task, "a.cpp", line).steps
        }


def test_blame_prints_key_revisions_round_benchmark_and_line(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START})
    revise(
        session, task, 1, {"a.cpp": START.replace("copy(n)", "copy_pad(n)")}, failed={"one": "x", "two": "y"}
    )
    lines = blame(session, task, "a.cpp")
    assert (lines[1].revisions, lines[1].last_revision, lines[1].last_round) == (1, 1, 1)
    out = Console(file=io.StringIO(), width=150, highlight=False)
    print_blame(out, lines)
    rows = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert rows[0].split() == ["rnd", "rev", "key", "benchmark", "line"]
    assert rows[2].split() == ["r1", "1", lines[1].position_key, "one", "+1", "2", "copy_pad(n);"]
    assert rows[1].split()[:3] == ["·", "·", lines[0].position_key]


def test_history_of_a_round_is_that_round_alone(session: Session) -> None:
    task = bare_task(session)
    for round in range(4):
        revise(session, task, round, {"a.cpp": START + f"round({round});\n" * (round % 2)})
    assert [change.round for change in history(session, task, "a.cpp")] == [0, 1, 2, 3]
    assert [change.revision for change in history(session, task, "a.cpp", round=2)] == [2]
    assert history(session, task, "a.cpp", round=9) == ()


def test_what_comes_from_outside_can_not_command_the_terminal(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": "int a;\n"})
    evil = "\x1b]0;owned\x07[bold]x[/]\u202e"
    revise(session, task, 1, {"a.cpp": f"int a = 1; // {evil}\n"}, failed={f"c{evil}": evil})
    words = told(why(session, task, "a.cpp", 1))
    assert "\x1b" not in words
    assert "\u202e" not in words
    assert "[bold]x[/]" in words
    assert harmless("a\tb\r\n") == "a\tb"
    assert harmless("x" * 1000).endswith("(1,000 characters)")


@given(old=st.text(alphabet="ab_ (+", max_size=12), new=st.text(alphabet="ab_ (+", max_size=12))
def test_the_pieces_of_a_word_difference_are_the_lines_again(old: str, new: str) -> None:
    before, after = changed_words(old, new)
    assert "".join(piece for piece, _ in before) == old
    assert "".join(piece for piece, _ in after) == new
    assert "".join(piece for piece, differs in before if not differs) == "".join(
        piece for piece, differs in after if not differs
    )


# --- what is not there -----------------------------------------------------------------------------------------------


def test_a_file_that_vanished_or_is_still_to_come_says_where_it_is(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START})
    revise(session, task, 1, {"a.cpp": START, "b.cpp": "b();\n"})
    revise(session, task, 2, {"a.cpp": START, "b.cpp": "b();\n", "brief.cpp": "x\n"})
    revise(session, task, 2, {"a.cpp": START})
    for read in (blame, lambda *place: why(*place[:3], 1)):
        with pytest.raises(
            NotFound, match=r"b\.cpp: the file vanished in round 2 \(revision 3\); --round 1 shows it"
        ):
            read(session, task, "b.cpp")
    with pytest.raises(NotFound, match=r"first appears in round 1 \(revision 1\); --round 1 shows it"):
        blame(session, task, "b.cpp", 0)
    with pytest.raises(NotFound, match="gone again within a round"):
        blame(session, task, "brief.cpp")
    assert [change.revision for change in history(session, task, "b.cpp")] == [1, 3]
    assert blame(session, task, "b.cpp", 1)[0].content == "b();\n"


def test_near_names_are_suggested(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"kernel/tiny_add.h": "x\n", "kernel/pybind11.cpp": "y\n", "empty.h": ""})
    for asked in ("kernel/tinyadd.h", "tiny_add.hpp", "kernels/tiny_add.h"):
        with pytest.raises(NotFound, match=r"did you mean kernel/tiny_add\.h\?"):
            blame(session, task, asked)
        with pytest.raises(NotFound, match=r"did you mean kernel/tiny_add\.h\?"):
            find_place(session, asked, task=None, needs_line=False)
    with pytest.raises(NotFound, match=r"its files: empty\.h, kernel/pybind11\.cpp, kernel/tiny_add\.h"):
        blame(session, task, "zzz")
    with pytest.raises(NotFound, match=r"has 0 lines at revision 0 .* no line to ask for"):
        why(session, task, "empty.h", 1)
    assert blame(session, task, "empty.h") == ()
    with pytest.raises(NotFound, match=r"has 1 line at revision 0 .* from 1 to 1"):
        why(session, task, "kernel/tiny_add.h", 10**17)
    with pytest.raises(NotFound, match="ever had this position key"):
        why_key(session, task, "kernel/tiny_add.h", "zzz")
    revise(session, task, 1, {"kernel/tiny_add.h": "x\nlater\n"})
    key = blame(session, task, "kernel/tiny_add.h")[1].position_key
    with pytest.raises(NotFound, match="first appears in round 1"):
        why_key(session, task, "kernel/tiny_add.h", key, 0)


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ("kernel/a.cpp:42", ("kernel/a.cpp", 42, None)),
        ("kernel/a.cpp@V4.k-", ("kernel/a.cpp", None, "V4.k-")),
        ("odd@name.cpp:3", ("odd@name.cpp", 3, None)),
        ("c:/w/a.cpp:3", ("c:/w/a.cpp", 3, None)),
        ("a.cpp:" + "9" * 40, ("a.cpp", 10**18 - 1, None)),
    ],
)
def test_places(place: str, parts: tuple[str, int | None, str | None]) -> None:
    assert split_place(place) == parts


@pytest.mark.parametrize("place", ["kernel/a.cpp", "a.cpp:0", "a.cpp:-3", "a.cpp:x", "", ":", "@V", "a.cpp@"])
def test_what_is_no_place(place: str) -> None:
    with pytest.raises(BadInput, match=r"kernel/add\.cpp:42"):
        split_place(place)


def test_a_place_is_found_by_key_through_the_cohort_and_in_the_right_task(session: Session) -> None:
    add, sub = bare_task(session, "Add"), bare_task(session, "Sub")
    for task in (add, sub):
        revise(session, task, 0, {"kernel/a.cpp": START})
    found = find_place(session, "cohorts/starter/Add/kernel/a.cpp@V", task=None, needs_line=True)
    assert (found.task.id, found.path, found.line, found.position_key) == (add, "kernel/a.cpp", None, "V")
    with pytest.raises(BadInput, match="name one with --task: Add, Sub"):
        find_place(session, "kernel/a.cpp:1", task=None, needs_line=True)
    assert find_place(session, "kernel/a.cpp:7", task="Sub", needs_line=False).path == "kernel/a.cpp"
    with pytest.raises(NotFound, match="no task '99999999999999999999'"):
        find_place(session, "kernel/a.cpp:1", task="9" * 20, needs_line=True)
    revise(session, add, 3, {"kernel/a.cpp": START + "x\n"})
    task = session.get_one(Task, add)
    assert [find_revision(session, task, round) for round in (None, 0, 2, 3)] == [1, 0, 0, 1]
    with pytest.raises(NotFound, match="no round 4"):
        find_revision(session, task, 4)


# --- how it gets there -----------------------------------------------------------------------------------------------


CROWD = (  # 20,000 further lines with a parent and a failure each, past the triggers: only the planner looks at them
    "SET LOCAL session_replication_role = replica",
    "INSERT INTO snippets (file_id, position_key, content, created_revision, created_round) "
    "SELECT 99, 'k' || lpad(n::text, 6, '0'), 'x();', 1, 1 FROM generate_series(1, 20000) n",
    "INSERT INTO lineage (child_file_id, child_key, parent_file_id, parent_key, kind) "
    "SELECT 99, 'k' || lpad(n::text, 6, '0'), 99, 'k' || lpad((n - 1)::text, 6, '0'), 'modified' "
    "FROM generate_series(2, 20000) n",
    "INSERT INTO snippet_failures (file_id, position_key, revision, round, benchmark_id, failure_output) "
    "SELECT 99, 'k' || lpad(n::text, 6, '0'), 1, 1, 1, 'got nan' FROM generate_series(1, 20000) n",
    "ANALYZE snippets, lineage, snippet_failures",
)


def test_a_walk_goes_by_index_whatever_else_is_in_the_store(session: Session) -> None:
    task = bare_task(session)
    for round in range(4):
        revise(session, task, round, {"a.cpp": f"value = compute({round});\n"})
    for statement in CROWD:
        session.execute(text(statement))
    answer = why(session, task, "a.cpp", 1)
    assert len(answer.steps) == 4
    file_id = answer.snippet.file_id
    keys = [f"k{number:06}" for number in range(1, 1_001)]
    plans = [
        (
            ancestry.WALK_FROM_KEY,
            {"file_id": file_id, "position_key": answer.snippet.position_key, "steps": 9},
        ),
        (ancestry.WALK_FROM_NEWEST_LINE, {"task_id": task, "path": "a.cpp", "before": 0, "steps": 9}),
        (ancestry.WALK_FROM_KEYS, causes.as_columns([(99, key) for key in keys[:3]])),
        (ancestry._RANGE, {"file_id": 99, "key": keys[-1], "rows": 1_024}),
        (ancestry._EDGES, {"file_id": 99, "key": keys[-1], "rows": 1_024}),
        (describing._DESCRIBE.decode(), {"rows": json.dumps([{"file_id": 99, "key": key} for key in keys])}),
        causes.failures_of_range_question(causes.Range(99, keys[0], keys[-1])),
        causes.failures_question([(99, key) for key in keys]),
        (file_history._BLAME.format(visible=file_history.visible(newest=True)), {"file_id": file_id}),
        (file_history._BENCHMARKS.format(visible=file_history.visible(newest=True)), {"file_id": file_id}),
    ]
    for statement, columns in plans:
        plan = "\n".join(row for (row,) in causes.ask(session, f"EXPLAIN {statement}", **columns))
        for table in ("lineage", "snippets", "snippet_failures"):
            assert f"Seq Scan on {table}" not in plan, plan


def test_equal_failures_of_a_chain_are_one_object(session: Session) -> None:
    task = bare_task(session)
    for round in range(4):
        revise(session, task, round, {"a.cpp": f"value = compute({round});\n"}, failed={"one": "x" * 900})
    made = [failure for step in why(session, task, "a.cpp", 1).steps for failure in step.failures]
    assert len(made) == 3
    assert all(failure is made[0] for failure in made)


def test_many_failures_of_a_line_are_told_as_they_were_written(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"a.cpp": START})
    names = [f"case {number}" for number in (7, 3, 5, 1, 9, 0)]
    changed = START.replace("copy(n)", "copy_pad(n)")
    revise(session, task, 1, {"a.cpp": changed}, failed=dict.fromkeys(names, "got nan"))
    written = select(Benchmark.name).join(SnippetFailure, SnippetFailure.benchmark_id == Benchmark.id)
    of_file = SnippetFailure.file_id == why(session, task, "a.cpp", 2).snippet.file_id
    in_order = list(session.execute(written.where(of_file).order_by(SnippetFailure.id)).scalars())
    assert sorted(in_order) == sorted(names)
    answer = why(session, task, "a.cpp", 2)
    assert [failure.benchmark for failure in answer.steps[0].failures] == in_order
    assert list(blame(session, task, "a.cpp")[1].benchmarks) == in_order


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("SELECT pg_sleep(5)", OperationalError),  # the server gives up
        ("SELECT CAST('x' AS integer)", DataError),
        ("SELECT nothing FROM nowhere", ProgrammingError),
    ],
)
def test_an_error_is_that_of_any_other_statement(
    session: Session, statement: str, error: type[DBAPIError]
) -> None:
    session.execute(text("SET LOCAL statement_timeout = 50"))
    with pytest.raises(error) as mine:
        causes.ask(session, statement)
    session.rollback()
    session.execute(text("SET LOCAL statement_timeout = 50"))
    with pytest.raises(error) as theirs:
        session.execute(text(statement))
    assert type(mine.value) is type(theirs.value)
    session.rollback()
    assert causes.ask(session, "SELECT %(one)s + 1", one=1) == [(2,)]

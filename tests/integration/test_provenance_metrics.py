"""The paper's metrics, against tasks small enough to count by hand."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console
from sqlalchemy import select
from sqlalchemy.orm import Session

from coordinator.report.provenance_metrics import metrics_of, metrics_of_cohort, metrics_of_run, print_metrics
from schema.database import Database
from schema.errors import NotFound
from schema.tables import Run, SnippetExplanation, SnippetFailure, Task
from tests.support.played import RIGHT, play
from tests.support.tasks import bare_task, revise


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with database.transaction() as found:
        yield found


def test_a_played_task_counts_as_the_paper_counts(database: Database) -> None:
    (task,) = play(database, "Add")
    with database.transaction() as session:
        found = metrics_of(session, [session.get_one(Task, task)])
        (row,) = found.tasks
        # kernel/ alone is the program: model.py is none of it.
        program = [text for path, text in RIGHT.items() if path.startswith("kernel/")]
        assert row.snippets == sum(text.count("\n") for text in program) == 9
        # Round 1 behind two failures: one line modified, one inserted, four moved; round 2 behind one: one modified.
        assert (row.changed, row.iterations, row.benchmarks) == (7, 2, 3)
        assert row.changed_percent == pytest.approx(100 * 7 / 9)
        assert row.average_rounds == 1.0
        assert row.average_rows == pytest.approx((6 * 2 + 1) / 7)
        assert row.code_bytes == sum(len(text.encode()) for text in program)
        outputs = session.execute(select(SnippetFailure.failure_output)).scalars().all()
        words = session.execute(select(SnippetExplanation.explanation)).scalars().all()
        assert row.history_bytes == sum(len(one.encode()) for one in [*outputs, *words])
        assert row.history_overhead == row.history_bytes / row.code_bytes
        assert row.store_bytes > row.history_bytes + row.code_bytes
        assert row.store_bytes < found.database_bytes


def test_a_line_that_was_revised_in_two_rounds_has_the_rows_of_both(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"main.py": "a = 1\nb = 2\nprint(a, b)\nc = 3\n"})
    revise(session, task, 2, {"main.py": "a = 1\nb = 20\nprint(a, b)\nc = 3\n"}, failed={"x": "1", "y": "2"})
    revise(session, task, 3, {"main.py": "a = 1\nb = 20\nprint(a, b)\nd = 4\nc = 3\n"}, failed={"x": "3"})
    revise(session, task, 4, {"main.py": "a = 1\nb = 21\nprint(a, b)\nd = 4\n"}, failed={"z": "4"})
    (row,) = metrics_of(session, [session.get_one(Task, task)]).tasks
    # b: rounds 2 (x, y) and 4 (z); d: round 3 (x). The deleted c is no line of the final program.
    assert (row.snippets, row.changed, row.changed_percent) == (4, 2, 50.0)
    assert row.average_rounds == (2 + 1) / 2
    assert row.average_rows == (3 + 1) / 2
    assert row.code_bytes == len("a = 1\nb = 21\nprint(a, b)\nd = 4\n")
    assert row.benchmarks == 3


def test_a_revision_without_failures_leaves_no_row(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"main.py": "a = 1\n"})
    revise(session, task, 1, {"main.py": "a = 2\n"}, failed={})
    (row,) = metrics_of(session, [session.get_one(Task, task)]).tasks
    assert (row.changed, row.changed_percent, row.average_rounds, row.average_rows) == (0, 0.0, 0.0, 0.0)


def test_a_long_failure_counts_whole_and_once(session: Session) -> None:
    task = bare_task(session)
    revise(session, task, 0, {"main.py": "a\nb\n"})
    revise(
        session, task, 1, {"main.py": "c = compute()\nd\n"}, failed={"BUILD": "e" * 5_000}, cause="session"
    )
    (row,) = metrics_of(session, [session.get_one(Task, task)]).tasks
    capped = sum(
        len(one.encode()) for one in session.execute(select(SnippetFailure.failure_output)).scalars()
    )
    assert row.history_bytes == capped + 5_000 + len("the tail of round 1")


def test_an_empty_program_and_a_task_without_one(session: Session) -> None:
    empty, none = bare_task(session, "Empty"), bare_task(session, "None")
    revise(session, empty, 0, {"main.py": ""})
    found = metrics_of(session, [session.get_one(Task, empty), session.get_one(Task, none)])
    (row,) = found.tasks
    assert (row.snippets, row.changed_percent, row.code_bytes, row.history_overhead) == (0, 0.0, 0, None)
    assert found.without_code == (none,)
    assert found.spreads["changed_percent"].mean == 0.0
    assert metrics_of(session, [session.get_one(Task, none)]).spreads == {}


def test_means_are_over_the_tasks_as_in_table_1(database: Database) -> None:
    play(database, "Add", "Sub")
    with database.transaction() as session:
        run = session.execute(select(Run)).scalar_one()
        found = metrics_of_run(session, run)
        assert [row.name for row in found.tasks] == ["Add", "Sub"]
        for name, spread in found.spreads.items():
            values = [float(getattr(row, name)) for row in found.tasks]
            assert (spread.mean, spread.min, spread.max) == (sum(values) / 2, min(values), max(values)), name
        assert metrics_of_cohort(session, "played") == found
        with pytest.raises(NotFound, match="cohorts with runs: played"):
            metrics_of_cohort(session, "other")
        out = Console(file=io.StringIO(), width=150)
        print_metrics(out, found)
        lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
        assert [line.split()[0] for line in lines] == ["task", "Add", "Sub", "mean", "min", "max"]
        assert lines[1].split()[2:5] == ["2", "3", "77.8"]

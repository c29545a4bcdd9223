"""Provenance through the command: why by line and key, blame, history, verify and stats on a real run."""

import pytest
from sqlalchemy import select, text

from coordinator.report.verification import verify_task
from schema.database import Database
from schema.tables import Task
from tests.acceptance.conftest import FirstRun
from tests.support.command import Opmend

pytestmark = pytest.mark.timeout(600)

FILE = "kernel/tiny_add.h"


def test_a_key_of_blame_leads_why_to_the_same_line(stack: Opmend) -> None:
    lines = stack.json("blame", FILE, "--task", "TailAdd")
    changed = next(line for line in lines if line["revisions"])
    by_line = stack.json("why", f"{FILE}:{changed['line']}", "--task", "TailAdd")
    by_key = stack.json("why", f"tiny/TailAdd/{FILE}@{changed['position_key']}")
    assert by_key == by_line
    assert by_line["ended"] is None
    newest = by_line["steps"][0]
    assert newest["failures"]
    assert newest["content"] == changed["content"]
    told = stack("why", f"{FILE}@{changed['position_key']}", "--task", "TailAdd")
    for before in newest["before"]:
        assert f"  - {before.rstrip()}" in told.out
    assert f"  + {changed['content'].rstrip()}" in told.out


def test_a_tombstone_names_the_failure_that_took_it_away(stack: Opmend) -> None:
    changes = stack.json("history", FILE, "--task", "TailAdd", "--round", "1")
    assert {change["round"] for change in changes} == {1}
    key, content = changes[0]["disabled"][0]
    found = stack.json("why", f"{FILE}@{key}", "--task", "TailAdd")
    assert found["snippet"]["content"] == content
    assert found["ended"]["round"] == 1
    assert found["ended"]["failures"]
    assert "elements differ" in stack("why", f"{FILE}@{key}", "--task", "TailAdd").out


def test_what_is_not_there_is_one_line_and_exit_2(stack: Opmend) -> None:
    wrong = {
        ("why", "kernel/tinyadd.h:3", "--task", "TailAdd"): f"did you mean {FILE}",
        ("why", f"{FILE}:9999", "--task", "TailAdd"): "give a line from 1 to",
        ("why", f"{FILE}@zzzzz", "--task", "TailAdd"): "position key",
        ("blame", FILE, "--task", "TailAdd", "--round", "7"): "no round 7",
        ("stats", "provenance", "--cohort", "none"): "cohorts with runs: ",
    }
    for arguments, done in zip(wrong, stack.together(*map(list, wrong)), strict=True):
        assert done.code == 2, (arguments, done)
        assert wrong[arguments] in done.err, (arguments, done)
        assert done.err.count("\n") == 1, (arguments, done)
        assert not done.out, (arguments, done)


def test_every_task_of_the_run_verifies_and_a_broken_one_is_named(stack: Opmend, store: Database) -> None:
    with store.transaction() as session:
        tasks = {task.name: task for task in session.execute(select(Task).where(Task.run_id == 1)).scalars()}
        assert len(tasks) == 8
        for task in tasks.values():
            assert verify_task(session, task)[0] == []
    change = "UPDATE snippets SET content = replace(content, '{}', '{}') WHERE content LIKE '%{}(outGm%'"
    place = f"task {tasks['TailAdd'].id} (TailAdd): revision 1, {FILE}: line "
    for old, new, code in (("DataCopyPad", "DataCopyPod", 1), ("DataCopyPod", "DataCopyPad", 0)):
        with store.transaction() as session:
            session.execute(text("SET LOCAL session_replication_role = replica"))
            session.execute(text(change.format(old, new, old)))
        done = stack("verify", str(tasks["TailAdd"].id))
        assert done.code == code, done
        assert done.out.startswith(place) == bool(code), done
        assert done.out.count("\n") == 1


def test_the_metrics_of_a_run(first_run: FirstRun, stack: Opmend) -> None:
    found = stack.json("stats", "provenance", "1")
    rows = {row["name"]: row for row in found["tasks"]}
    assert len(rows) == 8
    assert rows["TailAdd"]["iterations"] == 1
    assert 0 < rows["TailAdd"]["changed_percent"] < 50
    assert rows["TailAdd"]["average_rounds"] == 1
    assert rows["RightAdd"]["changed"] == 0
    told = stack("stats", "provenance", "1")
    assert told.code == 0, told
    assert "Chg%" in told.out
    assert "mean" in told.out

"""Benchmarks are found or made by name: many at once, and by two writers at once."""

import threading
from typing import Any

from sqlalchemy import event, select
from sqlalchemy.orm import Session

from schema.benchmarks import NamedCheck, benchmark_id, benchmark_ids
from schema.database import Database
from schema.tables import Benchmark
from tests.support.tasks import bare_task


def check(name: str, case: int = 0) -> NamedCheck:
    return NamedCheck(name=name, kind="case", spec={"case": case})


def test_what_is_known_is_found_and_the_rest_is_made_in_the_order_asked_for(database: Database) -> None:
    with database.transaction() as session:
        task, other = bare_task(session), bare_task(session)
        known = benchmark_id(session, task_id=task, name="b", kind="build", spec={"first": True})
        found = benchmark_ids(
            session, task, [check("c"), check("b", 9), check("a"), check("c", 7), check("o\0dd")]
        )
        assert list(found) == ["c", "b", "a", "o\0dd"]
        assert found["b"] == known < found["c"] < found["a"] < found["o\0dd"]
        assert benchmark_ids(session, task, [check("a"), check("o\ufffddd")]) == {
            "a": found["a"],
            "o\ufffddd": found["o\0dd"],
        }
        assert benchmark_ids(session, other, [check("a")])["a"] not in found.values()
        assert benchmark_ids(session, task, []) == {}
        rows = session.execute(select(Benchmark).where(Benchmark.task_id == task)).scalars().all()
        specs = {row.name: (row.kind, row.spec) for row in rows}
        assert specs["b"] == ("build", {"first": True})
        assert specs["c"] == ("case", {"case": 0})


def test_hundreds_take_one_statement(database: Database) -> None:
    with database.transaction() as session:
        task = bare_task(session)
        sent: list[str] = []

        def note(*given: Any) -> None:
            sent.append(given[2])

        event.listen(database.engine, "before_cursor_execute", note)
        try:
            found = benchmark_ids(session, task, [check(f"case {number}", number) for number in range(300)])
        finally:
            event.remove(database.engine, "before_cursor_execute", note)
        assert len(found) == 300
        assert len(sent) == 1


def test_two_who_make_the_same_one_at_once_have_the_same_one(database: Database) -> None:
    with database.transaction() as session:
        task = bare_task(session)
    found: list[int] = []

    def make() -> None:
        with Session(database.engine) as session:
            found.append(benchmark_ids(session, task, [check("same"), check("mine")])["same"])
            session.commit()

    with Session(database.engine) as first:
        mine = benchmark_ids(first, task, [check("same")])["same"]
        # It waits for the first one's commit, and sees what that made.
        second = threading.Thread(target=make)
        second.start()
        second.join(0.3)
        assert second.is_alive()
        first.commit()
        second.join()
    assert found == [mine]

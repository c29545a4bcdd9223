"""The log on a real Postgres: order, chain, and what candidates may write into it."""

import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from schema import events
from schema.database import Database
from schema.errors import HistoryError, NotFound
from schema.tables import Event, Task
from tests.support.tasks import bare_task


def make_task(database: Database) -> int:
    with database.transaction() as session:
        return bare_task(session)


WILD = {
    "max_abs": 3.4e38,
    "small": 5e-324,
    "zero": -0.0,
    "nan": math.nan,
    "inf": [math.inf, -math.inf],
    "text": "a\x00b\ud800c \u2028",
    "large": 2**70,
    "deep": [{"x": 1e16, "y": 1e15 + 0.5, "z": True, "w": None}],
}


def test_a_chain_over_wild_values_can_be_verified(database: Database) -> None:
    task = make_task(database)
    with database.transaction() as session:
        recorded = events.record(session, task, events.JobFinished(job_id="j", result=WILD))
    with database.transaction() as session:
        assert events.verify_chain(session, task) == 1
        (read,) = events.read(session, task)
    assert read == recorded
    assert isinstance(read.event, events.JobFinished)
    assert read.event.result["max_abs"] == int(3.4e38) or read.event.result["max_abs"] == 34 * 10**37
    assert read.event.result["nan"] is None
    assert read.event.result["text"] == "a\ufffdb?c \u2028"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=10,
    )
)
def test_storable_is_json_and_settles_at_once(data: Any) -> None:
    once = events.storable(data)
    assert events.storable(once) == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once


def test_two_writers_make_one_chain(database: Database) -> None:
    task = make_task(database)

    def write(author: str) -> None:
        for _ in range(10):
            with database.transaction() as session:
                events.append(session, task, events.CancelRequested(author=author))

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.transaction() as session:
        assert events.verify_chain(session, task) == 30
        assert [one.sequence for one in events.read(session, task, after=27)] == [28, 29, 30]


def test_verify_names_the_event_that_was_changed(database: Database) -> None:
    task = make_task(database)
    with database.transaction() as session:
        for author in "abc":
            events.append(session, task, events.CancelRequested(author=author))
    with database.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))  # goes round the trigger
        session.execute(text("""UPDATE events SET data = '{"author": "x"}' WHERE sequence = 2"""))
    with database.transaction() as session, pytest.raises(HistoryError, match="event 2 "):
        events.verify_chain(session, task)
    with database.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text("""UPDATE events SET data = '{"author": "b"}' WHERE sequence = 2"""))
        session.execute(text("DELETE FROM events WHERE sequence = 3"))
    with database.transaction() as session, pytest.raises(HistoryError, match="ends at 2"):
        events.verify_chain(session, task)


def test_nothing_follows_the_end(database: Database) -> None:
    task = make_task(database)
    with database.transaction() as session:
        events.append(session, task, events.TaskFinished(outcome="stopped", reason="r"))
    with database.transaction() as session:
        row = session.get_one(Task, task)
        assert (row.status, row.outcome) == ("finished", "stopped")
        with pytest.raises(HistoryError, match="comes too late"):
            events.append(session, task, events.ClockNoted())
        with pytest.raises(HistoryError, match="comes too late"):
            events.append(
                session, task, events.IntegrityResolved(tree="t", verdict="CLEAN", citation="c", author="a")
            )
        with pytest.raises(NotFound):
            events.append(session, task + 1, events.ClockNoted())


def test_an_event_of_a_newer_version_is_refused_by_name(database: Database) -> None:
    task = make_task(database)
    for kind, data, words in (
        ("from_tomorrow", {}, "from_tomorrow"),
        ("cancel_requested@2", {"author": "me"}, "only its version 1"),
        ("cancel_requested@0", {"author": "me"}, "cancel_requested@0"),
        ("cancel_requested@x", {"author": "me"}, "cancel_requested@x"),
        ("cancel_requested", {"who": 1}, "author"),
    ):
        with database.transaction() as session:
            session.add(
                Event(
                    task_id=task, sequence=1, kind=kind, data=data, at=text("now()"), previous_hash="", hash=kind
                )
            )  # fmt: skip
            session.flush()
            with pytest.raises(HistoryError, match=words):
                events.read(session, task)
            session.rollback()
    with database.transaction() as session:
        assert session.execute(select(Event)).all() == []


def test_every_event_comes_back_as_it_was() -> None:
    assert set(events.EVENTS.values()) == set(events.TaskEvent.__subclasses__())
    noted = events.parse("clock_noted", {})
    assert isinstance(noted, events.ClockNoted)

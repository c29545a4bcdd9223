"""Claims, heartbeats and results under fences, on a real Postgres."""

import threading

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import IntegrityError

from schema import events, leases
from schema.database import Database
from schema.tables import Event, Job, Outbox
from tests.support.tasks import bare_task

PAST = text("interval '1 s'")


@pytest.fixture
def task(database: Database) -> int:
    with database.transaction() as session:
        row = bare_task(session)
        leases.enqueue(session, job_id="j", task_id=row, kind="compile", queue="compile", payload={"a": 1})
        return row


def claim(database: Database, worker: str = "w") -> leases.Claim | None:
    with database.transaction() as session:
        return leases.claim(session, "j", worker=worker, lease_seconds=30)


def expire(database: Database) -> None:
    with database.transaction() as session:
        session.execute(update(Job).values(lease_expires_at=func.now() - PAST))


def kinds(database: Database) -> list[str]:
    with database.transaction() as session:
        return list(session.execute(select(Event.kind).order_by(Event.sequence)).scalars())


def test_a_job_can_not_be_asked_for_twice(database: Database, task: int) -> None:
    with pytest.raises(IntegrityError), database.transaction() as session:
        leases.enqueue(session, job_id="j", task_id=task, kind="compile", queue="compile", payload={})


def test_one_of_many_claims_wins(database: Database, task: int) -> None:
    won: list[leases.Claim] = []
    barrier = threading.Barrier(4)

    def race(name: str) -> None:
        barrier.wait()
        got = claim(database, name)
        if got is not None:
            won.append(got)

    threads = [threading.Thread(target=race, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.fence for one in won] == [1]


def test_a_result_counts_once_and_only_under_its_own_fence(database: Database, task: int) -> None:
    slow = claim(database, "slow")
    assert slow is not None
    expire(database)
    quick = claim(database, "quick")
    assert quick is not None
    assert (quick.fence, quick.attempt) == (2, 2)
    with database.transaction() as session:
        assert not leases.renew(session, slow, lease_seconds=30)
        assert not leases.complete(session, slow, {"who": "slow"})
        assert leases.renew(session, quick, lease_seconds=30)
        assert leases.complete(session, quick, {"who": "quick"})
    with database.transaction() as session:
        assert not leases.complete(session, quick, {"who": "again"})
        assert session.get_one(Job, "j").result == {"who": "quick"}
        events.verify_chain(session, task)
    assert kinds(database) == ["job_finished"]
    assert claim(database) is None


def test_a_late_result_of_a_finished_task_is_dropped(database: Database, task: int) -> None:
    held = claim(database)
    assert held is not None
    with database.transaction() as session:
        events.append(session, task, events.TaskFinished(outcome="cancelled", reason="r"))
    with database.transaction() as session:
        assert not leases.complete(session, held, {})
    assert kinds(database) == ["task_finished"]


def test_a_lost_job_goes_back_and_fails_after_its_attempts(database: Database, task: int) -> None:
    for attempt in (1, 2, 3):
        with database.transaction() as session:
            session.execute(text("DELETE FROM outbox"))
        held = claim(database)
        assert held is not None
        assert held.attempt == attempt
        with database.transaction() as session:
            assert leases.lose(session, held, reason="no g++", most_attempts=3)
        with database.transaction() as session:
            again = session.execute(select(func.count()).select_from(Outbox)).scalar_one()
            assert (session.get_one(Job, "j").status, again) == (
                ("queued", 1) if attempt < 3 else ("failed", 0)
            )
    assert kinds(database) == ["job_failed"]


def test_the_sweeper_spares_a_lease_that_was_renewed(database: Database, task: int) -> None:
    held = claim(database)
    assert held is not None
    expire(database)
    with database.transaction() as session:
        assert leases.expired(session) == [held]
        assert leases.renew(session, held, lease_seconds=30)  # the heartbeat comes in between
    with database.transaction() as session:
        assert not leases.lose(session, held, reason="dead", most_attempts=3, only_expired=True)
        assert session.get_one(Job, "j").status == "running"


def test_a_result_may_hold_what_jsonb_refuses(database: Database, task: int) -> None:
    held = claim(database)
    assert held is not None
    result = {"log": "nul \x00, lone \udc80", "worst": float("nan"), "most": float("-inf"), "big": 1e22}
    with database.transaction() as session:
        assert leases.complete(session, held, result)
    with database.transaction() as session:
        stored = session.get_one(Job, "j").result
        assert stored is not None
        assert stored["log"].startswith("nul ")
        assert events.verify_chain(session, task) == len(events.read(session, task)) == 1

"""A task that was cut off goes on as if nobody had touched it, wherever that was."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from coordinator.engine.bounds import Bounds
from coordinator.engine.digest import course, first_difference, task_digest
from coordinator.engine.driver import Driver, Scan
from coordinator.engine.replay import replay
from coordinator.engine.requests import cancel_run, cancel_task, resume_run, resume_task
from coordinator.engine.submit import submit_run
from coordinator.engine.sweeper import Sweeper
from coordinator.report.outcomes import task_row
from coordinator.report.verification import verify_task
from schema import events, leases
from schema.database import Database
from schema.errors import BadInput, HistoryError, NotFound
from schema.tables import Event, Job, Run, Task
from tests.support.played import answer, frozen

LATE = timedelta(days=3)
Interruption = Callable[[Database, int], None]


def submit(database: Database, *names: str, **options: object) -> list[int]:
    with database.transaction() as session:
        run = submit_run(session, frozen(*(names or ("Add",))), **options)
        return list(session.execute(select(Task.id).where(Task.run_id == run).order_by(Task.id)).scalars())


def make_driver(database: Database) -> Driver:
    return Driver(database, scan=lambda *_: Scan(verdict="CLEAN"), retrieve=lambda *_: ("pad",))


def cancel(database: Database, task: int) -> None:
    with database.transaction() as session:
        assert cancel_task(session, task, author="me")


def poison(database: Database, task: int) -> None:
    """The oldest job of a task kills all its workers."""
    with database.transaction() as session:
        job = _queued(task, session)
        claim = leases.claim(session, job, worker="dies", lease_seconds=30)
        assert claim is not None
        assert leases.lose(session, claim, reason="it died", most_attempts=0)


def _queued(task: int, session: Session) -> str:
    query = select(Job.id).where(Job.task_id == task, Job.status == "queued").order_by(Job.created_at, Job.id)
    return session.execute(query.limit(1)).scalar_one()


def play(
    database: Database, task: int, *, at: int | None = None, how: Interruption = cancel
) -> tuple[list[events.Recorded], int]:
    """Take a task to its end, a job at a time; its log, and how many jobs that took.

    Args:
        at: before this job it is interrupted, and resumed.
        how: in which way.
    """
    driver = make_driver(database)
    for done in range(60):
        driver.run_once()
        if at == done:
            how(database, task)
            driver.run_once()
            with database.transaction() as session:
                assert session.get_one(Task, task).outcome in {"cancelled", "infrastructure"}
                assert replay(events.read(session, task)) is None
                resume_task(session, task, author="me")
            driver.run_once()
        with database.transaction() as session:
            if session.get_one(Task, task).status == "finished":
                return events.read(session, task), done
            claim = leases.claim(session, _queued(task, session), worker="w", lease_seconds=30)
            assert claim is not None
            assert leases.complete(session, claim, answer(session, claim).model_dump(mode="json"))
    raise AssertionError("it never ended")


@pytest.mark.parametrize("model", ["kb", "some/model"])
def test_wherever_it_was_cut_off_it_comes_to_the_same(database: Database, model: str) -> None:
    (first,) = submit(database, model=model)
    peace, jobs = play(database, first)
    assert jobs > 6
    for at in range(jobs):
        how = (cancel, poison)[(at + (model == "kb")) % 2]
        (task,) = submit(database, model=model)
        log, _ = play(database, task, at=at, how=how)
        assert first_difference(log, peace) == "", (at, how)
        assert task_digest(log) == task_digest(peace)
        assert replay(log) is None
        with database.transaction() as session:
            row = session.get_one(Task, task)
            assert verify_task(session, row)[0] == []
            assert events.verify_chain(session, task) == len(log)
            # Nothing that was cut off counts: neither turns nor trials.
            told, undisturbed = (
                task_row(session, one, session.get_one(Run, one.run_id))
                for one in (row, session.get_one(Task, first))
            )
            for name in ("outcome", "reason", "rounds", "turns", "trials_run", "tokens", "match_rate"):
                assert getattr(told, name) == getattr(undisturbed, name), name


def test_the_time_at_an_end_is_not_the_tasks(database: Database) -> None:
    (task,) = submit(database, bounds=Bounds(wall_seconds=24 * 3600.0))
    driver, sweeper = make_driver(database), Sweeper(database)
    driver.run_once()
    cancel(database, task)
    driver.run_once()
    resumed_late(database, task)
    driver.run_once()
    assert sweeper.overdue_tasks() == 0  # three days later, and with a day to live
    with database.transaction() as session:
        row = session.get_one(Task, task)
        assert row.finished_at is None
        assert task_row(session, row, session.get_one(Run, row.run_id)).wall_s < 3600
    log, _ = play(database, task)
    assert isinstance(log[-1].event, events.TaskFinished)
    assert log[-1].event.outcome == "passed"
    assert replay(log) is None
    with database.transaction() as session:
        row = session.get_one(Task, task)
        assert row.finished_at == log[-1].at
        assert task_row(session, row, session.get_one(Run, row.run_id)).wall_s < 3600


def test_a_resumed_task_still_has_its_wall_clock(database: Database) -> None:
    (task,) = submit(database, bounds=Bounds(wall_seconds=1.0))
    driver, sweeper = make_driver(database), Sweeper(database)
    driver.run_once()
    cancel(database, task)
    driver.run_once()
    with database.transaction() as session:
        resume_task(session, task, author="me")
    driver.run_once()
    with database.transaction() as session:
        session.execute(func.pg_sleep(1.1).select())
    assert sweeper.overdue_tasks() == 1
    driver.run_once()
    with database.transaction() as session:
        assert session.get_one(Task, task).outcome == "exhausted"


def resumed_late(database: Database, task: int) -> None:
    """Resume a task, days after all that its log has so far."""
    with database.transaction() as session:
        row = session.get_one(Task, task)
        session.execute(update(Task).where(Task.id == task).values(created_at=Task.created_at - LATE))
        # As nobody but a test can: the log is rewritten with an earlier clock.
        session.execute(text("SET LOCAL session_replication_role = replica"))
        previous = ""
        for one in session.execute(
            select(Event).where(Event.task_id == task).order_by(Event.sequence)
        ).scalars():
            one.at -= LATE
            one.previous_hash = previous
            previous = one.hash = events.event_hash(previous, task, one.sequence, one.kind, one.data, one.at)
        row.last_hash = previous
        row.finished_at = one.at
    with database.transaction() as session:
        resume_task(session, task, author="me")


def test_what_was_under_way_comes_too_late(database: Database) -> None:
    (task,) = submit(database)
    driver = make_driver(database)
    driver.run_once()
    with database.transaction() as session:
        old = leases.claim(session, _queued(task, session), worker="slow", lease_seconds=30)
        assert old is not None
    cancel(database, task)
    driver.run_once()
    with database.transaction() as session:
        resume_task(session, task, author="me")
    driver.run_once()
    with database.transaction() as session:
        assert not leases.renew(session, old, lease_seconds=30)
        assert not leases.complete(session, old, answer(session, old).model_dump(mode="json"))
        fresh = _queued(task, session)
    assert fresh != old.job_id
    log, _ = play(database, task)
    assert replay(log) is None
    assert [one["kind"] for one in course(log)].count("job_finished") > 0


def test_only_what_did_not_end_by_itself_is_resumed(database: Database) -> None:
    passed, cancelled, active = submit(database, "Add", "Sum", "Mul")
    play(database, passed)
    cancel(database, cancelled)
    make_driver(database).step(cancelled)
    with database.transaction() as session:
        run = session.get_one(Task, passed).run_id
        with pytest.raises(BadInput, match=r"own end: passed"):
            resume_task(session, passed, author="me")
        with pytest.raises(BadInput, match="has not ended"):
            resume_task(session, active, author="me")
        with pytest.raises(NotFound):
            resume_task(session, 10**9, author="me")
        with pytest.raises(NotFound):
            resume_run(session, 10**9, author="me")
        with pytest.raises(HistoryError, match="too late"):
            events.append(session, passed, events.TaskResumed(author="me"))
        with pytest.raises(HistoryError, match="too late"):
            events.append(session, cancelled, events.CancelRequested(author="me"))
    with database.transaction() as session:
        assert resume_run(session, run, author="me") == 1
        assert resume_run(session, run, author="me") == 0
        assert cancel_run(session, run, author="me") == 2  # and again
    make_driver(database).run_once()
    with database.transaction() as session:
        assert resume_run(session, run, author="you") == 2
        recorded = events.read(session, cancelled)
        assert [type(one.event).__name__ for one in recorded].count("TaskResumed") == 2
    log, _ = play(database, cancelled)
    assert replay(log) is None

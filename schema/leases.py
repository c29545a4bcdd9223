"""How a worker takes a job, keeps it, and gives it back (research/queues.md, rules 1 to 5).

The fence is a number that grows with each claim. Every later write of that claim is conditional on
it, so a worker that lost its lease (a long pause, a partition, a second delivery) can't overwrite the
one that took over. All times are the database's.
"""

import json
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from schema import events
from schema.errors import HistoryError
from schema.pipeline import Pipeline
from schema.tables import Job, Outbox, Task

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A job that this worker may run under this fence."""

    job_id: str
    task_id: int
    kind: str
    payload: dict[str, Any]
    fence: int
    attempt: int


def enqueue(
    session: Session, *, job_id: str, task_id: int, kind: str, queue: str, payload: dict[str, Any]
) -> None:
    """Put a job and its outbox row into the current transaction.

    The id is deterministic, so asking twice for the same job violates the primary key: a bug shows.
    """
    row = {"id": job_id, "kind": kind, "queue": queue, "payload": payload}
    with Pipeline(session) as pipeline:
        enqueue_all(pipeline, task_id, [row])


_INSERT_JOBS = b"""
INSERT INTO jobs (id, task_id, kind, queue, payload)
SELECT id, %(task_id)s, kind, queue, payload
FROM json_to_recordset(CAST(%(rows)s AS json)) AS r (id text, kind text, queue text, payload jsonb)
"""
_INSERT_OUTBOX = b"INSERT INTO outbox (job_id) SELECT json_array_elements_text(CAST(%(ids)s AS json))"


def enqueue_all(pipeline: Pipeline, task_id: int, rows: list[dict[str, Any]]) -> None:
    """As `enqueue` for several jobs of a task, each the columns `id`, `kind`, `queue` and `payload`."""
    if rows:
        pipeline.send(_INSERT_JOBS, {"task_id": task_id, "rows": json.dumps(rows)})
        pipeline.send(_INSERT_OUTBOX, {"ids": json.dumps([row["id"] for row in rows])})


def claim(session: Session, job_id: str, *, worker: str, lease_seconds: float) -> Claim | None:
    """Take a job, or None: it is finished, cancelled, unknown, or another worker's lease is alive."""
    row = session.execute(
        update(Job)
        .where(Job.id == job_id)
        .where(or_(Job.status == "queued", (Job.status == "running") & (Job.lease_expires_at < func.now())))
        .values(
            status="running",
            fence=Job.fence + 1,
            attempts=Job.attempts + 1,
            worker=worker,
            started_at=func.now(),
            lease_expires_at=func.now() + timedelta(seconds=lease_seconds),
        )
        .returning(Job.id, Job.task_id, Job.kind, Job.payload, Job.fence, Job.attempts)
    ).one_or_none()
    if row is None:
        return None
    return Claim(
        job_id=row.id,
        task_id=row.task_id,
        kind=row.kind,
        payload=row.payload,
        fence=row.fence,
        attempt=row.attempts,
    )


def renew(session: Session, held: Claim, *, lease_seconds: float) -> bool:
    """Heartbeat: keep the lease. False means it is lost, or the job was cancelled: stop working."""
    done = session.execute(
        update(Job)
        .where(Job.id == held.job_id, Job.fence == held.fence, Job.status == "running")
        .values(lease_expires_at=func.now() + timedelta(seconds=lease_seconds))
        .returning(Job.id)
    ).one_or_none()
    return done is not None


def complete(session: Session, held: Claim, result: dict[str, Any]) -> bool:
    """Write a result and its event, if this claim still holds. False: the result came late and is dropped.

    Lock order is task, then job, here, in `lose` and in the driver: no two of them can deadlock.
    """
    _lock_task(session, held.task_id)
    # A candidate's values and texts may hold what jsonb refuses: NUL, NaN, infinity.
    result = events.storable(result)
    if not _close(session, held, status="done", result=result):
        return False
    try:
        events.append(session, held.task_id, events.JobFinished(job_id=held.job_id, result=result))
    except HistoryError:
        log.info("late result of job %s: its task has finished", held.job_id)
        return False
    return True


def lose(
    session: Session, held: Claim, *, reason: str, most_attempts: int, only_expired: bool = False
) -> bool:
    """Give a job back after an infrastructure failure; after `most_attempts` it fails for good.

    Args:
        only_expired: the sweeper's way: do nothing if a heartbeat came in between.

    Returns whether this claim still held.
    """
    _lock_task(session, held.task_id)
    if only_expired:
        still = session.execute(
            select(Job.id)
            .where(Job.id == held.job_id, Job.fence == held.fence, Job.lease_expires_at < func.now())
            .with_for_update()
        ).one_or_none()
        if still is None:
            return False
    if held.attempt < most_attempts:
        done = session.execute(
            update(Job)
            .where(Job.id == held.job_id, Job.fence == held.fence, Job.status == "running")
            .values(status="queued", lease_expires_at=None, worker=None)
            .returning(Job.id)
        ).one_or_none()
        if done is not None:
            session.add(Outbox(job_id=held.job_id))
            session.flush()
        return done is not None
    if not _close(session, held, status="failed", result={"reason": reason}):
        return False
    try:
        events.append(
            session,
            held.task_id,
            events.JobFailed(job_id=held.job_id, reason=reason, attempts=held.attempt),
        )
    except HistoryError:
        return False
    return True


def expired(session: Session, *, most: int = 100) -> list[Claim]:
    """Running jobs whose lease ran out: the sweeper's work, with `lose(only_expired=True)`."""
    rows = session.execute(
        select(Job)
        .where(Job.status == "running", Job.lease_expires_at < func.now())
        .order_by(Job.id)
        .limit(most)
    ).scalars()
    return [
        Claim(
            job_id=row.id,
            task_id=row.task_id,
            kind=row.kind,
            payload=row.payload,
            fence=row.fence,
            attempt=row.attempts,
        )
        for row in rows
    ]


def _lock_task(session: Session, task_id: int) -> None:
    session.execute(select(Task.id).where(Task.id == task_id).with_for_update())


def _close(session: Session, held: Claim, *, status: str, result: dict[str, Any]) -> bool:
    done = session.execute(
        update(Job)
        .where(Job.id == held.job_id, Job.fence == held.fence, Job.status == "running")
        .values(status=status, finished_at=func.now(), lease_expires_at=None, result=result)
        .returning(Job.id)
    ).one_or_none()
    if done is None:
        log.info("late result of job %s under fence %s dropped", held.job_id, held.fence)
    return done is not None

"""How a worker takes a job, keeps it, and gives it back (research/queues.md, rules 1 to 5).

The fence is a number that grows with each claim. Every later write of that claim is conditional on
it, so a worker that lost its lease (a long pause, a partition, a second delivery) can't overwrite the
one that took over. All times are the database's.

A fence can be guessed, so a claim is also given a random token, and has to show both. The writes are functions of the
database (`schema.migrations.claiming`), the same ones whatever the role: a worker's role can't touch jobs, events and
tasks in another way (`schema.roles`). Lock order is task, then job, there and in the driver: no two can deadlock.
"""

import json
import logging
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Result, func, select, text
from sqlalchemy.orm import Session

from schema import events
from schema.canonical import canonical_json
from schema.pipeline import Pipeline
from schema.tables import Job

log = logging.getLogger(__name__)

_CLAIM = text("SELECT * FROM opmend_claim(:job, :worker, :lease)")
_RENEW = text("SELECT opmend_renew(:job, :fence, :token, :lease)")
_FINISH = text("SELECT opmend_finish(:job, :fence, :token, :result)")
_LOSE = text("SELECT opmend_lose(:job, :fence, :token, :reason, :most)")
_EXPIRE = text("SELECT opmend_expire(:job, :fence, :reason, :most)")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A job that this worker may run under this fence."""

    job_id: str
    task_id: int
    kind: str
    payload: dict[str, Any]
    fence: int
    attempt: int
    # Known to whoever made this claim; the sweeper's claims have none.
    token: UUID | None = field(default=None, compare=False, repr=False)


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
    row = session.execute(_CLAIM, {"job": job_id, "worker": worker, "lease": lease_seconds}).one_or_none()
    if row is None:
        return None
    session.expire_all()  # rows that this session has read may be others now
    return Claim(
        job_id=job_id,
        task_id=row.task_id,
        kind=row.kind,
        payload=row.payload,
        fence=row.fence,
        attempt=row.attempts,
        token=row.token,
    )


def renew(session: Session, held: Claim, *, lease_seconds: float) -> bool:
    """Heartbeat: keep the lease. False means it is lost, or the job was cancelled: stop working."""
    return bool(session.execute(_RENEW, {**_shown(held), "lease": lease_seconds}).scalar_one())


def complete(session: Session, held: Claim, result: dict[str, Any]) -> bool:
    """Write a result and its event, if this claim still holds. False: the result came late and is dropped."""
    # A candidate's values and texts may hold what jsonb refuses: NUL, NaN, infinity.
    text_of_result = canonical_json(events.storable(result)).decode()
    return _said(session, held, session.execute(_FINISH, {**_shown(held), "result": text_of_result}))


def lose(
    session: Session, held: Claim, *, reason: str, most_attempts: int, only_expired: bool = False
) -> bool:
    """Give a job back after an infrastructure failure; after `most_attempts` it fails for good.

    Args:
        only_expired: the sweeper's way, which has no token: do nothing if a heartbeat came in between.

    Returns whether this claim still held.
    """
    why = {"reason": events.storable(reason), "most": most_attempts}
    if only_expired:
        return _said(
            session, held, session.execute(_EXPIRE, {"job": held.job_id, "fence": held.fence, **why})
        )
    return _said(session, held, session.execute(_LOSE, {**_shown(held), **why}))


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


def _shown(held: Claim) -> dict[str, Any]:
    return {"job": held.job_id, "fence": held.fence, "token": held.token}


def _said(session: Session, held: Claim, answer: Result[Any]) -> bool:
    """Whether a claim still held, by what the function says."""
    said = answer.scalar_one()
    session.expire_all()  # as after a claim
    if said == "late":
        log.info("late result of job %s under fence %s dropped: the claim is over", held.job_id, held.fence)
    elif said == "finished":
        log.info("late result of job %s: its task has finished", held.job_id)
    return bool(said == "kept")

"""The sweeper: finds what got stuck, in every state that is not terminal, and sets it going again.

| what is stuck                                             | what it does                       |
|-----------------------------------------------------------|------------------------------------|
| running job, lease expired (its worker died)              | back to the queue, or failed       |
| queued job, no outbox row, no message (Redis was flushed)  | an outbox row again                |
| open job of a finished task                               | cancelled                          |
| active task past its wall clock, without events           | clock_noted, so that decide sees it |
| active task, nothing open, nothing due                    | decided on again                   |

Everything is conditional on what the row is at that moment, so that several sweepers are harmless.
"""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ScalarSelect, exists, func, select, update
from sqlalchemy.orm import aliased

from coordinator.engine.bounds import Bounds
from schema import leases
from schema.database import Database
from schema.errors import HistoryError, InfrastructureError
from schema.events import ClockNoted, TaskResumed, append
from schema.tables import Event, Job, Outbox, Task

log = logging.getLogger(__name__)

_OPEN = ("queued", "running")


def _paused() -> ScalarSelect[Any]:
    """How long a task was at an end before it was resumed, all times together."""
    resumed, end = aliased(Event), aliased(Event)
    return (
        select(func.coalesce(func.sum(resumed.at - end.at), timedelta()))
        .join(end, (end.task_id == resumed.task_id) & (end.sequence == resumed.sequence - 1))
        .where(resumed.task_id == Task.id, resumed.kind == TaskResumed.kind)
        .correlate(Task)
        .scalar_subquery()
    )


class Sweeper:
    """Sweeps until it is stopped.

    Args:
        database: where the jobs are.
        waiting: messages on a queue (Relay.waiting); None without a broker: lost messages stay lost.
        most_attempts: lost leases after which a job fails for good.
        lost_seconds: how long a job has left the outbox before it can count as lost.
    """

    def __init__(
        self,
        database: Database,
        *,
        waiting: Callable[[str], int] | None = None,
        most_attempts: int = 3,
        lost_seconds: float = 5.0,
    ) -> None:
        self.database = database
        self._waiting = waiting
        self._most_attempts = most_attempts
        self._lost_seconds = lost_seconds
        self._short: set[str] = set()  # queues with too few messages at the last sweep
        # Published jobs that nobody has claimed, by id and fence, and when they were first seen.
        self._published: dict[tuple[str, int], datetime] = {}

    def sweep(self) -> dict[str, int]:
        """Sweep once; how many of each kind were set going.

        Raises:
            InfrastructureError: Postgres or Redis broke in between; what was done stays done.
        """
        return {
            "expired": self.expired_leases(),
            "orphaned": self.orphaned_jobs(),
            "overdue": self.overdue_tasks(),
            "idle": self.idle_tasks(),
            "lost": self.lost_messages(),
        }

    def run(self, stop: threading.Event, *, poll_seconds: float = 1.0) -> None:
        """Sweep until `stop` is set."""
        while not stop.wait(poll_seconds):
            try:
                found = {name: count for name, count in self.sweep().items() if count}
            except InfrastructureError as error:
                log.warning("the sweeper waits: %s", error)
                continue
            if found:
                log.info("swept: %s", ", ".join(f"{count} {name}" for name, count in found.items()))

    def expired_leases(self) -> int:
        """Running jobs whose worker stopped its heartbeat."""
        with self.database.transaction() as session:
            held = leases.expired(session)
        count = 0
        for claim in held:
            with self.database.transaction() as session:
                count += leases.lose(
                    session,
                    claim,
                    reason="its worker stopped answering",
                    most_attempts=self._most_attempts,
                    only_expired=True,
                )
        return count

    def lost_messages(self) -> int:
        """Queued jobs that no message stands for: Redis was flushed, or a worker died between two steps.

        Age counts from when a job was first seen without an outbox row: it may have waited in there for hours, and
        have been published a moment ago. A queue as long as its old jobs has a message for each, so a busy queue is
        left alone. A message that a worker has just taken is in no queue either: only what is missing twice in a row
        is lost.
        """
        if self._waiting is None:
            return 0
        count = 0
        with self.database.transaction() as session:
            # Old jobs first, so that under SKIP LOCKED two sweepers don't both write a row for one.
            rows = session.execute(
                select(Job.id, Job.queue, Job.fence, func.clock_timestamp())
                .where(Job.status == "queued", ~exists().where(Outbox.job_id == Job.id))
                .order_by(Job.created_at, Job.id)
                .limit(1000)
                .with_for_update(skip_locked=True, of=Job)
            ).all()
            self._published = {
                (job_id, fence): self._published.get((job_id, fence), now) for job_id, _, fence, now in rows
            }
            by_queue: dict[str, list[tuple[str, int]]] = {}
            for job_id, queue, fence, now in rows:
                if now - self._published[job_id, fence] >= timedelta(seconds=self._lost_seconds):
                    by_queue.setdefault(queue, []).append((job_id, fence))
            short = {queue for queue, ids in by_queue.items() if self._waiting(queue) < len(ids)}
            for queue in sorted(short & self._short):
                for job_id, fence in by_queue[queue]:
                    session.add(Outbox(job_id=job_id))
                    del self._published[job_id, fence]
                    count += 1
            self._short = short - self._short
        return count

    def orphaned_jobs(self) -> int:
        """Open jobs of finished tasks."""
        with self.database.transaction() as session:
            finished = select(Task.id).where(Task.status == "finished")
            rows = session.execute(
                update(Job)
                .where(Job.status.in_(_OPEN), Job.task_id.in_(finished))
                .values(status="cancelled", finished_at=func.now(), lease_expires_at=None)
                .returning(Job.id)
            ).all()
            return len(rows)

    def overdue_tasks(self) -> int:
        """Active tasks past their wall clock in which nothing happens."""
        with self.database.transaction() as session:
            rows = session.execute(
                select(
                    Task.id,
                    Event.data["bounds"]["wall_seconds"].as_float(),
                    func.extract("epoch", func.now() - Event.at - _paused()),
                )
                .join(Event, (Event.task_id == Task.id) & (Event.sequence == 1))
                .where(Task.status == "active", Task.decided_sequence == Task.last_sequence)
            ).all()
        count = 0
        for task_id, wall, age in rows:
            if float(age) <= (Bounds().wall_seconds if wall is None else wall):
                continue
            try:
                with self.database.transaction() as session:
                    append(session, task_id, ClockNoted())
                count += 1
            except HistoryError:
                continue  # it finished in between
        return count

    def idle_tasks(self) -> int:
        """Active tasks that wait for nothing."""
        with self.database.transaction() as session:
            rows = session.execute(
                update(Task)
                .where(
                    Task.status == "active",
                    Task.last_sequence > 0,
                    Task.decided_sequence == Task.last_sequence,
                    ~exists().where(Job.task_id == Task.id, Job.status.in_(_OPEN)),
                )
                .values(decided_sequence=Task.last_sequence - 1)
                .returning(Task.id)
            ).all()
            return len(rows)

"""The relay: takes jobs from the outbox to their queue.

It lets only so many messages stand in a queue as its workers take soon; the rest waits in the outbox, and the runs
share what is published next (coordinator.engine.fair_share).

A row is deleted in the transaction that published it. Killed in between, it publishes again, which is
harmless: the job id is Celery's task id, and the claim in Postgres decides who runs it. A broker that
is down costs nothing but time: the rows stay.
"""

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import replace

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError
from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from coordinator.engine.fair_share import Share, depth, share_out
from schema.database import Database
from schema.errors import BrokerUnavailable, InfrastructureError
from schema.queues import TASK_NAMES, celery_app
from schema.tables import Job, Outbox, Task

log = logging.getLogger(__name__)

_LONGEST_WAIT = 5.0


class Relay:
    """Publishes what the outbox holds. Several relays at once share the work.

    Args:
        database: where the outbox is.
        broker_url: the Redis to publish to.
    """

    def __init__(self, database: Database, broker_url: str) -> None:
        self.database = database
        self.app = celery_app("opmend-relay", broker_url)
        # `run` tries again by itself. kombu would do so for seconds, with a transaction open.
        self.app.conf.broker_transport_options = {
            **self.app.conf.broker_transport_options,
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0,
        }
        self._woken = threading.Event()

    def wake(self) -> None:
        """Publish at once: there is something new."""
        self._woken.set()

    def publish(self) -> int:
        """Publish what the queues have room for, and return how many rows are gone from the outbox.

        Raises:
            BrokerUnavailable: Redis refused; the rows stay.
            DatabaseUnavailable: Postgres broke.
        """
        return sum(self._publish(queue) for queue in TASK_NAMES)

    def _publish(self, queue: str) -> int:
        with self.database.transaction() as session:
            shares, running = _shares(session, queue)
            if not shares:
                return 0
            standing, jobs = self._standing(queue)
            for run_id in _runs_of(session, jobs):
                if run_id in shares:
                    shares[run_id] = replace(shares[run_id], under_way=shares[run_id].under_way + 1)
            room = depth(running) - standing
            gone = 0
            for run_id, count in share_out(shares, room).items():
                gone += self._publish_of(session, queue, run_id, count)
            return gone

    def _publish_of(self, session: Session, queue: str, run_id: int, count: int) -> int:
        rows = session.execute(
            select(Outbox.id, Job.id, Job.status)
            .join(Job, Job.id == Outbox.job_id)
            .where(Outbox.queue == queue, Outbox.run_id == run_id)
            .order_by(Outbox.id)
            .limit(count)
            .with_for_update(skip_locked=True, of=Outbox)
        ).all()
        # A job that runs, ended or was cancelled needs no message.
        for _, job_id, status in rows:
            if status == "queued":
                self._send(job_id, queue)
        session.execute(delete(Outbox).where(Outbox.id.in_([row[0] for row in rows])))
        return len(rows)

    def _standing(self, queue: str) -> tuple[int, list[str]]:
        """How many messages stand in a queue, and the job ids of those that are taken next."""
        try:
            with self.app.connection_for_read() as connection:
                client = connection.default_channel.client
                count, messages = int(client.llen(queue)), client.lrange(queue, -_MOST, -1)
        except (OperationalError, RedisError, OSError) as error:
            raise self._unavailable(error) from error
        return count, [job for message in messages if (job := _job_of(message))]

    def waiting(self, queue: str) -> int:
        """How many messages wait on a queue.

        Raises:
            BrokerUnavailable: Redis refused.
        """
        try:
            with self.app.connection_for_read() as connection:
                return int(connection.default_channel.client.llen(queue))
        except (OperationalError, RedisError, OSError) as error:
            raise self._unavailable(error) from error

    def run(self, stop: threading.Event, *, poll_seconds: float = 0.1) -> None:
        """Publish until `stop` is set."""
        wait = poll_seconds
        silent = False
        while not stop.is_set():
            self._woken.wait(wait)
            self._woken.clear()
            try:
                while self.publish():
                    pass
            except InfrastructureError as error:
                wait = min(max(wait, poll_seconds) * 2, _LONGEST_WAIT)
                if not silent:
                    log.warning("the relay keeps its jobs and tries again: %s", error)
                silent = True
                stop.wait(wait)
                continue
            if silent:
                log.info("the relay publishes again")
            wait, silent = poll_seconds, False

    def close(self) -> None:
        """Give the connections to the broker back."""
        self.app.close()

    def _send(self, job_id: str, queue: str) -> None:
        try:
            self.app.send_task(TASK_NAMES[queue], args=[job_id], task_id=job_id, queue=queue, retry=False)
        except (OperationalError, RedisError, OSError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> BrokerUnavailable:
        return BrokerUnavailable(
            f"Redis does not answer: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            where=self.app.connection().as_uri(),
            mend="start it, or correct BROKER_URL; without that variable opmend starts its own (`opmend up`)",
        )


# Which runs wait for a queue is found by skipping along the index, from run to run: a run may have 100,000 rows.
_SHARES = text("""
WITH RECURSIVE waiting (run_id) AS (
    (SELECT run_id FROM outbox WHERE queue = :queue ORDER BY run_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.run_id FROM outbox o WHERE o.queue = :queue AND o.run_id > w.run_id ORDER BY o.run_id LIMIT 1)
    FROM waiting w WHERE w.run_id IS NOT NULL
), running (run_id, jobs) AS (
    SELECT t.run_id, count(*) FROM jobs j JOIN tasks t ON t.id = j.task_id
    WHERE j.status = 'running' AND j.queue = :queue GROUP BY t.run_id
)
SELECT w.run_id, r.priority, coalesce(running.jobs, 0), (SELECT sum(jobs) FROM running),
       (SELECT count(*) FROM (
            SELECT 1 FROM outbox o WHERE o.queue = :queue AND o.run_id = w.run_id ORDER BY o.id LIMIT :most
        ) few)
FROM waiting w JOIN runs r ON r.id = w.run_id LEFT JOIN running ON running.run_id = w.run_id
""")
_MOST = 256  # rows of a run, or messages of a queue, that one look takes into account


def _shares(session: Session, queue: str) -> tuple[dict[int, Share], int]:
    """What each run that waits for a queue has there, without what stands in the broker; and all that run."""
    found = session.execute(_SHARES, {"queue": queue, "most": _MOST}).all()
    shares = {
        run_id: Share(priority=priority, waiting=waiting, under_way=running)
        for run_id, priority, running, _, waiting in found
    }
    return shares, int(found[0][3] or 0) if found else 0


def _job_of(message: bytes) -> str:
    """The job id of a message; "" for what somebody else has put into the queue."""
    try:
        return str(json.loads(message)["headers"]["id"])
    except (ValueError, KeyError, TypeError):
        return ""


def _runs_of(session: Session, jobs: Sequence[str]) -> list[int]:
    """The run of each job that is known."""
    if not jobs:
        return []
    known = select(Task.run_id).join(Job, Job.task_id == Task.id).where(Job.id.in_(jobs))
    return list(session.execute(known).scalars())

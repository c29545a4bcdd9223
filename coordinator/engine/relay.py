"""The relay: takes jobs from the outbox to their queue.

A row is deleted in the transaction that published it. Killed in between, it publishes again, which is
harmless: the job id is Celery's task id, and the claim in Postgres decides who runs it. A broker that
is down costs nothing but time: the rows stay.
"""

import logging
import threading

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError
from sqlalchemy import delete, select

from schema.database import Database
from schema.errors import BrokerUnavailable, InfrastructureError
from schema.queues import TASK_NAMES, celery_app
from schema.tables import Job, Outbox

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

    def publish(self, *, most: int = 100) -> int:
        """Publish up to `most` rows and return how many rows are gone from the outbox.

        Raises:
            BrokerUnavailable: Redis refused; the rows stay.
            DatabaseUnavailable: Postgres broke.
        """
        with self.database.transaction() as session:
            rows = session.execute(
                select(Outbox.id, Job.id, Job.queue, Job.status)
                .join(Job, Job.id == Outbox.job_id)
                .order_by(Outbox.id)
                .limit(most)
                .with_for_update(skip_locked=True, of=Outbox)
            ).all()
            if not rows:
                return 0
            # A job that runs, ended or was cancelled needs no message.
            for _, job_id, queue, status in rows:
                if status == "queued":
                    self._send(job_id, queue)
            session.execute(delete(Outbox).where(Outbox.id.in_([row[0] for row in rows])))
            return len(rows)

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

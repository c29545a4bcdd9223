"""Run one job the way every worker must: claim, heartbeat, work, write back under the fence.

Both worker rooms use this, so a guarantee is made in one place:

| what goes wrong                      | what happens                                              |
|--------------------------------------|-----------------------------------------------------------|
| the message arrives twice            | the second claim finds the lease alive and does nothing    |
| the worker dies                      | the lease runs out, the sweeper queues the job again       |
| the worker stalls past its lease     | its result is late: zero rows match its fence, it is dropped |
| its machine fails (InfrastructureError) | the job goes back to the queue; the candidate is not blamed |
| our own code fails                   | the same, with the traceback in the worker's log            |
| the job is cancelled, or taken over  | the work is told within a beat, and stops; what does not stop |
|                                      | is ended with its process                                  |
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from schema import leases
from schema.database import Database
from schema.errors import BadInput, InfrastructureError, JobLost, OpmendError
from schema.jobs import PAYLOADS, JobKind
from schema.lost import go_on
from schema.results import Record

log = logging.getLogger(__name__)

# A lease is renewed at least this often: how soon a worker notices that its job was cancelled.
LONGEST_BEAT = 2.0
# Seconds that work which can't count any more has to stop by itself. An import of torch on a busy machine takes half of
# them, and would have to be done again in another process.
PATIENCE = 60.0


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a handler gets: the claim, its payload as a model, and the store.

    `lost` is set when the lease is gone (another worker has the job, or it was cancelled). Whatever takes longer than
    a moment is given it, and stops with JobLost.
    """

    claim: leases.Claim
    payload: Record
    database: Database
    lost: threading.Event = field(default_factory=threading.Event)

    def go_on(self) -> None:
        """Return if the result may still count.

        Raises:
            JobLost: it can't.
        """
        go_on(self.lost)


Handler = Callable[[Work], Record]


def end_process() -> None:
    """End this process at once; the pool of a worker starts another."""
    logging.shutdown()
    os._exit(70)


def worker_name() -> str:
    """How this process is known in the store: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


def execute(
    database: Database,
    job_id: str,
    handlers: Mapping[JobKind, Handler],
    *,
    lease_seconds: float,
    most_attempts: int,
    end: Callable[[], None] | None = None,
    patience: float = PATIENCE,
) -> bool:
    """Run a job if it can be claimed. Returns whether its result counted.

    Args:
        handlers: one a kind of job that this worker runs.
        lease_seconds: length of the lease; the heartbeat renews it every third of that, or more often.
        most_attempts: lost leases or machine failures after which the job fails as infrastructure.
        end: called, in the heartbeat's thread, when a handler goes on after its lease was lost; a worker's process
            ends itself, since nothing else stops a C function that does not return.
        patience: seconds that the handler has for stopping.
    """
    with database.transaction() as session:
        claim = leases.claim(session, job_id, worker=worker_name(), lease_seconds=lease_seconds)
    if claim is None:
        log.info("job %s is not to be had: finished, cancelled, or alive elsewhere", job_id)
        return False
    kind = JobKind(claim.kind)
    lost = threading.Event()
    done = threading.Event()
    heart = threading.Thread(
        target=_beat,
        args=(database, claim, lease_seconds, lost, done, end, patience),
        name=f"heartbeat {job_id}",
        daemon=True,
    )
    heart.start()
    reason: str | None = None
    try:
        payload = PAYLOADS[kind].model_validate(claim.payload)
        result = handlers[kind](Work(claim=claim, payload=payload, database=database, lost=lost))
    except JobLost:
        log.info("job %s was cancelled, or is another worker's: stopped", job_id)
        return False
    except BadInput as error:
        # The same job would fail in the same way on every worker: no use in trying again.
        reason, most_attempts = str(error), 0
        log.warning("job %s: %s", job_id, reason)
    except InfrastructureError as error:
        reason = str(error)
        log.warning("job %s: %s", job_id, reason)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if not isinstance(error, OpmendError) else str(error)
        log.exception("job %s failed in the worker", job_id)
    finally:
        done.set()
        heart.join()
    with database.transaction() as session:
        if reason is not None:
            leases.lose(session, claim, reason=reason[:2000], most_attempts=most_attempts)
            return False
        return leases.complete(session, claim, result.model_dump(mode="json"))


def _beat(
    database: Database,
    claim: leases.Claim,
    lease_seconds: float,
    lost: threading.Event,
    done: threading.Event,
    end: Callable[[], None] | None,
    patience: float,
) -> None:
    while not done.wait(min(lease_seconds / 3, LONGEST_BEAT)):
        try:
            with database.transaction() as session:
                alive = leases.renew(session, claim, lease_seconds=lease_seconds)
        except (OpmendError, SQLAlchemyError) as error:
            # Postgres may be restarting. The lease decides, not this beat: try again.
            log.warning("heartbeat of job %s: %s", claim.job_id, error)
            continue
        if not alive:
            lost.set()
            if not done.wait(patience) and end is not None:
                log.error("job %s does not stop within %.0f s of losing its lease", claim.job_id, patience)
                end()
            return

"""Quick synthetic tasks: the whole engine with workers whose answers take milliseconds and are always the same.

Everything but the compiler, the simulator and the model is real: the store, the broker, Celery's workers, claims,
heartbeats, fences. What a worker answers is a function of the job's payload, so whatever is killed, the results of
a task can differ only if the engine lets them.
"""

import os
import time
import zlib

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from coordinator.engine.bounds import Bounds
from coordinator.engine.driver import Scan
from coordinator.engine.submit import submit_run
from schema.database import Database
from schema.execute import Handler, Work
from schema.jobs import JobKind
from schema.results import Record
from schema.tables import ModelCall, Task
from tests.support.played import answer, frozen

SHORTEST, LONGEST = 0.005, 0.030  # seconds of a job
# A job may lose many workers here; the rule that parks it is tested by itself.
MOST_ATTEMPTS = 1_000
LEASE_SECONDS = 2.0
SCRIPTED = "scripted"


def submit(database: Database, *, tasks: int, model: str = "kb") -> int:
    """Submit a run of so many tasks, in one transaction; its id. Runs of one model have the same tasks."""
    names = [f"{model}-{number}" for number in range(tasks)]
    bounds = Bounds(infrastructure_attempts=MOST_ATTEMPTS)
    with database.transaction() as session:
        return submit_run(session, frozen(*names), model=model, bounds=bounds)


def scan(*_: object) -> Scan:
    """Every tree is clean: the scan has tests of its own."""
    return Scan(verdict="CLEAN")


def retrieve(*_: object) -> tuple[str, ...]:
    """The same entry for every failure."""
    return ("pad",)


def work(job: Work) -> Record:
    """Answer a job after a while that depends on its id alone."""
    if "CHAOS_QUICK" not in os.environ:
        share = zlib.crc32(job.claim.job_id.encode()) / 2**32
        time.sleep(SHORTEST + share * (LONGEST - SHORTEST))
    with job.database.transaction() as session:
        # A worker may not read the run; the task's name begins with its model.
        name = session.execute(select(Task.name).where(Task.id == job.claim.task_id)).scalar_one()
        found: Record = answer(session, job.claim, model=name.partition("-")[0])
        if job.claim.kind == JobKind.TURN:
            _called(session, job)
    return found


def _called(session: Session, job: Work) -> None:
    payload = job.claim.payload
    session.execute(
        insert(ModelCall)
        .values(
            task_id=job.claim.task_id,
            job_id=job.claim.job_id,
            session=payload["session"],
            turn=payload["turn"],
            message=f"{payload['session']}-{payload['turn']}",
            model=payload["model"],
            input_tokens=100,
            output_tokens=10,
            cache_creation_tokens=0,
            cache_read_tokens=0,
            seconds=0.01,
        )
        .on_conflict_do_nothing(index_elements=["session", "message"])
    )


HANDLERS: dict[JobKind, Handler] = dict.fromkeys(JobKind, work)

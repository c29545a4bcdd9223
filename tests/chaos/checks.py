"""What must be so after every disturbance."""

from collections.abc import Mapping, Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from coordinator.engine.digest import first_difference, task_digest
from coordinator.engine.replay import replay
from schema import events
from schema.database import Database
from schema.events import JobFinished, JobRequested, Recorded
from schema.jobs import JobKind
from schema.tables import Evidence, Job, ModelCall, Outbox, Task

Logs = dict[str, list[Recorded]]


def logs_of(database: Database, run: int) -> Logs:
    """The logs of a run's tasks, by name."""
    with database.transaction() as session:
        tasks = session.execute(select(Task).where(Task.run_id == run).order_by(Task.id)).scalars().all()
        return {task.name: events.read(session, task.id) for task in tasks}


def faults(database: Database, run: int, undisturbed: Mapping[str, Sequence[Recorded]]) -> list[str]:
    """What is wrong with a run after a disturbance; nothing if all is as it would have been without.

    Args:
        database: the store.
        run: a run that has ended.
        undisturbed: the logs of a run of the same tasks that nobody disturbed.
    """
    found: list[str] = []
    logs = logs_of(database, run)
    if not logs or not set(logs) <= set(undisturbed):
        found.append(f"the tasks {sorted(logs)} are none of the undisturbed ones")
    with database.transaction() as session:
        tasks = session.execute(select(Task).where(Task.run_id == run).order_by(Task.id)).scalars().all()
        for task in tasks:
            log = logs[task.name]
            found += [f"task {task.id}: {one}" for one in _of_task(session, task, log)]
            other = undisturbed.get(task.name)
            if other is not None and task_digest(log) != task_digest(other):
                found.append(f"task {task.id} went another way: {first_difference(log, other)}")
    return found


def _of_task(session: Session, task: Task, log: Sequence[Recorded]) -> list[str]:
    found: list[str] = []
    events.verify_chain(session, task.id)
    if task.status != "finished":
        found.append(f"is {task.status}")
    difference = replay(log, decided_sequence=task.decided_sequence)
    if difference is not None:
        found.append(f"replay differs: {difference}")
    jobs = session.execute(select(Job).where(Job.task_id == task.id)).scalars().all()
    finished = [one.event.job_id for one in log if isinstance(one.event, JobFinished)]
    if len(set(finished)) != len(finished):
        found.append("a result was counted twice")
    for job in jobs:
        if job.status in ("queued", "running"):
            found.append(f"job {job.id} is still {job.status}")
        if (job.status == "done") != (job.id in finished):
            there = "in the log" if job.id in finished else "not in the log"
            found.append(f"job {job.id} is {job.status}, but its result is {there}")
    asked = {one.event.job_id for one in log if isinstance(one.event, JobRequested)}
    if asked != {job.id for job in jobs}:
        found.append("the jobs are not those that were asked for")
    turns = sum(job.kind == JobKind.TURN and job.status == "done" for job in jobs)
    count = select(func.count()).select_from(ModelCall).where(ModelCall.task_id == task.id)
    calls = session.execute(count).scalar_one()
    if calls != turns:
        found.append(f"{calls} model calls are on record for {turns} turns")
    repeated = (
        select(Evidence.job_id)
        .where(Evidence.task_id == task.id)
        .group_by(Evidence.job_id)
        .having(func.count() > 1)
    )
    if session.execute(repeated).first() is not None:
        found.append("evidence was written twice")
    waiting = select(func.count()).select_from(Outbox).join(Job, Job.id == Outbox.job_id)
    if session.execute(waiting.where(Job.task_id == task.id, Job.status == "queued")).scalar_one():
        found.append("a job waits in the outbox")
    return found

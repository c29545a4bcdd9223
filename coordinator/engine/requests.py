"""What people ask of tasks: to end, and to go on."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from schema import events
from schema.errors import BadInput, NotFound
from schema.tables import Run, Task


def cancel_task(session: Session, task_id: int, *, author: str) -> bool:
    """Ask for a task to end. False: it has finished already.

    Its queued jobs never run. The result of one that runs is dropped; its worker notices at the next heartbeat, and
    ends the compiler, the candidate or the call that it waits for (`schema.lost`).

    Raises:
        NotFound: there is no such task.
    """
    task = lock_task(session, task_id)
    if task.status == "finished":
        return False
    events.append(session, task_id, events.CancelRequested(author=author))
    return True


def cancel_run(session: Session, run_id: int, *, author: str) -> int:
    """Ask for every task of a run to end; how many had not finished.

    Raises:
        NotFound: there is no such run.
    """
    return sum(cancel_task(session, task_id, author=author) for task_id in _tasks_of(session, run_id))


def resume_task(session: Session, task_id: int, *, author: str) -> None:
    """Let a task go on that was cancelled, or that infrastructure failed.

    It goes on where it was: what was measured stays, what was under way is asked for again, as new jobs with all their
    attempts. A result of an old job that comes yet is late.

    Raises:
        NotFound: there is no such task.
        BadInput: it has not ended, or has ended by its own work.
    """
    task = lock_task(session, task_id)
    if task.outcome not in events.RESUMABLE:
        if task.status != "finished":
            raise BadInput(f"task {task_id} has not ended", mend="nothing: it goes on by itself")
        raise BadInput(
            f"task {task_id} has come to its own end: {task.outcome}",
            mend="submit its cohort again; only what was cancelled, or failed by infrastructure, can be resumed",
        )
    events.append(session, task_id, events.TaskResumed(author=author))


def resume_run(session: Session, run_id: int, *, author: str) -> int:
    """Let every task of a run go on that can; how many those are.

    Raises:
        NotFound: there is no such run.
    """
    resumed = 0
    for task_id in _tasks_of(session, run_id):
        if lock_task(session, task_id).outcome in events.RESUMABLE:
            resume_task(session, task_id, author=author)
            resumed += 1
    return resumed


def _tasks_of(session: Session, run_id: int) -> list[int]:
    """Ids of a run's tasks, in the order in which everybody locks them."""
    if session.get(Run, run_id) is None:
        raise NotFound(f"no run {run_id}", mend="`opmend status` lists the runs")
    return list(session.execute(select(Task.id).where(Task.run_id == run_id).order_by(Task.id)).scalars())


def lock_task(session: Session, task_id: int) -> Task:
    """A task's row, locked until the transaction ends.

    Raises:
        NotFound: there is no such task.
    """
    query = select(Task).where(Task.id == task_id).with_for_update()
    task = session.execute(query.execution_options(populate_existing=True)).scalar_one_or_none()
    if task is None:
        raise NotFound(f"no task {task_id}", mend="`opmend status` lists the tasks of a run")
    return task

"""What people ask of running tasks: to end."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from schema import events
from schema.errors import NotFound
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
    if session.get(Run, run_id) is None:
        raise NotFound(f"no run {run_id}", mend="`opmend status` lists the runs")
    ids = session.execute(select(Task.id).where(Task.run_id == run_id).order_by(Task.id)).scalars().all()
    return sum(cancel_task(session, task_id, author=author) for task_id in ids)


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

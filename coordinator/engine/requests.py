"""What people ask of a running or finished task: cancel it, or resolve a suspect verdict."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from coordinator.engine import records
from coordinator.engine.operator_policy import decide
from coordinator.engine.state import fold
from schema import events
from schema.errors import BadInput, NotFound
from schema.tables import Run, Task


def cancel_task(session: Session, task_id: int, *, author: str) -> bool:
    """Ask for a task to end. False: it has finished already. Its jobs stop at their next heartbeat.

    Raises:
        NotFound: there is no such task.
    """
    task = _locked(session, task_id)
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


def resolve(session: Session, task_id: int, *, verdict: str, citation: str, author: str) -> str:
    """Say of a suspect task's candidate that it is CLEAN or a CHEAT; returns the outcome after it.

    The task finished as `suspect`, so that a run ends without waiting for people. The resolution
    follows in its log, with the outcome it leads to; nothing can follow after that.

    Args:
        session: an open transaction; the caller commits.
        task_id: the task.
        verdict: CLEAN or CHEAT.
        citation: the source evidence: file, line and what stands there.
        author: who says so.

    Raises:
        BadInput: the task is not suspect, the verdict is none, or nothing is cited.
        NotFound: there is no such task.
    """
    task = _locked(session, task_id)
    if task.outcome != "suspect":
        raise BadInput(
            f"task {task_id} is {task.outcome or 'still running'}, not suspect",
            mend="only a suspect task waits for a resolution",
        )
    if verdict not in {"CLEAN", "CHEAT"}:
        raise BadInput(f"verdict {verdict!r}", mend="say CLEAN or CHEAT")
    if not citation.strip():
        raise BadInput("no source evidence is cited", mend="name file, line and what stands there")
    state = fold(events.read(session, task_id))
    resolved = events.IntegrityResolved(
        tree=state.current, verdict=verdict, citation=citation.strip(), author=author
    )
    events.append(session, task_id, resolved)
    records.resolved_verdict(session, task_id, resolved)
    outcome = "suspect"
    for command in decide(fold(events.read(session, task_id))):
        finish = events.TaskFinished.model_validate(command.model_dump())
        events.append(session, task_id, finish)
        outcome = finish.outcome
    task.decided_sequence = task.last_sequence
    return outcome


def _locked(session: Session, task_id: int) -> Task:
    query = select(Task).where(Task.id == task_id).with_for_update()
    task = session.execute(query.execution_options(populate_existing=True)).scalar_one_or_none()
    if task is None:
        raise NotFound(f"no task {task_id}", mend="`opmend status` lists the tasks of a run")
    return task

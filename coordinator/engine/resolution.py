"""A person's word on a suspect candidate (paper S2.3: flags are resolved against source evidence)."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from coordinator.engine import records
from coordinator.engine.operator_policy import decide
from coordinator.engine.requests import lock_task
from coordinator.engine.state import fold
from schema import events
from schema.blobs import get_tree
from schema.errors import BadInput


def resolve_task(
    session: Session, task_id: int, *, verdict: str, citation: str, because: str, author: str
) -> str:
    """Say of a suspect task's candidate that it is CLEAN or a CHEAT; returns the outcome after it.

    The task finished as `suspect`, so that a run ends without waiting for people. The resolution
    follows in its log, with the outcome it leads to; nothing can follow after that.

    Args:
        session: an open transaction; the caller commits.
        task_id: the task.
        verdict: CLEAN or CHEAT.
        citation: the source evidence, as FILE:LINE in the workspace.
        because: what that source shows.
        author: who says so.

    Raises:
        BadInput: the task is not suspect, the verdict is none, or the evidence is missing.
        NotFound: there is no such task.
    """
    task = lock_task(session, task_id)
    if task.outcome != "suspect":
        raise BadInput(
            f"task {task_id} is {task.outcome or 'still running'}, not suspect",
            mend="only a suspect task waits for a resolution",
        )
    if verdict not in {"CLEAN", "CHEAT"}:
        raise BadInput(f"verdict {verdict!r}", mend="say CLEAN or CHEAT")
    if not because.strip():
        raise BadInput("the evidence shows nothing", mend="say what the cited source shows")
    state = fold(events.read(session, task_id))
    where = _cited(get_tree(session, state.current), citation.strip())
    resolved = events.IntegrityResolved(
        tree=state.current, verdict=verdict, citation=f"{where}: {because.strip()}", author=author
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


def _cited(files: Mapping[str, str], citation: str) -> str:
    """The citation, once the candidate is seen to have such a line."""
    path, _, line = citation.rpartition(":")
    if path not in files or not line.isdigit():
        raise BadInput(
            f"the candidate has no {citation!r}",
            mend=f"cite FILE:LINE, with one of: {', '.join(sorted(files))}",
        )
    lines = files[path].count("\n") + (not files[path].endswith("\n"))
    if not 1 <= int(line) <= lines:
        raise BadInput(f"{path} has {lines} lines", where=citation, mend="cite a line that is there")
    return citation

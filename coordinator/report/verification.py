"""Check that a task's records hold together: what `opmend verify` does.

First the log, by its hash chain; then every byte, from snippets to hashes; then what refers to what. Each check goes on
after a fault, as far as it can, so that all of them can be told; the first one told is the one nearest to the root.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from coordinator.engine.state import TaskState, fold
from coordinator.report.faults import Fault, in_order
from coordinator.report.verified_log import (
    check_decisions,
    check_evidence,
    check_failure_texts,
    check_jobs,
    check_outcome,
    check_verdicts,
)
from coordinator.report.verified_references import check_references
from coordinator.report.verified_revisions import check_revisions, count_edges
from schema import events
from schema.errors import OpmendError
from schema.tables import Evidence, Task, Verdict


def verify_task(session: Session, task: Task) -> tuple[list[Fault], str]:
    """Recompute the chain, the digests and every revision, and check what refers to what.

    A task without a log, whose snippets were written by a caller of the store alone, is checked for what it has.

    Args:
        session: an open transaction; on a task that is still at work, of isolation REPEATABLE READ.
        task: the task.

    Returns:
        The faults in the order of FAULT_KINDS, and what was checked, in words.
    """
    faults: list[Fault] = []
    recorded, state = _log(session, task, faults)
    found = check_revisions(session, task.id, trees=_trees(session, task, recorded), blobs=_blobs(recorded))
    faults += found.faults
    faults += check_references(session, task.id)
    pieces, more = check_evidence(session, task, state)
    faults += more
    if state is not None:
        faults += check_failure_texts(session, task, state)
        faults += check_verdicts(session, task, recorded)
        faults += check_jobs(session, task, recorded)
        faults += check_decisions(session, task, state)
        faults += check_outcome(session, task, state)
    edges, failures = count_edges(session, task.id)
    return in_order(faults), (
        f"{_many(len(recorded), 'event')} in an unbroken chain, {pieces} pieces of evidence, "
        f"{_many(found.revisions, 'revision')} byte for byte from {_many(found.snippets, 'snippet')}, "
        f"{_many(edges, 'lineage edge')}, {_many(failures, 'failure row')}"
    )


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _log(session: Session, task: Task, faults: list[Fault]) -> tuple[list[events.Recorded], TaskState | None]:
    """The log and its state, as far as they can be read."""
    where = f"the log of task {task.id}"
    try:
        events.verify_chain(session, task.id)
    except OpmendError as error:
        faults.append(Fault(kind="event-chain", where=where, what=str(error)))
    try:
        recorded = events.read(session, task.id)
        state = fold(recorded) if recorded else None
    except OpmendError as error:
        if not faults:
            faults.append(Fault(kind="event-chain", where=where, what=str(error)))
        return [], None
    return recorded, state


def _trees(session: Session, task: Task, recorded: Iterable[events.Recorded]) -> dict[str, str]:
    """The trees that events, evidence and verdicts name: digest → who names it."""
    named: dict[str, str] = {}
    for one in recorded:
        for digest in _digests(one.event.model_dump(mode="json"), "tree"):
            named.setdefault(digest, f"event {one.sequence} ({one.event.kind})")
    for table in (Evidence, Verdict):
        for row_id, tree in session.execute(select(table.id, table.tree).where(table.task_id == task.id)):
            named.setdefault(tree, f"{table.__tablename__.removesuffix('s')} {row_id}")
    return named


def _blobs(recorded: Iterable[events.Recorded]) -> dict[str, str]:
    """The extensions and transcripts that events name: digest → who names it."""
    named: dict[str, str] = {}
    for one in recorded:
        data = one.event.model_dump(mode="json")
        for name in ("artifact", "transcript"):
            for digest in _digests(data, name):
                named.setdefault(digest, f"event {one.sequence} ({one.event.kind}), {name}")
    return named


def _digests(data: Any, name: str) -> Iterable[str]:
    """Every digest under a name in payloads and results: where candidates can't put words of their own."""
    match data:
        case Mapping():
            for key, value in data.items():
                if key == name and isinstance(value, str) and len(value) == 64:
                    yield value
                elif key in {"payload", "result", "proposal", "proposals"}:
                    yield from _digests(value, name)
        case list() | tuple():
            for value in data:
                yield from _digests(value, name)

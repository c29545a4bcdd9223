"""Events: what happened to a task, append-only and hash-chained.

Each event is a frozen model; its `kind` is the class's name in the table. A worker appends
`job_finished` and `job_failed` together with the job's result; everything else is appended by the
driver. State is what coordinator.engine.state folds out of them, and nothing else.

A new event: add a class here, list it in EVENTS, fold it in coordinator/engine/state.py.
"""

import re
from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schema.canonical import canonical_json, digest
from schema.errors import HistoryError, NotFound
from schema.jobs import Proposal
from schema.results import Record
from schema.tables import Event, Task


class TaskEvent(Record):
    """Base of all events."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class TaskCreated(TaskEvent):
    """The frozen input of a task.

    Attributes:
        tree: blob digest of the baseline workspace; integrity is scanned against it.
        compact: positions of the compact set in the full set. full: all positions.
        cut: positions that the size limit leaves out; they are in `full` too.
        seed: all inputs of this task come from it.
        bounds: the hard bounds and soft budget in force (coordinator.engine.bounds), frozen here so
            that a later version decides on this log as this version did.
    """

    name: str
    level: str
    category: str
    arm: str
    model: str
    trial: int
    tree: str
    compact: tuple[int, ...]
    full: tuple[int, ...]
    cut: tuple[int, ...] = ()
    max_elements: int | None = None
    seed: int
    bounds: dict[str, float] = Field(default_factory=dict)


class JobRequested(TaskEvent):
    """The driver put a job on a queue. `purpose` is what the policy wants it for."""

    job_id: str
    job_kind: str
    purpose: str
    round: int
    payload: dict[str, Any]


class JobFinished(TaskEvent):
    """A worker's result, written with the job in one transaction and under its fence."""

    job_id: str
    result: dict[str, Any]


class JobFailed(TaskEvent):
    """An infrastructure failure: no lease survived, or a worker says that its machine failed.

    It never counts against the candidate, the round or the model.
    """

    job_id: str
    reason: str
    attempts: int


class RoundStarted(TaskEvent):
    """A repair round began from `tree`, with what was retrieved for it."""

    round: int
    tree: str
    failure_type: str
    hints: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


class CandidateChosen(TaskEvent):
    """A round's candidate, stored as `revision` in the snippet store."""

    round: int
    revision: int
    proposal: Proposal
    origin: str  # rewrite, session or restore
    model: str


class IntegrityScanned(TaskEvent):
    """The static scan of a tree against the frozen baseline."""

    tree: str
    verdict: str
    reasons: tuple[dict[str, Any], ...] = ()
    path: tuple[dict[str, Any], ...] = ()


class IntegrityResolved(TaskEvent):
    """A person resolved a SUSPECT tree, citing source evidence (`opmend resolve`)."""

    tree: str
    verdict: str
    citation: str
    author: str


class CheckpointPromoted(TaskEvent):
    """`tree` is the best candidate so far. `score` is a tuple that sorts upwards."""

    tree: str
    round: int
    score: tuple[float, ...]


class CheckpointRestored(TaskEvent):
    """Two rounds without a better score: repair goes on from the checkpoint."""

    tree: str
    round: int


class CancelRequested(TaskEvent):
    """The user cancelled the task."""

    author: str


class TaskFinished(TaskEvent):
    """How the task ended."""

    outcome: str
    reason: str


EVENTS: dict[str, type[TaskEvent]] = {
    event.kind: event
    for event in (
        TaskCreated,
        JobRequested,
        JobFinished,
        JobFailed,
        RoundStarted,
        CandidateChosen,
        IntegrityScanned,
        IntegrityResolved,
        CheckpointPromoted,
        CheckpointRestored,
        CancelRequested,
        TaskFinished,
    )
}


class Recorded(Record):
    """An event with its place in the log."""

    sequence: int
    at: datetime
    event: TaskEvent
    hash: str


def event_hash(
    previous: str, task_id: int, sequence: int, kind: str, data: dict[str, Any], at: datetime
) -> str:
    """SHA-256 that ties an event to everything before it. Any later change breaks the chain."""
    # Postgres gives times back in the session's zone; the hash is made over UTC.
    return digest(canonical_json([previous, task_id, sequence, kind, data, at.astimezone(UTC).isoformat()]))


def append(session: Session, task_id: int, event: TaskEvent) -> int:
    """Append one event and return its sequence number.

    Locks the task's row until the transaction ends: two writers append one after the other, so
    sequence and chain have no gaps.

    Raises:
        NotFound: there is no such task.
        HistoryError: the task has finished; nothing may follow.
    """
    task = session.execute(select(Task).where(Task.id == task_id).with_for_update()).scalar_one_or_none()
    if task is None:
        raise NotFound(f"no task {task_id}", mend="`opmend status` lists the tasks of a run")
    if task.status == "finished":
        raise HistoryError(f"task {task_id} has finished ({task.outcome}): {event.kind} comes too late")
    at = session.execute(select(func.clock_timestamp())).scalar_one()
    data = event.model_dump(mode="json")
    sequence = task.last_sequence + 1
    chained = event_hash(task.last_hash, task_id, sequence, event.kind, data, at)
    session.add(
        Event(
            task_id=task_id,
            sequence=sequence,
            kind=event.kind,
            data=data,
            at=at,
            previous_hash=task.last_hash,
            hash=chained,
        )
    )
    task.last_sequence = sequence
    task.last_hash = chained
    if isinstance(event, TaskFinished):
        task.status = "finished"
        task.outcome = event.outcome
        task.finished_at = at
    session.flush()
    return sequence


def read(session: Session, task_id: int) -> list[Recorded]:
    """The log of a task, oldest first."""
    rows = session.execute(select(Event).where(Event.task_id == task_id).order_by(Event.sequence)).scalars()
    return [
        Recorded(
            sequence=row.sequence, at=row.at, event=EVENTS[row.kind].model_validate(row.data), hash=row.hash
        )
        for row in rows
    ]


def verify_chain(session: Session, task_id: int) -> int:
    """Recompute the hash chain of a task and return how many events it has.

    Raises:
        HistoryError: an event was changed, taken out or put in; the message names the first one.
    """
    previous, count = "", 0
    rows = session.execute(select(Event).where(Event.task_id == task_id).order_by(Event.sequence)).scalars()
    for count, row in enumerate(rows, start=1):
        expected = event_hash(previous, task_id, count, row.kind, row.data, row.at)
        if row.sequence != count or row.previous_hash != previous or row.hash != expected:
            raise HistoryError(
                f"event {row.sequence} of task {task_id} does not fit the chain",
                mend="the log was changed by hand",
            )
        previous = row.hash
    task = session.get(Task, task_id)
    if task is not None and (task.last_sequence, task.last_hash) != (count, previous):
        raise HistoryError(f"the log of task {task_id} ends at {count}, its head says {task.last_sequence}")
    return count

"""Events: what happened to a task, append-only and hash-chained.

Each event is a frozen model; its `kind` is the class's name in the table. A worker appends
`job_finished` and `job_failed` together with the job's result; everything else is appended by the
driver. State is what coordinator.engine.state folds out of them, and nothing else.

A new event: add a class here, list it in EVENTS, fold it in coordinator/engine/state.py.

An event has a version, and its stored kind names it: `job_finished` is the first, `job_finished@2` the second. New
fields with defaults need no new version; a field that changes its meaning does, and then `upgraded` must turn the
old form into the new one, so that logs of years ago are still folded. The kind is part of the hash, and so is the
version.
"""

import json
import math
import re
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field, ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schema.canonical import canonical_json, digest
from schema.errors import HistoryError, NotFound
from schema.jobs import Proposal
from schema.pipeline import Pipeline
from schema.results import Record
from schema.tables import Event, Task


class TaskEvent(Record):
    """Base of all events.

    Attributes:
        version: of the form that this class is; counted from 1.
        kind: how the event is stored: its name, with the version from the second on.
    """

    version: ClassVar[int] = 1
    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.kind = name if cls.version == 1 else f"{name}@{cls.version}"

    @classmethod
    def upgraded(cls, version: int, data: dict[str, Any]) -> dict[str, Any]:
        """The data of an older version of this event, as this version has it.

        Args:
            version: the one that wrote it, below `cls.version`.
            data: as stored.
        """
        raise HistoryError(
            f"event {cls.kind!r} can't be read from its version {version} ({', '.join(sorted(data))})",
            mend="use the version that wrote it",
        )


class TaskCreated(TaskEvent):
    """The frozen input of a task.

    Attributes:
        tree: blob digest of the baseline workspace; integrity is scanned against it.
        compact: positions of the compact set in the full set. full: all positions.
        cut: positions that the size limit leaves out; they are in `full` too.
        seed: all inputs of this task come from it.
        bounds: the hard bounds and soft budget in force (coordinator.engine.bounds), frozen here so
            that a later version decides on this log as this version did.
        thresholds: of the adaptive rules; frozen for the same reason.
        toolchain: what compile jobs build with. device: what validate jobs run on.
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
    thresholds: dict[str, float] = Field(default_factory=dict)
    toolchain: str = "sim"
    device: str = "sim"


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


class JobCancelled(TaskEvent):
    """The driver took a job back: its result can't matter any more."""

    job_id: str
    reason: str


class RoundStarted(TaskEvent):
    """A repair round began from `tree`, with what was retrieved for it.

    Attributes:
        session: id of the round's repair session, if it comes to one; unique in the whole store.
    """

    round: int
    tree: str
    failure_type: str
    hints: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    session: str = ""


class TreeRefused(TaskEvent):
    """A proposed tree can't become a revision (NUL in a text, a tree that is not in the store)."""

    tree: str
    reason: str


class CandidateChosen(TaskEvent):
    """A round's candidate, stored as `revision` in the snippet store.

    Attributes:
        answers: job id of the compilation or validation whose failure it answers.
    """

    round: int
    revision: int
    proposal: Proposal
    origin: str  # rewrite or session
    model: str
    answers: str = ""


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
    """Two rounds without a better score, or a cheat: repair goes on from the checkpoint.

    Attributes:
        revision: the state of the snippet store that equals the checkpoint again.
    """

    tree: str
    round: int
    reason: str = ""
    revision: int = 0


class ClockNoted(TaskEvent):
    """The sweeper noted the time, because a task without events would never see its wall-clock bound."""


class CancelRequested(TaskEvent):
    """The user cancelled the task."""

    author: str


class TaskResumed(TaskEvent):
    """The user takes up again a task that was cancelled, or that infrastructure failed (`opmend resume`).

    What was measured and decided stays; what was under way is asked for again. The time between the end and this
    event is not the task's.
    """

    author: str


class TaskFinished(TaskEvent):
    """How the task ended.

    A suspect task may be resolved later: then IntegrityResolved and a second TaskFinished follow. A cancelled one, and
    one that infrastructure failed, may be resumed: then TaskResumed follows, and the task goes on. Nothing else can.

    Attributes:
        rule: the bound or adaptive rule that tripped, "" where none did; numbers: what it saw.
    """

    outcome: str
    reason: str
    rule: str = ""
    numbers: dict[str, float] = Field(default_factory=dict)


EVENTS: dict[str, type[TaskEvent]] = {
    event.kind.partition("@")[0]: event
    for event in (
        TaskCreated,
        JobRequested,
        JobFinished,
        JobFailed,
        JobCancelled,
        RoundStarted,
        TreeRefused,
        CandidateChosen,
        IntegrityScanned,
        IntegrityResolved,
        CheckpointPromoted,
        CheckpointRestored,
        ClockNoted,
        CancelRequested,
        TaskResumed,
        TaskFinished,
    )
}


# Outcomes of tasks that did not come to an end of their own.
RESUMABLE = frozenset({"cancelled", "infrastructure"})


class Recorded(Record):
    """An event with its place in the log."""

    sequence: int
    at: datetime
    event: TaskEvent
    hash: str


def storable(data: Any) -> Any:
    """The same JSON as Postgres gives it back, so that a hash over it can be made again from the row.

    jsonb keeps numbers as decimals: 1e22 comes back as an integer, -0.0 as 0.0. It refuses NUL, and JSON
    has no NaN or infinity: a candidate's values and texts may hold all of these.
    """
    if isinstance(data, dict):
        return {storable(key): storable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [storable(value) for value in data]
    if isinstance(data, str):
        return data.replace("\x00", "\ufffd").encode(errors="replace").decode()
    if isinstance(data, float):
        if not math.isfinite(data):
            return None
        if data == 0.0:
            return 0.0
        return int(Decimal(repr(data))) if abs(data) >= 1e16 else data
    return data


def event_hash(
    previous: str, task_id: int, sequence: int, kind: str, data: dict[str, Any], at: datetime
) -> str:
    """SHA-256 that ties an event to everything before it. Any later change breaks the chain."""
    # Postgres gives times back in the session's zone; the hash is made over UTC.
    return digest(canonical_json([previous, task_id, sequence, kind, data, at.astimezone(UTC).isoformat()]))


def append(session: Session, task_id: int, event: TaskEvent) -> int:
    """Append one event and return its sequence number. See `record`."""
    return record(session, task_id, event).sequence


def record(session: Session, task_id: int, event: TaskEvent) -> Recorded:
    """Append one event and return it as the log has it now.

    Locks the task's row until the transaction ends: two writers append one after the other, so
    sequence and chain have no gaps.

    Raises:
        NotFound: there is no such task.
        HistoryError: the task has finished; nothing may follow.
    """
    # populate_existing: a task that this session read before it had the lock may be stale.
    locked = (
        select(Task).where(Task.id == task_id).with_for_update().execution_options(populate_existing=True)
    )
    task = session.execute(locked).scalar_one_or_none()
    if task is None:
        raise NotFound(f"no task {task_id}", mend="`opmend status` lists the tasks of a run")
    # In a statement of its own: the one that waits for the lock may have read the clock before it waited.
    head = LogHead(task, now=session.execute(select(func.clock_timestamp())).scalar_one())
    recorded = head.record(event)
    with Pipeline(session) as pipeline:
        head.write(pipeline)
    session.expire(task)
    return recorded


_INSERT_EVENTS = b"""
INSERT INTO events (task_id, sequence, kind, data, at, previous_hash, hash)
SELECT %(task_id)s, sequence, kind, data, at, previous_hash, hash
FROM json_to_recordset(CAST(%(rows)s AS json))
AS r (sequence integer, kind text, data jsonb, at timestamptz, previous_hash text, hash text)
"""
_MOVE_HEAD = b"""
UPDATE tasks SET last_sequence = %(sequence)s, last_hash = %(hash)s, status = %(status)s, outcome = %(outcome)s,
    finished_at = %(finished_at)s, decided_sequence = coalesce(%(decided)s, decided_sequence)
WHERE id = %(task_id)s
"""


class LogHead:
    """The end of a log whose task this transaction has locked: takes events, and writes all of them at once.

    Until `write` they are nowhere but here, and the task's row is as it was.

    Args:
        task: its row is locked, and was read after that; `write` does not change the object.
        now: the database's time; a monotonic clock carries it on.
    """

    def __init__(self, task: Task, *, now: datetime) -> None:
        self._task_id = task.id
        self._now = now
        self._since = time.monotonic()
        self._sequence, self._hash = task.last_sequence, task.last_hash
        self._status, self._outcome = task.status, task.outcome
        self._rows: list[dict[str, Any]] = []
        self._finished_at = task.finished_at

    @property
    def hash(self) -> str:
        """The hash of the newest event."""
        return self._hash

    def record(self, event: TaskEvent) -> Recorded:
        """Take one event.

        Raises:
            HistoryError: the task has finished; nothing may follow.
        """
        if self._status == "finished" and not _may_follow(self._outcome, event):
            raise HistoryError(
                f"task {self._task_id} has finished ({self._outcome}): {event.kind} comes too late"
            )
        at = self._now + timedelta(seconds=time.monotonic() - self._since)
        data = storable(event.model_dump(mode="json"))
        sequence, previous = self._sequence + 1, self._hash
        chained = event_hash(previous, self._task_id, sequence, event.kind, data, at)
        self._rows.append(
            {
                "sequence": sequence,
                "kind": event.kind,
                "data": data,
                "at": at.isoformat(),
                "previous_hash": previous,
                "hash": chained,
            }
        )
        self._sequence, self._hash = sequence, chained
        if isinstance(event, TaskFinished):
            self._status, self._outcome = "finished", event.outcome
            # A later resolution changes the outcome, not how long the task took.
            self._finished_at = self._finished_at or at
        elif isinstance(event, TaskResumed):
            self._status, self._outcome, self._finished_at = "active", None, None
        return Recorded(sequence=sequence, at=at, event=type(event).model_validate(data), hash=chained)

    def write(self, pipeline: Pipeline, *, decided: int | None = None) -> None:
        """Send the events, and put the task's row at the end of them.

        Args:
            pipeline: of the transaction that holds the lock.
            decided: how far a driver has decided; None for no further than before.
        """
        if self._rows:
            rows = json.dumps(self._rows)
            pipeline.send(_INSERT_EVENTS, {"task_id": self._task_id, "rows": rows})
            self._rows = []
        head = {
            "task_id": self._task_id,
            "sequence": self._sequence,
            "hash": self._hash,
            "status": self._status,
            "outcome": self._outcome,
            "finished_at": self._finished_at,
            "decided": decided,
        }
        pipeline.send(_MOVE_HEAD, head)


def _may_follow(outcome: str | None, event: TaskEvent) -> bool:
    """A suspect task waits for its resolution, which may change its outcome once; others may be resumed."""
    if outcome in RESUMABLE:
        return isinstance(event, TaskResumed)
    if outcome != "suspect":
        return False
    return isinstance(event, IntegrityResolved) or (
        isinstance(event, TaskFinished) and event.outcome in {"passed", "rejected"}
    )


def read(session: Session, task_id: int, *, after: int = 0) -> list[Recorded]:
    """The log of a task, oldest first; only what follows sequence number `after`.

    Raises:
        HistoryError: an event is of a kind or form that this version does not know.
    """
    rows = session.execute(
        select(Event).where(Event.task_id == task_id, Event.sequence > after).order_by(Event.sequence)
    ).scalars()
    return [
        Recorded(sequence=row.sequence, at=row.at, event=parse(row.kind, row.data), hash=row.hash)
        for row in rows
    ]


def parse(kind: str, data: dict[str, Any]) -> TaskEvent:
    """An event from its stored form.

    Args:
        kind: its name, and its version behind an @.
        data: as stored.

    Raises:
        HistoryError: this version does not know its kind, version or form.
    """
    name, _, number = kind.partition("@")
    event = EVENTS.get(name)
    version = int(number) if number.isascii() and number.isdecimal() else 0 if number else 1
    if event is None or not 1 <= version <= event.version:
        known = "" if event is None else f", only its version {event.version}"
        raise HistoryError(
            f"this version does not know the event {kind!r}{known}",
            mend="use the opmend that wrote it, or a newer one",
        )
    try:
        return event.model_validate(data if version == event.version else event.upgraded(version, data))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise HistoryError(
            f"event {kind!r}: {where}: {first['msg']}", mend="use the version that wrote it, or a newer one"
        ) from error


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

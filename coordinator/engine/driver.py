"""The driver: the only one that appends decisions.

One step is one transaction: lock the task, fold its log, decide, append events with the jobs, outbox
rows and records that follow from them, until nothing is left to decide. Killed at any point, it has
done all of a step or nothing; the next driver finds the task due. Several drivers at once are harmless.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from coordinator.engine import records
from coordinator.engine.commands import (
    CancelJob,
    ChooseCandidate,
    Command,
    Finish,
    Promote,
    RequestJob,
    Restore,
    ScanIntegrity,
    StartRound,
)
from coordinator.engine.facts import rewrite_context
from coordinator.engine.operator_policy import decide
from coordinator.engine.state import TaskState, apply
from kb.context import RewriteContext
from schema import events, leases
from schema.blobs import get_tree
from schema.database import Database
from schema.describing import describe
from schema.errors import BadInput, HistoryError, InfrastructureError, PositionKeyError
from schema.events import TaskEvent
from schema.pipeline import Pipeline
from schema.queues import QUEUES
from schema.tables import Job, Task

log = logging.getLogger(__name__)

# A policy that goes round in circles is a fault; it must not fill the log.
MOST_DECISIONS = 500
_CACHED = 256
_LONGEST_BACKOFF = 60.0

Files = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What an integrity scan says, as its event carries it."""

    verdict: str
    reasons: tuple[dict[str, object], ...] = ()
    path: tuple[dict[str, object], ...] = ()


Scanner = Callable[[Files, Files], Scan]  # (tree, baseline)
Retriever = Callable[[RewriteContext, Files], tuple[str, ...]]  # ids of entries, the best first


def scan_integrity(files: Files, baseline: Files) -> Scan:
    """The static scan of coordinator.integrity."""
    from coordinator.integrity import scan

    report = scan(files, baseline=baseline)
    return Scan(
        verdict=report.verdict,
        reasons=tuple(reason.model_dump(mode="json") for reason in report.reasons),
        path=tuple(step.model_dump(mode="json") for step in report.path),
    )


def retrieve_entries(context: RewriteContext, files: Files) -> tuple[str, ...]:
    """Ids of the entries that the shipped knowledge base has for a failure."""
    from kb.retrieve import retrieve

    return tuple(match.entry.id for match in retrieve(context, files=files))


@dataclass(frozen=True, slots=True)
class _Cached:
    hash: str
    state: TaskState


class Driver:
    """Decides on tasks that are due.

    Args:
        database: where everything is.
        scan: verdict on a tree; pure.
        retrieve: entries for a failure; pure.
        on_jobs: called after a commit that put jobs into the outbox, to wake the relay.
    """

    def __init__(
        self,
        database: Database,
        *,
        scan: Scanner = scan_integrity,
        retrieve: Retriever = retrieve_entries,
        on_jobs: Callable[[], None] | None = None,
    ) -> None:
        self.database = database
        self._scan = scan
        self._retrieve = retrieve
        self._on_jobs = on_jobs
        self._states: OrderedDict[int, _Cached] = OrderedDict()
        self._backoff: dict[int, tuple[float, float]] = {}  # task → (not before, wait)

    def step(self, task_id: int, *, wait: bool = False) -> int:
        """Decide on one task and return how many events were appended.

        Args:
            task_id: the task.
            wait: wait for the task's lock, instead of leaving the task to whoever has it.

        Raises:
            DatabaseUnavailable: Postgres broke; nothing was appended.
            HistoryError: the log can't be folded, or the policy goes round in circles.
        """
        with self.database.transaction() as session:
            query = select(Task, func.clock_timestamp()).where(Task.id == task_id)
            found = session.execute(query.with_for_update(skip_locked=not wait, of=Task)).one_or_none()
            if found is None or found[0].last_sequence == 0:
                return 0
            task, now = found
            state = self.settle(session, task)
            step = _Step(session, task, now)
            decided = self._decide(step, state)
            appended = decided.sequence - state.sequence
            step.write(decided.sequence)
            cached = _Cached(step.head.hash, decided)
        self._remember(task_id, cached)
        if step.asked and self._on_jobs is not None:
            self._on_jobs()
        if step.revised:
            # The jobs are on their way; what is told here, nobody waits for.
            with self.database.transaction() as session:
                describe(session, task_id)
        return appended

    def settle(self, session: Session, task: Task) -> TaskState:
        """The state of a locked task: from its newest known state, or from the start of the log."""
        cached = self._states.get(task.id)
        state: TaskState | None = None
        after = 0
        if cached is not None:
            tail = events.read(session, task.id, after=cached.state.sequence - 1)
            if tail and tail[0].hash == cached.hash:
                state, after = cached.state, 1
            else:
                del self._states[task.id]  # another store under the same ids
        recorded = tail[after:] if state is not None else events.read(session, task.id)
        for one in recorded:
            state = apply(state, one)
        if state is None:
            raise HistoryError(f"task {task.id} has an empty log", mend="submit it again")
        return state

    def due(self, *, most: int = 50) -> list[int]:
        """Tasks with events that no decision has seen yet."""
        with self.database.transaction() as session:
            rows = session.execute(
                select(Task.id)
                .where(Task.status == "active", Task.decided_sequence < Task.last_sequence)
                .order_by(Task.id)
                .limit(most + len(self._backoff))
            ).scalars()
            now = time.monotonic()
            return [one for one in rows if self._backoff.get(one, (0.0, 0.0))[0] <= now][:most]

    def run_once(self) -> int:
        """Step every due task once; how many events that appended."""
        appended = 0
        for task_id in self.due():
            try:
                appended += self.step(task_id)
                self._backoff.pop(task_id, None)
            except InfrastructureError:
                raise
            except Exception:
                # One task that can't be decided must not stop the others, nor be tried in a tight loop.
                wait = min(self._backoff.get(task_id, (0.0, 0.5))[1] * 2, _LONGEST_BACKOFF)
                self._backoff[task_id] = (time.monotonic() + wait, wait)
                log.exception("task %s can't be decided; again in %.0f s", task_id, wait)
        return appended

    def run(self, stop: threading.Event, *, poll_seconds: float = 0.05) -> None:
        """Decide until `stop` is set. A database that goes away is waited for."""
        wait = poll_seconds
        while not stop.wait(wait):
            try:
                wait = 0.0 if self.run_once() else poll_seconds
            except InfrastructureError as error:
                wait = min(max(wait, poll_seconds) * 2, 2.0)
                log.warning("the driver waits: %s", error)

    def _remember(self, task_id: int, cached: _Cached) -> None:
        if cached.state.finished is not None:
            self._states.pop(task_id, None)
            return
        self._states[task_id] = cached
        self._states.move_to_end(task_id)
        while len(self._states) > _CACHED:
            self._states.popitem(last=False)

    def _decide(self, step: "_Step", state: TaskState) -> TaskState:
        """Decide until nothing is left; the state after it."""
        task = step.task
        since = task.decided_sequence
        if since == 0:
            records.baseline_revision(step.session, task.id, state)
            step.revised = True
        for checked in state.validations:
            if checked.sequence > since:
                records.evidence(step.session, task.id, state, checked)
        for _ in range(MOST_DECISIONS):
            commands = decide(state)
            if not commands:
                return state
            for command in commands:
                state = apply(state, step.head.record(self._perform(step, state, command)))
        raise HistoryError(
            f"task {task.id}: {MOST_DECISIONS} decisions without an end: a fault of the policy"
        )

    def _perform(self, step: "_Step", state: TaskState, command: Command) -> TaskEvent:
        """Turn a command into its event, and write everything that goes with it."""
        event: TaskEvent
        session, task = step.session, step.task
        match command:
            case RequestJob():
                event = step.request(state, command)
            case CancelJob():
                step.cancel(command.job_id)
                event = events.JobCancelled(job_id=command.job_id, reason=command.reason)
            case ScanIntegrity():
                event = self._scanned(session, state, command.tree)
                records.scanned_verdict(session, task.id, event)
            case StartRound():
                event = events.RoundStarted(
                    round=command.round,
                    tree=command.tree,
                    failure_type=command.failure_type,
                    hints=command.hints,
                    entries=self._entries(session, state, command.tree),
                    session=f"task-{task.id}-round-{command.round}",
                )
            case ChooseCandidate():
                chosen = events.CandidateChosen(
                    round=command.round,
                    revision=0,
                    proposal=command.proposal,
                    origin=command.origin,
                    model=command.model,
                    answers=command.answers,
                )
                try:
                    with session.begin_nested():
                        revision = records.candidate_revision(session, task.id, state, chosen)
                    step.revised = True
                    event = chosen.model_copy(update={"revision": revision})
                except (BadInput, PositionKeyError) as error:
                    event = events.TreeRefused(tree=command.proposal.tree, reason=str(error))
            case Promote():
                event = events.CheckpointPromoted(tree=command.tree, round=command.round, score=command.score)
            case Restore():
                restored = events.CheckpointRestored(
                    tree=command.tree, round=command.round, reason=command.reason
                )
                revision = records.restored_revision(session, task.id, state, restored)
                step.revised = True
                event = restored.model_copy(update={"revision": revision})
            case Finish():
                step.cancel(None)
                event = events.TaskFinished(
                    outcome=command.outcome,
                    reason=command.reason,
                    rule=command.rule,
                    numbers=command.numbers,
                )
            case _:
                raise HistoryError(f"the driver does not know the command {type(command).__name__}")
        return event

    def _scanned(self, session: Session, state: TaskState, tree: str) -> events.IntegrityScanned:
        baseline = get_tree(session, state.baseline)
        files = baseline if tree == state.baseline else get_tree(session, tree)
        try:
            found = self._scan(files, baseline)
        except Exception as error:
            # Hostile source must not hang its task; and what can't be scanned is not clean.
            log.exception("the integrity scan broke on tree %s", tree)
            message = f"the scan broke: {type(error).__name__}: {error}"
            reason: dict[str, object] = {"rule": "scan-failed", "level": "suspect", "message": message}
            found = Scan(verdict="SUSPECT", reasons=(reason,))
        return events.IntegrityScanned(
            tree=tree, verdict=found.verdict, reasons=found.reasons, path=found.path
        )

    def _entries(self, session: Session, state: TaskState, tree: str) -> tuple[str, ...]:
        if not state.arm.knowledge:
            return ()
        files = get_tree(session, tree)
        try:
            return self._retrieve(rewrite_context(state, tree), files)
        except Exception:
            # Source that breaks the reader of sources leaves the round without entries, not without end.
            log.exception("retrieval broke on tree %s", tree)
            return ()


class _Step:
    """What one step of a task puts into its transaction: events and jobs are kept, and written together at its end.

    Args:
        session: the step's transaction.
        task: its row, locked.
        now: the database's time.
    """

    def __init__(self, session: Session, task: Task, now: datetime) -> None:
        self.session = session
        self.task = task
        self.head = events.LogHead(task, now=now)
        self.asked = 0  # jobs
        self.revised = False  # is there a new revision?
        self._jobs: list[dict[str, Any]] = []

    def request(self, state: TaskState, command: RequestJob) -> events.JobRequested:
        """Put a job on its queue."""
        # The ordinal makes the id a function of the log; asking twice breaks the primary key.
        job_id = f"{self.task.id}-{len(state.requested) + 1:04d}-{command.purpose}-{command.kind.value}"
        self.asked += 1
        self._jobs.append(
            {
                "id": job_id,
                "kind": command.kind.value,
                "queue": QUEUES[command.kind],
                "payload": command.payload,
            }
        )
        return events.JobRequested(
            job_id=job_id,
            job_kind=command.kind.value,
            purpose=command.purpose,
            round=command.round,
            payload=command.payload,
        )

    def cancel(self, job_id: str | None) -> None:
        """Take one open job of the task back, or all of them: heartbeats see it, results come too late."""
        with Pipeline(self.session) as pipeline:
            self._enqueue(pipeline)  # it may be one of these
        chosen = [Job.task_id == self.task.id, Job.status.in_(("queued", "running"))]
        if job_id is not None:
            chosen.append(Job.id == job_id)
        # Their outbox rows stay: the relay drops rows of jobs that are not queued, and holds locks on them.
        closed = {"status": "cancelled", "finished_at": func.now(), "lease_expires_at": None}
        self.session.execute(update(Job).where(*chosen).values(**closed))

    def write(self, decided: int) -> None:
        """Write what was kept, and how far the task is decided."""
        with Pipeline(self.session) as pipeline:
            self._enqueue(pipeline)
            self.head.write(pipeline, decided=decided)

    def _enqueue(self, pipeline: Pipeline) -> None:
        leases.enqueue_all(pipeline, self.task.id, self._jobs)
        self._jobs = []

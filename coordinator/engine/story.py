"""A task played in memory: the same fold and decide as the driver's, without store, queue or workers.

For tests and simulations. A world answers each job; the story keeps the log, with a clock of its own.

    story = Story(created)
    story.play(lambda job: answer(job))
    story.state.finished.outcome
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

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
from coordinator.engine.operator_policy import decide
from coordinator.engine.state import Requested, TaskState, apply
from schema import events
from schema.events import Recorded, TaskCreated, TaskEvent
from schema.results import Record

World = Callable[[Requested], Record]

MOST_EVENTS = 20_000
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Story:
    """One task from its creation on.

    Args:
        created: the frozen input.
        scan: verdict of a tree.
        retrieve: ids of the entries for a state's current tree.
        seconds: what each event takes.
    """

    def __init__(
        self,
        created: TaskCreated,
        *,
        scan: Callable[[str], str] = lambda _: "CLEAN",
        retrieve: Callable[[TaskState], Sequence[str]] = lambda _: ("entry",),
        seconds: float = 1.0,
    ) -> None:
        self._scan = scan
        self._retrieve = retrieve
        self._seconds = seconds
        self._now = _START
        self._revision = 0
        self.recorded: list[Recorded] = []
        first = self._record(created)
        self.state: TaskState = apply(None, first)

    @property
    def outcome(self) -> str | None:
        """How it ended, if it did."""
        return self.state.finished.outcome if self.state.finished is not None else None

    def tell(self, event: TaskEvent, *, seconds: float | None = None) -> None:
        """Something happened outside the engine."""
        self.state = apply(self.state, self._record(event, seconds))

    def answer(self, job_id: str, result: Record) -> None:
        """A worker's result."""
        self.tell(events.JobFinished(job_id=job_id, result=result.model_dump(mode="json")))

    def decide(self) -> None:
        """Let the engine decide until it has nothing more to say.

        Raises:
            RuntimeError: it never stops.
        """
        while commands := decide(self.state):
            for command in commands:
                self.tell(self._event(command))
            if len(self.recorded) > MOST_EVENTS:
                raise RuntimeError(f"{MOST_EVENTS} events without an end")

    def play(self, world: World, *, pick: Callable[[int], int] = lambda _: 0) -> str:
        """Decide and answer until the task has ended; its outcome.

        Args:
            world: answers a job.
            pick: which of so many open jobs ends next; the oldest, if left out.
        """
        self.decide()
        while self.outcome is None:
            job = self.state.requested[self.state.open[pick(len(self.state.open))]]
            self.answer(job.job_id, world(job))
            self.decide()
        return self.outcome

    def _record(self, event: TaskEvent, seconds: float | None = None) -> Recorded:
        self._now += timedelta(seconds=self._seconds if seconds is None else seconds)
        # Through JSON and back, as the store does it.
        parsed = events.parse(event.kind, events.storable(event.model_dump(mode="json")))
        one = Recorded(sequence=len(self.recorded) + 1, at=self._now, event=parsed, hash="")
        self.recorded.append(one)
        return one

    def _event(self, command: Command) -> TaskEvent:
        match command:
            case RequestJob():
                return events.JobRequested(
                    job_id=f"{len(self.state.requested) + 1:04d}-{command.purpose}-{command.kind.value}",
                    job_kind=command.kind.value,
                    purpose=command.purpose,
                    round=command.round,
                    payload=command.payload,
                )
            case CancelJob():
                return events.JobCancelled(job_id=command.job_id, reason=command.reason)
            case ScanIntegrity():
                return events.IntegrityScanned(tree=command.tree, verdict=self._scan(command.tree))
            case StartRound():
                return events.RoundStarted(
                    round=command.round,
                    tree=command.tree,
                    failure_type=command.failure_type,
                    hints=command.hints,
                    entries=tuple(self._retrieve(self.state)) if self.state.arm.knowledge else (),
                    session=f"round-{command.round}",
                )
            case ChooseCandidate():
                self._revision += 1
                return events.CandidateChosen(revision=self._revision, **command.model_dump())
            case Promote():
                return events.CheckpointPromoted(**command.model_dump())
            case Restore():
                self._revision += 1
                return events.CheckpointRestored(revision=self._revision, **command.model_dump())
            case Finish():
                return events.TaskFinished(**command.model_dump())
            case _:
                raise TypeError(f"no event for {type(command).__name__}")

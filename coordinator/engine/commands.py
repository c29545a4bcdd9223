"""Commands: what `decide` wants done. The driver turns each into exactly one event.

A command never holds what only the driver can know (a job's id, a revision, what a scan or a retrieval
says): that is data of its event. `matches` compares the rest; `opmend replay` rests on it.
"""

from typing import Any

from pydantic import Field

from schema.events import (
    CandidateChosen,
    CheckpointPromoted,
    CheckpointRestored,
    IntegrityScanned,
    JobCancelled,
    JobRequested,
    RoundStarted,
    TaskEvent,
    TaskFinished,
    storable,
)
from schema.jobs import JobKind, Proposal
from schema.results import Record


class Command(Record):
    """Base of all commands."""

    def matches(self, event: TaskEvent) -> bool:
        """Whether `event` is what the driver makes of this command."""
        raise NotImplementedError


class RequestJob(Command):
    """Put a job on its queue. `purpose` is one of coordinator.engine.state.Purpose."""

    kind: JobKind
    purpose: str
    round: int
    payload: dict[str, Any]

    def matches(self, event: TaskEvent) -> bool:
        """Same kind, purpose, round and payload."""
        return (
            isinstance(event, JobRequested)
            and (event.job_kind, event.purpose, event.round) == (self.kind.value, self.purpose, self.round)
            and event.payload == storable(self.payload)
        )


class CancelJob(Command):
    """Take a job back whose result can't matter any more."""

    job_id: str
    reason: str

    def matches(self, event: TaskEvent) -> bool:
        """Same job."""
        return isinstance(event, JobCancelled) and event.job_id == self.job_id


class ScanIntegrity(Command):
    """Scan a tree against the frozen baseline."""

    tree: str

    def matches(self, event: TaskEvent) -> bool:
        """Same tree."""
        return isinstance(event, IntegrityScanned) and event.tree == self.tree


class StartRound(Command):
    """Begin a repair round from `tree`; the driver retrieves entries for its failure."""

    round: int
    tree: str
    failure_type: str
    hints: tuple[str, ...] = ()

    def matches(self, event: TaskEvent) -> bool:
        """Same round, tree, failure and hints; the entries are the event's own."""
        return isinstance(event, RoundStarted) and (
            event.round,
            event.tree,
            event.failure_type,
            event.hints,
        ) == (self.round, self.tree, self.failure_type, self.hints)


class ChooseCandidate(Command):
    """End a round's search: this proposal is its candidate, and becomes a revision."""

    round: int
    proposal: Proposal
    origin: str  # rewrite or session
    model: str
    answers: str = Field(description="job id of the compilation or validation it answers")

    def matches(self, event: TaskEvent) -> bool:
        """Same round, proposal and origin; the revision is the event's own."""
        return isinstance(event, CandidateChosen) and (
            event.round,
            event.proposal,
            event.origin,
            event.model,
            event.answers,
        ) == (self.round, self.proposal, self.origin, self.model, self.answers)


class Promote(Command):
    """Make a tree the checkpoint."""

    tree: str
    round: int
    score: tuple[float, ...]

    def matches(self, event: TaskEvent) -> bool:
        """Same tree, round and score."""
        return isinstance(event, CheckpointPromoted) and (event.tree, event.round, event.score) == (
            self.tree,
            self.round,
            self.score,
        )


class Restore(Command):
    """Go on from the checkpoint."""

    tree: str
    round: int
    reason: str

    def matches(self, event: TaskEvent) -> bool:
        """Same tree and round."""
        return isinstance(event, CheckpointRestored) and (event.tree, event.round) == (self.tree, self.round)


class Finish(Command):
    """End the task. `rule` names the bound or rule that tripped, with its numbers."""

    outcome: str
    reason: str
    rule: str = ""
    numbers: dict[str, float] = Field(default_factory=dict)

    def matches(self, event: TaskEvent) -> bool:
        """Same outcome and rule. The reason is prose and may be worded better later."""
        return isinstance(event, TaskFinished) and (event.outcome, event.rule) == (self.outcome, self.rule)

"""The state of a task: folded from its log, and from nothing else.

`apply` takes the state one event further; `fold` does it from the start. Both are pure and total over
what workers may send: a result for a job that is not open (late, doubled, cancelled) changes nothing,
and a result that does not parse counts as a failure of the infrastructure, never of the candidate.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from coordinator.engine.arms import ARMS, Arm
from coordinator.engine.bounds import Bounds, Thresholds
from schema.errors import HistoryError
from schema.events import (
    CancelRequested,
    CandidateChosen,
    CheckpointPromoted,
    CheckpointRestored,
    ClockNoted,
    IntegrityResolved,
    IntegrityScanned,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobRequested,
    Recorded,
    RoundStarted,
    TaskCreated,
    TaskEvent,
    TaskFinished,
    TaskResumed,
    TreeRefused,
)
from schema.jobs import CompilePayload, JobKind, Proposal, Proposals, Tokens, TurnResult, ValidatePayload
from schema.results import CaseSet, CaseStatus, Compilation, FailureType, Validation


class Purpose(StrEnum):
    """What the policy wants a job for."""

    BASELINE = "baseline"
    REWRITE = "rewrite"  # a list of trials from the executable rewrites
    TRIAL = "trial"  # one rewrite, compiled or tried on the failing cases
    TURN = "turn"
    SESSION = "session"  # the compilation that a session asked for
    PROBE = "probe"  # the measurement that a session asked for
    CANDIDATE = "candidate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Requested:
    """A job as the driver asked for it."""

    job_id: str
    kind: JobKind
    purpose: str
    round: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A finished validation. `asked` are the positions in the full set that it was asked for.

    What follows from its cases is told once: a policy asks for it at every decision, of all rounds there were.
    """

    job_id: str
    sequence: int
    round: int
    tree: str
    case_set: CaseSet
    asked: tuple[int, ...]
    validation: Validation

    @cached_property
    def failing(self) -> tuple[int, ...]:
        """Asked cases that neither passed nor were cut; one without a result counts as failing."""
        fine = {
            case.index for case in self.validation.cases if case.status in (CaseStatus.PASSED, CaseStatus.CUT)
        }
        return tuple(index for index in self.asked if index not in fine)

    @cached_property
    def passed(self) -> bool:
        """Every asked case passed or was cut, and at least one passed."""
        return self.validation.passed and not self.failing

    @cached_property
    def rate(self) -> float:
        """Passed cases / cases that were not cut; 0.0 where all were cut."""
        cut = {case.index for case in self.validation.cases if case.status is CaseStatus.CUT}
        ran = [index for index in self.asked if index not in cut]
        return 1.0 - len(self.failing) / len(ran) if ran else 0.0

    @cached_property
    def closeness(self) -> float:
        """Mean closeness over the asked cases; a case without a result counts as 0."""
        by_index = {case.index: case.closeness for case in self.validation.cases}
        return sum(by_index.get(index, 0.0) for index in self.asked) / len(self.asked) if self.asked else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A finished turn of a repair session."""

    job_id: str
    round: int
    result: TurnResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One repair round as far as it has come.

    Attributes:
        proposals: what the rewrites propose; None until the rewrite job has answered.
        trials: trees that were sent to be tried, in order.
        probes: how many probes its session was given.
        candidate: what ended the search.
    """

    started: RoundStarted
    proposals: tuple[Proposal, ...] | None = None
    trials: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    probes: int = 0
    candidate: CandidateChosen | None = None

    @property
    def number(self) -> int:
        """1-based."""
        return self.started.round

    @property
    def tree(self) -> str:
        """The tree it began from."""
        return self.started.tree


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskState:
    """Everything `decide` may look at.

    Attributes:
        sequence: how many events are in it. now: time of the newest one; the only clock there is.
        requested: every job ever asked for, by id. open: ids without a result, oldest first.
        builds: the newest compilation of each tree.
        checked: the newest validation by tree and case set.
        validations: all validations in order.
        aborted: how often a machine broke the job that is named by kind, tree and case set.
        broken: why the infrastructure failed for good; "" if it did not.
        refused: trees that can't become a revision, with the reason.
        current: the tree that the next round begins from.
        turns: finished and open turns of the whole task.
        late: results that came for a job that was not open.
        paused: seconds between its ends and its resumptions.
    """

    created: TaskCreated
    arm: Arm
    bounds: Bounds
    thresholds: Thresholds
    started_at: datetime
    now: datetime
    sequence: int
    current: str
    requested: Mapping[str, Requested] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    builds: Mapping[str, Compilation] = field(default_factory=dict)
    built_by: Mapping[str, str] = field(default_factory=dict)
    checked: Mapping[tuple[str, CaseSet], Checked] = field(default_factory=dict)
    validations: tuple[Checked, ...] = ()
    aborted: Mapping[str, int] = field(default_factory=dict)
    broken: str = ""
    rounds: tuple[Round, ...] = ()
    scans: Mapping[str, IntegrityScanned] = field(default_factory=dict)
    resolutions: Mapping[str, IntegrityResolved] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    promotions: tuple[CheckpointPromoted, ...] = ()
    restores: tuple[CheckpointRestored, ...] = ()
    turns: int = 0
    trials: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cancelled_by: str | None = None
    finished: TaskFinished | None = None
    late: int = 0
    paused: float = 0.0

    @property
    def baseline(self) -> str:
        """The frozen tree."""
        return self.created.tree

    @property
    def checkpoint(self) -> CheckpointPromoted | None:
        """The best candidate so far (the baseline counts)."""
        return self.promotions[-1] if self.promotions else None

    @property
    def round(self) -> Round | None:
        """The newest round."""
        return self.rounds[-1] if self.rounds else None

    @property
    def elapsed(self) -> float:
        """Seconds from the first event to the newest, without those in which the task was at an end."""
        return (self.now - self.started_at).total_seconds() - self.paused

    def open_for(self, *purposes: Purpose) -> tuple[Requested, ...]:
        """Open jobs with one of these purposes, oldest first."""
        wanted = {purpose.value for purpose in purposes}
        return tuple(
            self.requested[job_id] for job_id in self.open if self.requested[job_id].purpose in wanted
        )

    def verdict(self, tree: str) -> str | None:
        """What a person, else the scan, says of a tree; None if nothing yet."""
        if tree in self.resolutions:
            return self.resolutions[tree].verdict
        scan = self.scans.get(tree)
        return scan.verdict if scan is not None else None


def abort_key(kind: JobKind, tree: str, case_set: str = "") -> str:
    """Names a unit of work across its attempts."""
    return f"{kind.value}:{tree}:{case_set}"


def fold(recorded: Iterable[Recorded]) -> TaskState:
    """The state after these events.

    Raises:
        HistoryError: the log is empty, or does not begin with task_created.
    """
    state: TaskState | None = None
    for one in recorded:
        state = apply(state, one)
    if state is None:
        raise HistoryError("an empty log has no state", mend="submit the task again")
    return state


def apply(state: TaskState | None, recorded: Recorded) -> TaskState:
    """The state one event further.

    Raises:
        HistoryError: the first event is not task_created, or a later one is.
    """
    event = recorded.event
    if state is None:
        return _created(event, recorded)
    before = state.now
    # A clock that steps back must not lengthen a task's time.
    state = replace(state, sequence=recorded.sequence, now=max(state.now, recorded.at))
    match event:
        case JobRequested():
            return _requested(state, event)
        case JobFinished():
            return _finished_job(state, event, recorded.sequence)
        case JobFailed():
            if event.job_id not in state.open:
                return replace(state, late=state.late + 1)
            job = state.requested[event.job_id]
            reason = f"{job.kind.value} job {event.job_id} failed {event.attempts} times: {event.reason}"
            return replace(_close(state, event.job_id), broken=state.broken or reason)
        case JobCancelled():
            return _close(state, event.job_id)
        case RoundStarted():
            return replace(state, rounds=(*state.rounds, Round(started=event)))
        case TreeRefused():
            return replace(state, refused={**state.refused, event.tree: event.reason})
        case CandidateChosen():
            state = _in_round(state, event.round, candidate=event)
            return replace(state, current=event.proposal.tree)
        case IntegrityScanned():
            return replace(state, scans={**state.scans, event.tree: event})
        case IntegrityResolved():
            return replace(state, resolutions={**state.resolutions, event.tree: event})
        case CheckpointPromoted():
            return replace(state, promotions=(*state.promotions, event))
        case CheckpointRestored():
            return replace(state, restores=(*state.restores, event), current=event.tree)
        case CancelRequested():
            return replace(state, cancelled_by=event.author)
        case TaskFinished():
            return replace(state, finished=event, open=())
        case TaskResumed():
            return _resumed(state, (state.now - before).total_seconds())
        case ClockNoted():
            return state
        case _:
            raise HistoryError(
                f"event {recorded.sequence} ({event.kind}) can't follow here",
                mend="the log was written by a newer version, or by hand",
            )


def _created(event: TaskEvent, recorded: Recorded) -> TaskState:
    if not isinstance(event, TaskCreated):
        raise HistoryError(f"the log begins with {event.kind}, not task_created", mend="restore it whole")
    if event.arm not in ARMS:
        raise HistoryError(f"the log names an arm this version lacks: {event.arm}", mend="use a newer opmend")
    return TaskState(
        created=event,
        arm=ARMS[event.arm],
        bounds=Bounds.of(event.bounds),
        thresholds=Thresholds.of(event.thresholds),
        started_at=recorded.at,
        now=recorded.at,
        sequence=recorded.sequence,
        current=event.tree,
    )


def _requested(state: TaskState, event: JobRequested) -> TaskState:
    job = Requested(
        job_id=event.job_id,
        kind=JobKind(event.job_kind),
        purpose=event.purpose,
        round=event.round,
        payload=event.payload,
    )
    state = replace(state, requested={**state.requested, event.job_id: job}, open=(*state.open, event.job_id))
    if job.kind is JobKind.TURN:
        return replace(state, turns=state.turns + 1)
    current = state.round
    if current is None:
        return state
    if job.purpose == Purpose.TRIAL and job.payload["tree"] not in current.trials:
        state = _in_round(state, current.number, trials=(*current.trials, job.payload["tree"]))
        return replace(state, trials=state.trials + 1)
    if job.purpose == Purpose.PROBE and job.kind is JobKind.VALIDATE:
        return _in_round(state, current.number, probes=current.probes + 1)
    return state


def _finished_job(state: TaskState, event: JobFinished, sequence: int) -> TaskState:
    if event.job_id not in state.open:
        return replace(state, late=state.late + 1)
    job = state.requested[event.job_id]
    state = _close(state, event.job_id)
    try:
        match job.kind:
            case JobKind.COMPILE:
                return _built(state, job, Compilation.model_validate(event.result))
            case JobKind.VALIDATE:
                return _validated(state, job, Validation.model_validate(event.result), sequence)
            case JobKind.REWRITE:
                proposals = Proposals.model_validate(event.result).proposals
                return _in_round(state, job.round, proposals=proposals)
            case JobKind.TURN:
                result = TurnResult.model_validate(event.result)
                turns = next((one.turns for one in state.rounds if one.number == job.round), ())
                turn = Turn(job_id=job.job_id, round=job.round, result=result)
                state = replace(state, tokens=state.tokens + result.tokens)
                return _in_round(state, job.round, turns=(*turns, turn))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = f"{job.kind.value} job {job.job_id} answered what this version can't read: {where}: {first['msg']}"
        return replace(state, broken=state.broken or reason)


def _built(state: TaskState, job: Requested, compilation: Compilation) -> TaskState:
    tree = CompilePayload.model_validate(job.payload).tree
    if compilation.failure_type is FailureType.EXECUTION_ABORTED or (
        compilation.ok and compilation.artifact is None
    ):
        return _abort(state, abort_key(JobKind.COMPILE, tree))
    return replace(
        state,
        builds={**state.builds, tree: compilation},
        built_by={**state.built_by, tree: job.job_id},
    )


def _validated(state: TaskState, job: Requested, validation: Validation, sequence: int) -> TaskState:
    payload = ValidatePayload.model_validate(job.payload)
    if validation.failure_type is FailureType.EXECUTION_ABORTED:
        return _abort(state, abort_key(JobKind.VALIDATE, payload.tree, payload.case_set.value))
    done = Checked(
        job_id=job.job_id,
        sequence=sequence,
        round=job.round,
        tree=payload.tree,
        case_set=payload.case_set,
        asked=payload.indices,
        validation=validation,
    )
    return replace(
        state,
        checked={**state.checked, (done.tree, done.case_set): done},
        validations=(*state.validations, done),
    )


def _resumed(state: TaskState, seconds: float) -> TaskState:
    """As if what was under way at the end had never been asked for, and no machine had failed."""
    state = replace(
        state, finished=None, cancelled_by=None, broken="", aborted={}, paused=state.paused + seconds
    )
    state = replace(state, turns=sum(len(one.turns) for one in state.rounds))
    current = state.round
    if current is None:
        return state
    measured = {one.job_id for one in state.validations}
    probes = [
        job
        for job in state.requested.values()
        if (job.kind, job.purpose, job.round) == (JobKind.VALIDATE, Purpose.PROBE, current.number)
    ]
    return _in_round(state, current.number, probes=sum(job.job_id in measured for job in probes))


def _abort(state: TaskState, key: str) -> TaskState:
    return replace(state, aborted={**state.aborted, key: state.aborted.get(key, 0) + 1})


def _close(state: TaskState, job_id: str) -> TaskState:
    return replace(state, open=tuple(one for one in state.open if one != job_id))


def _in_round(state: TaskState, number: int, **changes: Any) -> TaskState:
    return replace(
        state,
        rounds=tuple(replace(one, **changes) if one.number == number else one for one in state.rounds),
    )

"""What is worth saying while a task runs: one line an event, or nothing. Pure."""

from coordinator.engine.state import Checked, Purpose, TaskState
from schema.events import (
    CandidateChosen,
    CheckpointRestored,
    IntegrityScanned,
    JobFailed,
    JobFinished,
    Recorded,
    RoundStarted,
    TaskFinished,
    TaskResumed,
)
from schema.jobs import JobKind
from schema.results import CaseSet, CaseStatus


def describe(state: TaskState, recorded: Recorded) -> str | None:
    """The line for an event, given the state after it; None for events that only move things along."""
    event = recorded.event
    match event:
        case RoundStarted():
            hint = f", {event.hints[0]}" if event.hints else ""
            return f"round {event.round}: {event.failure_type}{hint}; {len(event.entries)} entries fit"
        case CandidateChosen():
            what = event.proposal.title or event.proposal.direction or event.origin
            return f"round {event.round}: candidate by {event.origin}: {what}"
        case CheckpointRestored():
            return f"back to the checkpoint after round {event.round}"
        case IntegrityScanned() if event.verdict != "CLEAN":
            return f"integrity: {event.verdict}"
        case JobFailed():
            return f"infrastructure: {event.reason}"
        case TaskResumed():
            return f"resumed by {event.author}"
        case TaskFinished():
            return f"{event.outcome}: {event.reason}" if event.reason else event.outcome
        case JobFinished():
            return _job(state, event)
        case _:
            return None


def _job(state: TaskState, event: JobFinished) -> str | None:
    job = state.requested.get(event.job_id)
    if job is None:
        return None
    if job.kind is JobKind.COMPILE and job.purpose != Purpose.TRIAL and not event.result.get("ok"):
        return f"{job.purpose}: does not compile"
    if job.kind is JobKind.REWRITE:
        count = len(event.result.get("proposals", ()))
        return (
            f"round {job.round}: {count} rewrites to try"
            if count
            else f"round {job.round}: no rewrite applies"
        )
    if job.kind is not JobKind.VALIDATE:
        return None
    done = next((one for one in reversed(state.validations) if one.job_id == event.job_id), None)
    if done is None:
        return None
    if done.case_set is CaseSet.TRIAL:
        return f"round {job.round}: trial fixes {_passed(done)} of {len(done.validation.ran)} failing cases"
    hint = f" ({done.validation.forensics.hint})" if done.validation.forensics and not done.passed else ""
    return f"{job.purpose}: {done.case_set} set {_passed(done)}/{len(done.validation.ran)}{hint}"


def _passed(done: Checked) -> int:
    return sum(case.status is CaseStatus.PASSED for case in done.validation.ran)

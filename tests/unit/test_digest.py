"""The digest of a task's course: blind to times, places and broken machines, and to nothing else."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.engine.digest import course, first_difference, task_digest
from coordinator.engine.state import Purpose
from schema import events
from schema.events import JobFailed, JobFinished, JobRequested, Recorded
from tests.support.golden import golden

LOGS = golden()


def changed(one: Recorded, **fields: Any) -> Recorded:
    return one.model_copy(update={"event": one.event.model_copy(update=fields)})


def numbered(parts: list[Recorded]) -> list[Recorded]:
    return [one.model_copy(update={"sequence": number}) for number, one in enumerate(parts, start=1)]


@given(name=st.sampled_from(sorted(LOGS)), seconds=st.floats(0, 1e6), data=st.data())
def test_times_and_broken_machines_are_left_out(name: str, seconds: float, data: st.DataObject) -> None:
    log = LOGS[name]
    told: list[Recorded] = []
    for one in log:
        late = one.model_copy(update={"at": one.at + timedelta(seconds=seconds)})
        event = one.event
        if isinstance(event, JobRequested) and data.draw(st.booleans()):
            # The first machine breaks, and the job is asked for again under another id.
            first = changed(late, job_id=f"{event.job_id}-first")
            failed = late.model_copy(
                update={"event": JobFailed(job_id=f"{event.job_id}-first", reason="no g++", attempts=3)}
            )
            told += [first, failed]
        if isinstance(event, JobFinished) and "seconds" in event.result:
            late = changed(late, result=event.result | {"seconds": seconds})
        told.append(late)
    assert task_digest(numbered(told)) == task_digest(log)
    assert first_difference(numbered(told), log) == ""


@pytest.mark.parametrize("name", sorted(LOGS))
def test_every_other_change_shows(name: str) -> None:
    log = LOGS[name]
    seen = 0
    for at, one in enumerate(log):
        match one.event:
            case events.TaskFinished():
                other = changed(one, outcome="exhausted", reason="another")
            case events.IntegrityScanned():
                other = changed(one, verdict="SUSPECT!")
            case events.RoundStarted():
                other = changed(one, hints=(*one.event.hints, "another"))
            case events.CandidateChosen():
                other = changed(one, origin="elsewhere")
            case events.JobFinished() if not _of_trial(log, one.event.job_id):
                other = changed(one, result=one.event.result | {"message": "another"})
            case _:
                continue
        seen += 1
        there = [*log[:at], other, *log[at + 1 :]]
        assert task_digest(there) != task_digest(log), one.event.kind
        assert first_difference(there, log)
    assert seen > 2
    assert first_difference(log[:-1], log)


def test_two_tasks_of_one_cohort_are_told_alike() -> None:
    log = LOGS["repaired by a rewrite"]
    other = [
        changed(one, session=one.event.session.replace("task-1-", "task-77-"))
        if isinstance(one.event, events.RoundStarted)
        else one
        for one in log
    ]
    assert course(other) == course(log)


def _of_trial(log: list[Recorded], job_id: str) -> bool:
    return any(
        isinstance(one.event, JobRequested)
        and one.event.job_id == job_id
        and one.event.purpose == Purpose.TRIAL
        for one in log
    )

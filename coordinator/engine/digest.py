"""What a task's log says, whoever was killed in between: for comparing a disturbed run with an undisturbed one.

A log has three kinds of content: what was decided and found out, which must not depend on the machines; when and
where it happened; and what the machines did wrong on the way. `course` keeps the first kind alone. The trials of a
round run several at a time, and which of them are still under way when the winner is found is a matter of time; so
they are left out as well, and the candidate that they lead to stands for them. An end that was taken back is none,
and a job that it cut off is asked for once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coordinator.engine.state import Purpose
from schema import events
from schema.canonical import canonical_json, digest
from schema.events import Recorded

# Times, places, and what a build may differ in without a difference in meaning.
VOLATILE = frozenset({"seconds", "timings", "artifact", "binary_digest", "transcript"})
_SESSION = re.compile(r"task-\d+-")


def task_digest(recorded: Sequence[Recorded]) -> str:
    """SHA-256 over the course of a task: equal for two tasks that were decided alike on the same results."""
    return digest(canonical_json(course(recorded)))


def course(recorded: Sequence[Recorded]) -> list[dict[str, Any]]:
    """The events of a log without times, places, ids, trials, failures of the infrastructure, and interruptions.

    Args:
        recorded: the log, from its first event on.

    Returns:
        One object an event that is left, in the order of the log: its kind and its data, job ids replaced by what
        the job was for.
    """
    names: dict[str, str] = {}
    left_out: set[str] = set()
    for one in recorded:
        match one.event:
            case events.JobRequested() as asked:
                names[asked.job_id] = _name(asked)
                if asked.purpose == Purpose.TRIAL:
                    left_out.add(asked.job_id)
            case events.JobFailed() as failed:
                left_out.add(failed.job_id)
    interruptions = _interruptions(recorded)
    left_out |= interruptions.jobs
    told: list[dict[str, Any]] = []
    for one in recorded:
        if one.sequence in interruptions.events:
            continue
        match one.event:
            case events.ClockNoted() | events.JobFailed():
                continue
            case events.JobRequested() | events.JobFinished() | events.JobCancelled() as about:
                if about.job_id in left_out:
                    continue
        data = _plain(one.event.model_dump(mode="json"), names)
        if data.get("rule") == "wall-clock":
            data.pop("numbers")
        told.append({"kind": one.event.kind, **data})
    return told


@dataclass(frozen=True, kw_only=True)
class _Interruptions:
    """Sequence numbers of ends that were taken back, with what led to them, and the jobs that they cut off."""

    events: frozenset[int]
    jobs: frozenset[str]


def _interruptions(recorded: Sequence[Recorded]) -> _Interruptions:
    left: set[int] = set()
    cut_off: set[str] = set()
    asked: set[int] = set()
    under_way: set[str] = set()
    ended = 0
    for one in recorded:
        match one.event:
            case events.JobRequested() as event:
                under_way.add(event.job_id)
            case events.JobFinished() | events.JobCancelled() as event:
                under_way.discard(event.job_id)
            case events.CancelRequested():
                asked.add(one.sequence)
            case events.TaskFinished():
                ended = one.sequence
            case events.TaskResumed():
                left |= {*asked, ended, one.sequence}
                cut_off |= under_way
                asked, under_way = set(), set()
    return _Interruptions(events=frozenset(left), jobs=frozenset(cut_off))


def first_difference(one: Sequence[Recorded], other: Sequence[Recorded]) -> str:
    """Where two courses part, in words; "" where they are the same."""
    here, there = course(one), course(other)
    for number, (left, right) in enumerate(zip(here, there, strict=False), start=1):
        if left != right:
            fields = sorted(key for key in {*left, *right} if left.get(key) != right.get(key))
            return f"step {number}, {left['kind']} against {right['kind']}: {', '.join(fields)}"
    if len(here) != len(there):
        return f"{len(here)} steps against {len(there)}"
    return ""


def _name(asked: events.JobRequested) -> str:
    payload = asked.payload
    return f"{asked.round}/{asked.purpose}/{asked.job_kind}/{payload.get('case_set', '')}/{payload.get('tree', '')}"


def _plain(data: Any, names: Mapping[str, str]) -> Any:
    if isinstance(data, dict):
        return {key: _plain(value, names) for key, value in data.items() if key not in VOLATILE}
    if isinstance(data, list):
        return [_plain(value, names) for value in data]
    if isinstance(data, str):
        return names.get(data) or _SESSION.sub("", data)
    return data

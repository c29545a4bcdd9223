"""Replay: golden logs of real runs, logs made to differ, and purity of everything that decides.

To record the golden logs again after a change of the policy that is meant to decide otherwise:
    python tests/unit/test_engine_replay.py
A change that is not meant to must leave them alone.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordinator.engine.bounds import Bounds, Thresholds
from coordinator.engine.replay import replay
from coordinator.engine.state import fold
from coordinator.engine.story import Story
from schema import events
from schema.errors import HistoryError
from schema.jobs import JobKind, Proposal, Proposals, ToolRequest, TurnResult
from schema.results import (
    CaseResult,
    CaseSet,
    CaseStatus,
    Compilation,
    Deviation,
    FailureType,
    Forensics,
    Record,
    Validation,
)
from tests.support.golden import GOLDEN, golden

FAILING = {"base": {1, 2}, "worse": {0, 1, 2}, "half": {2}, "right": set(), "late": {3}}
STORIES: dict[str, dict[str, Any]] = {
    "repaired by a rewrite": {"proposals": {"base": ["worse", "right"]}},
    "repaired in two rounds": {"proposals": {"base": ["half", "worse"], "half": ["right"]}},
    "stopped, nothing to propose": {"proposals": {}},
    "a session after the rewrites": {
        "proposals": {"base": ["half"]},
        "model": "some/model",
        "moves": [
            (ToolRequest.COMPILE, "broken"),
            (ToolRequest.PROBE, "half"),
            (ToolRequest.SUBMIT, "right"),
        ],
    },
    "sessions that lead nowhere": {
        "proposals": {},
        "model": "some/model",
        "arm": "debug-no-adaptive",
        "moves": [(ToolRequest.SUBMIT, "worse")],
    },
    "a cheat by numbers": {"proposals": {"base": ["right"]}, "verdicts": {"right": "CHEAT"}},
    "compact passes, full does not": {"proposals": {"base": ["late"], "late": ["right"]}},
}


def play(proposals: dict[str, list[str]], **facts: Any) -> Story:
    moves = facts.get("moves", [])

    def world(job: Any) -> Record:
        tree = job.payload["tree"]
        match job.kind:
            case JobKind.COMPILE:
                ok = tree != "broken"
                kind = FailureType.SUCCESS if ok else FailureType.BUILD_FAILED
                return Compilation(
                    ok=ok, failure_type=kind, artifact=f"so {tree}" if ok else None, log="a log"
                )
            case JobKind.REWRITE:
                found = [one for one in proposals.get(tree, []) if one not in job.payload["known_trees"]]
                return Proposals(
                    proposals=tuple(Proposal(tree=one, entry="e", direction=f"to {one}") for one in found)
                )
            case JobKind.TURN:
                request, to = moves[min(job.payload["turn"], len(moves)) - 1]
                detail = {"direction": "d", "explanation": "x"} if request is ToolRequest.SUBMIT else {}
                return TurnResult(tree=to, transcript="t", request=request, detail=detail)
            case _:
                return validation(job.payload, FAILING[tree])

    verdicts = facts.get("verdicts", {})
    created = events.TaskCreated(
        name="Add", level="L1", category="elementwise", arm=facts.get("arm", "debug"),
        model=facts.get("model", "kb"), trial=0, tree="base", compact=(0, 1, 2), full=(0, 1, 2, 3), seed=5,
        bounds=Bounds().frozen(), thresholds=Thresholds().frozen(),
    )  # fmt: skip
    story = Story(created, scan=lambda tree: verdicts.get(tree, "CLEAN"))
    story.play(world)
    return story


def validation(payload: dict[str, Any], failing: set[int]) -> Validation:
    bad = failing & set(payload["indices"])
    cases = []
    for index in payload["indices"]:
        deviation = Deviation(output="0", dtype="float16", shape=(8,), mismatched=2, total=8, max_abs=1e30)
        status = CaseStatus.MISMATCH if index in bad else CaseStatus.PASSED
        cases.append(
            CaseResult(
                index=index, name=f"c{index}", status=status, deviations=(deviation,) if index in bad else ()
            )
        )
    return Validation(
        case_set=CaseSet(payload["case_set"]),
        failure_type=FailureType.PRECISION_FAILED if bad else FailureType.SUCCESS,
        cases=tuple(cases),
        forensics=Forensics(hint="scattered", summary="here and there") if bad else None,
    )


@pytest.mark.parametrize("name", sorted(STORIES))
def test_golden_logs_are_decided_as_they_were(name: str) -> None:
    assert replay(golden()[name]) is None


@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_log_made_to_differ_is_found_out(name: str) -> None:
    log = golden()[name]
    decisions = [at for at, one in enumerate(log) if one.event.kind == "job_requested"]
    at = decisions[-1]
    event = log[at].event
    assert isinstance(event, events.JobRequested)
    other = event.model_copy(update={"payload": {**event.payload, "tree": "another"}})
    changed = [*log[:at], log[at].model_copy(update={"event": other}), *log[at + 1 :]]
    difference = replay(changed)
    assert difference is not None
    assert difference.sequence == at + 1
    assert "another" in str(difference)
    # A verdict that was turned round changes what follows.
    flipped = [
        one.model_copy(update={"event": one.event.model_copy(update={"verdict": "CHEAT"})})
        if isinstance(one.event, events.IntegrityScanned) and one.event.tree == "base"
        else one
        for one in log
    ]
    assert replay(flipped) is not None


def test_an_end_that_is_missing_is_found_out() -> None:
    log = golden()["repaired by a rewrite"]
    difference = replay(log[:-1])
    assert difference is not None
    assert (difference.sequence, difference.recorded) == (len(log), "")
    assert replay(log[:-1], decided_sequence=len(log) - 2) is None  # not decided yet: still to come


def test_a_log_needs_its_beginning() -> None:
    log = golden()["repaired by a rewrite"]
    for part in ([], log[1:], [*log[:3], log[0]]):
        with pytest.raises(HistoryError):
            replay(part) if not part else fold(part)


def test_what_decides_touches_no_clock_no_chance_and_no_store() -> None:
    """Fold and decide all golden logs where clock, chance, files and sockets are forbidden."""
    script = f"""
import builtins, json, os, random, socket, sys, time, datetime
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_engine_replay as here
logs = here.golden()
def forbidden(*_, **__):
    raise AssertionError("not pure")
for place, names in ((time, ("time", "monotonic", "time_ns", "sleep")), (random, ("random", "randint", "choice")),
                     (os, ("urandom", "getenv")), (builtins, ("open",)), (socket, ("socket",))):
    for name in names:
        setattr(place, name, forbidden)
class NoClock(datetime.datetime):
    now = utcnow = today = forbidden
datetime.datetime = NoClock
for log in logs.values():
    assert here.replay(log) is None
sys.stdout.write("pure")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "pure", done.stderr


def main() -> None:
    """Record the golden logs."""
    recorded = {
        name: [
            {"kind": one.event.kind, "data": one.event.model_dump(mode="json")}
            for one in play(**facts).recorded
        ]
        for name, facts in STORIES.items()
    }
    parts = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(one, sort_keys=True) for one in log) + "\n]"
        for name, log in recorded.items()
    ]
    GOLDEN.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()

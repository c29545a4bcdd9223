"""Each adaptive rule with a story that trips it and one that does not."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from coordinator.engine import adaptive
from coordinator.engine.bounds import Bounds
from coordinator.engine.facts import improvements
from coordinator.engine.state import TaskState
from coordinator.engine.story import Story
from schema.events import TaskCreated
from schema.jobs import JobKind, Proposals, ToolRequest, TurnResult
from schema.results import (
    CaseResult,
    CaseSet,
    CaseStatus,
    Compilation,
    Deviation,
    FailureType,
    Record,
    Validation,
)

COMPACT, FULL = tuple(range(10)), tuple(range(40))


def rounds(
    failing: Sequence[Sequence[int]],
    *,
    trees: Sequence[str] | None = None,
    directions: Sequence[str] | None = None,
    dtype: str = "float32",
    error: Sequence[float] | None = None,
    arm: str = "debug",
    bounds: Bounds | None = None,
) -> Story:
    """A task whose baseline and sessions fail in these cases, one entry a tree."""
    names = list(trees or [f"t{number}" for number in range(len(failing))])
    kernels = dict(zip(names, failing, strict=False))
    errors = dict(zip(names, error or [0.01] * len(names), strict=False))

    def world(job: Any) -> Record:
        match job.kind:
            case JobKind.COMPILE:
                return Compilation(ok=True, artifact="so")
            case JobKind.REWRITE:
                return Proposals()
            case JobKind.TURN:
                if job.round >= len(names):
                    return TurnResult(tree=names[0], transcript="t", request=ToolRequest.GIVE_UP)
                direction = directions[job.round - 1] if directions else f"d{job.round}"
                return TurnResult(
                    tree=names[job.round], transcript="t", request=ToolRequest.SUBMIT,
                    detail={"direction": direction},
                )  # fmt: skip
            case _:
                tree = job.payload["tree"]
                return validation(job.payload, kernels[tree], dtype, errors[tree])

    story = Story(
        TaskCreated(
            name="Add", level="L1", category="elementwise", arm=arm, model="m", trial=0, tree=names[0],
            compact=COMPACT, full=FULL, seed=1, bounds=(bounds or Bounds()).frozen(),
        )
    )  # fmt: skip
    story.play(world)
    return story


def validation(payload: Mapping[str, Any], failing: Sequence[int], dtype: str, error: float) -> Validation:
    bad = set(failing) & set(payload["indices"])
    deviation = Deviation(
        output="0", dtype=dtype, shape=(100,), mismatched=50, total=100, mean_rel=error, threshold=0.01
    )
    return Validation(
        case_set=CaseSet(payload["case_set"]),
        failure_type=FailureType.PRECISION_FAILED if bad else FailureType.SUCCESS,
        cases=tuple(
            CaseResult(
                index=index,
                name=f"case{index}",
                status=CaseStatus.MISMATCH if index in bad else CaseStatus.PASSED,
                deviations=(deviation,) if index in bad else (),
            )
            for index in payload["indices"]
        ),
    )


def ended(story: Story) -> tuple[str | None, str]:
    assert story.state.finished is not None
    return story.outcome, story.state.finished.rule


EIGHT, SIX = tuple(range(8)), tuple(range(6))


def test_same_direction_stagnation() -> None:
    story = rounds([SIX, SIX, SIX, SIX], directions=["x", "x", "x"])
    assert ended(story) == ("stopped", "same-direction")
    assert len(story.state.rounds) == 2
    story = rounds([SIX, SIX, SIX, SIX, SIX, SIX], directions=["x", "y", "x", "y", "x"])
    assert ended(story) == ("exhausted", "rounds")


def test_oscillation_by_tree_and_by_progress() -> None:
    # b again after c: the same candidate
    story = rounds([EIGHT, SIX, EIGHT, SIX], trees=["a", "b", "c", "b"])
    assert ended(story) == ("stopped", "oscillation")
    story = rounds([EIGHT, EIGHT, SIX, EIGHT, SIX])
    assert ended(story) == ("stopped", "oscillation")
    assert story.state.finished is not None
    assert story.state.finished.numbers == pytest.approx({"first": 0.1, "middle": 0.2, "last": 0.1})
    assert adaptive.oscillation(rounds([EIGHT, SIX, (0, 1), ()]).state) is None


def test_full_coverage_that_no_longer_rises() -> None:
    far = tuple(range(20, 36))
    story = rounds([SIX, far, far, far, far, far], directions=["a", "b", "c", "d", "e"])
    assert ended(story) == ("stopped", "full-coverage")
    story = rounds([SIX, far, far[1:], far[2:], far[3:], far[4:]])
    assert ended(story) == ("exhausted", "rounds")


def test_a_near_pass_that_gains_nothing() -> None:
    story = rounds([SIX, (30,), (31,), (32,), (33,), (34,)])
    assert adaptive.near_pass(story.state) is not None
    story = rounds([SIX, (30, 31, 32, 33), (30, 31, 32), (30,), ()])
    assert story.outcome == "passed"
    assert adaptive.near_pass(story.state) is None


def test_fp16_ceiling() -> None:
    story = rounds([SIX, SIX, SIX, SIX], dtype="float16", error=[0.02] * 4)
    assert ended(story) == ("stopped", "fp16-ceiling")
    for dtype, error in (
        ("float32", [0.02] * 6),
        ("float16", [0.9] * 6),
        ("float16", [0.02, 0.03] * 3),
    ):
        story = rounds([SIX] * 6, dtype=dtype, error=error)
        assert ended(story) == ("exhausted", "rounds"), (dtype, error)


def test_degenerate_rounds() -> None:
    assert ended(rounds([SIX])) == ("stopped", "degenerate")  # the session gives up
    assert adaptive.degenerate(rounds([SIX, EIGHT]).state) is None


def test_the_soft_budget_is_released_by_evidence() -> None:
    bounds = Bounds(soft_turns=2, turns_per_task=50)
    story = rounds([SIX] * 6, bounds=bounds)
    assert ended(story) == ("stopped", "soft-budget")
    story = rounds([EIGHT, SIX, SIX, SIX, SIX, SIX], bounds=bounds)
    assert ended(story) == ("exhausted", "rounds")  # round 1 promoted a checkpoint


def test_an_arm_without_the_rules_runs_into_the_hard_bounds() -> None:
    story = rounds([SIX] * 6, directions=["x"] * 5, arm="debug-no-adaptive", bounds=Bounds(soft_turns=1))
    assert ended(story) == ("exhausted", "rounds")
    assert len(story.state.rounds) == 5


def test_directions_are_remembered_with_their_results() -> None:
    state: TaskState = rounds([EIGHT, SIX, EIGHT, SIX[:2]], directions=["a", "b", "c"]).state
    assert [(one.direction, one.result) for one in improvements(state)][:3] == [
        ("a", "improved"), ("b", "regressed"), ("c", "improved"),
    ]  # fmt: skip

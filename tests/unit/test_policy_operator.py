"""The operator policy, told as stories: a world of kernels answers the engine's jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coordinator.engine.arms import ARMS
from coordinator.engine.bounds import Bounds
from coordinator.engine.digest import first_difference
from coordinator.engine.replay import replay
from coordinator.engine.state import Requested, fold
from coordinator.engine.story import Story
from schema import events
from schema.jobs import JobKind, Proposal, Proposals, Tokens, ToolRequest, TurnResult
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

COMPACT, FULL = (0, 2, 4), (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A tree: how it builds, which cases fail and how far off, and what rewrites make of it."""

    failing: tuple[int, ...] = ()
    share: float = 0.5
    builds: FailureType = FailureType.SUCCESS
    runs: bool = True
    rewrites: tuple[str, ...] = ()
    dtype: str = "float32"


@dataclass(kw_only=True)
class World:
    """Answers every job of a task; `turns` are the session's moves, by round."""

    kernels: Mapping[str, Kernel]
    turns: Mapping[int, list[TurnResult]] = field(default_factory=dict)
    asked: list[Requested] = field(default_factory=list)

    def __call__(self, job: Requested) -> Record:
        self.asked.append(job)
        match job.kind:
            case JobKind.COMPILE:
                kernel = self.kernels[job.payload["tree"]]
                if kernel.builds is not FailureType.SUCCESS:
                    return Compilation(
                        ok=False, failure_type=kernel.builds, log="a.cpp:3: error: no such call"
                    )
                return Compilation(ok=True, artifact="so-" + job.payload["tree"])
            case JobKind.VALIDATE:
                assert job.payload["artifact"] == "so-" + job.payload["tree"]
                return validate(self.kernels[job.payload["tree"]], job.payload)
            case JobKind.REWRITE:
                trees = self.kernels[job.payload["tree"]].rewrites
                fresh = [tree for tree in trees if tree not in job.payload["known_trees"]]
                return Proposals(proposals=tuple(proposal(tree) for tree in fresh[: job.payload["most"]]))
            case JobKind.TURN:
                moves = self.turns.get(job.round, [])
                turn = job.payload["turn"]
                return (
                    moves[turn - 1] if turn <= len(moves) else move(ToolRequest.GIVE_UP, job.payload["tree"])
                )

    def count(self, kind: JobKind, **payload: Any) -> int:
        return sum(
            job.kind is kind and all(job.payload.get(key) == value for key, value in payload.items())
            for job in self.asked
        )


def proposal(tree: str) -> Proposal:
    return Proposal(tree=tree, entry="entry", rewrite="r", direction=f"fix-{tree}", explanation=f"why {tree}")


def move(request: ToolRequest, tree: str, **detail: str) -> TurnResult:
    return TurnResult(
        tree=tree, transcript="t", request=request, detail=detail, tokens=Tokens(input=10, output=1)
    )


def validate(kernel: Kernel, payload: Mapping[str, Any]) -> Validation:
    cases, failures = [], 0
    for index in payload["indices"]:
        status = CaseStatus.PASSED
        deviations: tuple[Deviation, ...] = ()
        if index in kernel.failing:
            failures += 1
            status = CaseStatus.MISMATCH if kernel.runs else CaseStatus.TIMEOUT
            deviations = (
                Deviation(
                    output="0", dtype=kernel.dtype, shape=(100,), mismatched=int(kernel.share * 100), total=100,
                    mean_rel=0.002, threshold=0.001,
                ),
            )  # fmt: skip
        cases.append(CaseResult(index=index, name=f"case{index}", status=status, deviations=deviations))
        if payload["stop_after_failures"] and failures >= payload["stop_after_failures"]:
            break
    kind = FailureType.SUCCESS
    if failures:
        kind = FailureType.PRECISION_FAILED if kernel.runs else FailureType.TIMEOUT
    forensics = Forensics(hint="tail_spike", summary="the tail is off") if failures else None
    return Validation(
        case_set=CaseSet(payload["case_set"]), failure_type=kind, cases=tuple(cases), forensics=forensics
    )


def created(**changes: Any) -> events.TaskCreated:
    facts: dict[str, Any] = {
        "name": "Add", "level": "L1", "category": "elementwise", "arm": "debug", "model": "kb", "trial": 0,
        "tree": "base", "compact": COMPACT, "full": FULL, "seed": 7, "bounds": Bounds().frozen(),
    }  # fmt: skip
    return events.TaskCreated(**{**facts, **changes})


def told(
    kernels: Mapping[str, Kernel], *, turns: Any = None, scan: Any = None, **changes: Any
) -> tuple[Story, World]:
    world = World(kernels=kernels, turns=turns or {})
    story = Story(created(**changes), scan=scan or (lambda tree: "CLEAN"))
    story.play(world)
    assert replay(story.recorded) is None
    return story, world


def reason(story: Story) -> str:
    assert story.state.finished is not None
    return story.state.finished.reason


def test_a_rewrite_repairs_a_near_miss() -> None:
    kernels = {
        "base": Kernel(failing=(2, 3), rewrites=("worse", "right", "never")),
        "worse": Kernel(failing=(2, 3, 4)),
        "right": Kernel(),
        "never": Kernel(),
    }
    story, world = told(kernels)
    assert story.outcome == "passed", reason(story)
    assert [one.candidate.proposal.tree for one in story.state.rounds if one.candidate] == ["right"]
    assert world.count(JobKind.COMPILE, tree="right") == 1  # the trial's artifact is used again
    assert world.count(JobKind.VALIDATE, tree="right", case_set="full") == 1
    assert story.state.rounds[0].candidate is not None
    answered = story.state.requested[story.state.rounds[0].candidate.answers]
    assert (answered.payload["tree"], answered.payload["case_set"]) == ("base", "compact")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Kernel(), "passes already"),
        (Kernel(builds=FailureType.BUILD_FAILED), "does not compile: build_failed: a.cpp:3: error"),
        (Kernel(failing=FULL, runs=False), "does not run"),
    ],
)
def test_what_is_no_near_miss(kernel: Kernel, words: str) -> None:
    story, _ = told({"base": kernel})
    assert story.outcome == "not_near_miss"
    assert words in reason(story)


def test_a_baseline_that_fails_in_full_alone_is_a_near_miss() -> None:
    kernels = {"base": Kernel(failing=(3,), rewrites=("right",)), "right": Kernel()}
    story, world = told(kernels)
    assert story.outcome == "passed"
    trial = next(job for job in world.asked if job.payload.get("case_set") == "trial")
    assert list(trial.payload["indices"]) == [3]


def test_several_bugs_are_mended_round_by_round() -> None:
    kernels = {
        "base": Kernel(failing=(0, 2, 3), rewrites=("half", "other")),
        "half": Kernel(failing=(2, 3), rewrites=("both",)),
        "other": Kernel(failing=(0, 2, 3)),
        "both": Kernel(failing=(3,), rewrites=("all",)),
        "all": Kernel(),
    }
    story, _ = told(kernels)
    assert story.outcome == "passed"
    assert [one.tree for one in story.state.rounds] == ["base", "half", "both"]
    assert [promotion.tree for promotion in story.state.promotions] == ["base", "half", "both"]


def test_nothing_to_propose_stops_and_names_the_failure() -> None:
    story, _ = told({"base": Kernel(failing=(2,))})
    assert story.outcome == "stopped"
    assert "no rewrite applies" in reason(story)
    assert "precision_failed, tail_spike" in reason(story)
    story, _ = told(
        {"base": Kernel(failing=(2,), rewrites=("bad",)), "bad": Kernel(builds=FailureType.BUILD_FAILED)}
    )
    assert "none of 1 rewrites tried" in reason(story)


def test_the_winner_does_not_depend_on_which_trial_ends_first() -> None:
    kernels = {
        "base": Kernel(failing=(2,), rewrites=("first", "second", "third")),
        "first": Kernel(failing=()), "second": Kernel(), "third": Kernel(),
    }  # fmt: skip
    for pick in (lambda count: 0, lambda count: count - 1):
        story = Story(created())
        story.play(World(kernels=kernels), pick=pick)
        assert story.state.rounds[0].candidate is not None
        assert story.state.rounds[0].candidate.proposal.tree == "first"
        assert replay(story.recorded) is None


def test_trials_stay_within_their_bounds() -> None:
    names = [f"t{number}" for number in range(40)]
    kernels = {"base": Kernel(failing=(2,), rewrites=tuple(names))}
    kernels |= {name: Kernel(failing=(2,)) for name in names}
    story, world = told(kernels, bounds=Bounds(trials_per_round=6).frozen())
    assert story.outcome == "stopped"
    assert world.count(JobKind.COMPILE) == 1 + 6


def test_integrity_decides() -> None:
    kernels = {"base": Kernel(failing=(2,), rewrites=("right",)), "right": Kernel()}
    story, _ = told(kernels, scan=lambda tree: "CHEAT" if tree == "right" else "CLEAN")
    assert story.outcome == "rejected"
    story, _ = told(kernels, scan=lambda tree: "CHEAT")
    assert story.outcome == "rejected"
    assert not story.state.requested
    story, _ = told(kernels, scan=lambda tree: "CHEAT", arm="debug-no-anticheat")
    assert story.outcome == "passed"
    assert story.state.verdict("right") == "CHEAT"  # a shadow of the arm


def test_a_suspect_waits_for_its_resolution() -> None:
    kernels = {"base": Kernel(failing=(2,), rewrites=("right",)), "right": Kernel()}
    for verdict, outcome in (("CLEAN", "passed"), ("CHEAT", "rejected")):
        story, _ = told(kernels, scan=lambda tree: "SUSPECT")
        assert story.outcome == "suspect"
        story.tell(
            events.IntegrityResolved(tree="right", verdict=verdict, citation="kernel/a.cpp:3", author="me")
        )
        story.decide()
        assert story.outcome == outcome
        assert "kernel/a.cpp:3" in reason(story)
        assert replay(story.recorded) is None


def test_a_cheat_that_fails_is_not_built_upon() -> None:
    kernels = {
        "base": Kernel(failing=(0, 2), rewrites=("cheat",)),
        "cheat": Kernel(failing=(2,), rewrites=("deeper",)),
        "deeper": Kernel(),
    }
    story, _ = told(kernels, scan=lambda tree: "CHEAT" if tree != "base" else "CLEAN")
    assert [one.tree for one in story.state.rounds] == ["base", "base"]
    assert story.outcome == "stopped"


def test_a_session_repairs_what_rewrites_do_not() -> None:
    kernels = {
        "base": Kernel(failing=(0, 2), rewrites=("half",)),
        "half": Kernel(failing=(2,)),
        "draft": Kernel(builds=FailureType.BUILD_FAILED),
        "right": Kernel(),
    }
    turns = {
        1: [
            move(ToolRequest.NONE, "half"),
            move(ToolRequest.COMPILE, "draft"),
            move(ToolRequest.PROBE, "draft"),
            move(
                ToolRequest.SUBMIT, "right", direction="tail @ kernel/a.cpp", explanation="the tail was cut"
            ),
        ]
    }
    story, world = told(kernels, turns=turns, model="some/model")
    assert story.outcome == "passed"
    asked = [job for job in world.asked if job.kind is JobKind.TURN]
    assert asked[0].payload["tree"] == "half"  # it goes on from the best trial
    assert asked[0].payload["brief"]["failing_cases"] == [0, 2]
    assert asked[1].payload["answer"] is None
    assert "no such call" in asked[2].payload["answer"]
    assert asked[3].payload["answer"].startswith("No probe")
    chosen = story.state.rounds[0].candidate
    assert chosen is not None
    assert (chosen.origin, chosen.model, chosen.proposal.direction) == (
        "session",
        "some/model",
        "tail @ kernel/a.cpp",
    )
    assert story.state.tokens == Tokens(input=40, output=4)


def test_two_rounds_without_a_better_score_restore_the_checkpoint() -> None:
    kernels = {"base": Kernel(failing=(2,))} | {
        f"s{number}": Kernel(failing=(0, 2, 4)) for number in range(1, 6)
    }
    turns = {
        number: [move(ToolRequest.SUBMIT, f"s{number}", direction=f"d{number}")] for number in range(1, 6)
    }
    story, _ = told(kernels, turns=turns, model="m")
    assert [one.tree for one in story.state.rounds] == ["base", "s1", "base", "s3", "base"]
    assert [one.round for one in story.state.restores] == [2, 4]
    assert story.outcome == "exhausted"
    assert story.state.finished is not None
    assert story.state.finished.rule == "rounds"


def test_a_dead_end_goes_back_to_the_checkpoint_while_it_has_proposals_left() -> None:
    kernels = {
        "base": Kernel(failing=(2,), rewrites=("trap", "right")),
        "trap": Kernel(failing=(0, 4)),  # mends what fails, and breaks the rest
        "right": Kernel(),
    }
    for pick in (lambda count: 0, lambda count: count - 1):  # whichever trial is quicker
        story = Story(created())
        assert story.play(World(kernels=kernels), pick=pick) == "passed"
        assert [one.tree for one in story.state.rounds] == ["base", "trap", "base"]
        assert [one.tree for one in story.state.restores] == ["base"]
        assert replay(story.recorded) is None


def test_build_failures_have_a_bound_of_their_own() -> None:
    kernels = {"base": Kernel(failing=(2,))} | {
        f"s{number}": Kernel(builds=FailureType.BUILD_FAILED) for number in range(1, 6)
    }
    turns = {
        number: [move(ToolRequest.SUBMIT, f"s{number}", direction=f"d{number}")] for number in range(1, 6)
    }
    story, _ = told(kernels, turns=turns, model="m")
    assert story.state.finished is not None
    assert (story.outcome, story.state.finished.rule) == ("exhausted", "build-rounds")
    assert len(story.state.rounds) == 3
    assert story.state.rounds[1].started.failure_type == "build_failed"


def test_turns_are_counted_from_the_log() -> None:
    endless = {number: [move(ToolRequest.NONE, "base")] * 1000 for number in range(1, 6)}
    for arm, rule, turns in (("debug", "degenerate", 12), ("debug-no-adaptive", "turns", 30)):
        story, _ = told(
            {"base": Kernel(failing=(2,))}, turns=endless, model="m", arm=arm,
            bounds=Bounds(turns_per_session=12, turns_per_task=30, soft_turns=24).frozen(),
        )  # fmt: skip
        assert story.state.finished is not None
        assert story.state.finished.rule == rule
        assert story.state.turns == turns


def test_an_aborted_job_is_asked_for_again_and_then_blames_nobody() -> None:
    story = Story(created())
    story.decide()
    for _ in range(3):
        (job_id,) = story.state.open
        story.answer(job_id, Compilation(ok=False, failure_type=FailureType.EXECUTION_ABORTED))
        story.decide()
    assert story.outcome == "infrastructure"
    assert not story.state.rounds


def test_a_failed_job_ends_as_infrastructure() -> None:
    story = Story(created())
    story.decide()
    story.tell(events.JobFailed(job_id=story.state.open[0], reason="no g++", attempts=3))
    story.decide()
    assert story.outcome == "infrastructure"
    assert "no g++" in reason(story)
    assert replay(story.recorded) is None


def test_a_result_nobody_can_read_blames_no_candidate() -> None:
    story = Story(created())
    story.decide()
    story.tell(events.JobFinished(job_id=story.state.open[0], result={"ok": "maybe", "what": 1}))
    story.decide()
    assert story.outcome == "infrastructure"


def test_cancel_and_wall_clock_end_a_task_at_once() -> None:
    story = Story(created())
    story.decide()
    story.tell(events.CancelRequested(author="me"))
    story.decide()
    assert story.outcome == "cancelled"
    story = Story(created())
    story.decide()
    story.tell(events.ClockNoted(), seconds=13 * 3600)
    story.decide()
    assert story.state.finished is not None
    assert (story.outcome, story.state.finished.rule) == ("exhausted", "wall-clock")


def interrupt(story: Story, *, broken: bool) -> None:
    """A task is cancelled, or its oldest job kills all its workers; then it is resumed."""
    if broken and story.state.open:
        story.tell(events.JobFailed(job_id=story.state.open[0], reason="no g++", attempts=3))
    else:
        story.tell(events.CancelRequested(author="me"))
    story.decide()
    assert story.outcome in {"cancelled", "infrastructure"}
    assert replay(story.recorded) is None
    story.tell(events.TaskResumed(author="me"), seconds=1e6)
    story.decide()


def test_a_resumed_task_has_the_time_it_had() -> None:
    story = Story(created())
    story.decide()
    for _ in range(3):
        interrupt(story, broken=False)
    assert story.outcome is None
    assert story.state.elapsed < 60
    story.tell(events.ClockNoted(), seconds=13 * 3600)
    story.decide()
    assert story.outcome == "exhausted"


def test_aborts_before_a_resumption_are_forgotten() -> None:
    story = Story(created())
    story.decide()
    for _ in range(2):
        for _ in range(3):
            assert story.outcome is None
            story.answer(
                story.state.open[0], Compilation(ok=False, failure_type=FailureType.EXECUTION_ABORTED)
            )
            story.decide()
        assert story.outcome == "infrastructure"
        story.tell(events.TaskResumed(author="me"))
        story.decide()
    assert story.play(World(kernels={"base": Kernel()})) == "not_near_miss"
    assert replay(story.recorded) is None


def test_every_arm_removes_its_mechanism_alone() -> None:
    kernels = {"base": Kernel(failing=(2,), rewrites=("right",)), "right": Kernel()}
    turns = {1: [move(ToolRequest.SUBMIT, "right", direction="d")]}
    for arm in ARMS:
        story, world = told(kernels, turns=turns, model="m", arm=arm)
        assert story.outcome == "passed"
        assert (world.count(JobKind.REWRITE) > 0) == ARMS[arm].knowledge
        baseline = next(job for job in world.asked if job.kind is JobKind.VALIDATE)
        assert baseline.payload["forensics"] == ARMS[arm].diagnostic
        assert (story.state.rounds[0].started.hints == ("tail_spike",)) == ARMS[arm].diagnostic


TREES = ["base", "a", "b", "c", "d", "e"]
KERNELS = st.builds(
    Kernel,
    failing=st.sets(st.sampled_from(FULL)).map(lambda found: tuple(sorted(found))),
    share=st.sampled_from([0.01, 0.3, 1.0]),
    builds=st.sampled_from([FailureType.SUCCESS] * 5 + [FailureType.BUILD_FAILED, FailureType.UNSUPPORTED]),
    runs=st.sampled_from([True, True, True, False]),
    rewrites=st.lists(st.sampled_from(TREES), unique=True).map(tuple),
    dtype=st.sampled_from(["float16", "float32"]),
)
MOVES = st.builds(
    move, st.sampled_from(list(ToolRequest)), st.sampled_from(TREES), direction=st.sampled_from("xy")
)


@settings(max_examples=150, deadline=None)
@given(
    kernels=st.fixed_dictionaries(dict.fromkeys(TREES, KERNELS)),
    turns=st.dictionaries(st.integers(1, 5), st.lists(MOVES, max_size=12)),
    model=st.sampled_from(["kb", "m"]),
    at=st.integers(0, 30),
    broken=st.booleans(),
)
def test_a_task_that_is_cut_off_and_resumed_takes_the_same_course(
    kernels: dict[str, Kernel], turns: Any, model: str, at: int, broken: bool
) -> None:
    # One trial at a time: of several, which one has come how far is a matter of time, with interruptions or without.
    bounds = Bounds(
        turns_per_session=8, turns_per_task=12, soft_turns=10, trials_per_task=6, trials_in_flight=1
    )
    peace, jobs = cut_off(kernels, turns, model, bounds)
    assume(jobs)
    same_course(peace, cut_off(kernels, turns, model, bounds, at=at % jobs, broken=broken)[0])


def test_what_was_cut_off_counts_neither_as_a_turn_nor_as_a_probe() -> None:
    kernels = {
        "base": Kernel(failing=(0, 2, 4)),
        **dict.fromkeys(("half", "a", "b", "c"), Kernel(failing=(0, 2))),
        "right": Kernel(),
    }
    turns = {
        1: [move(ToolRequest.SUBMIT, "half", direction="x")],
        2: [
            *(move(ToolRequest.PROBE, tree) for tree in "abc"),
            move(ToolRequest.SUBMIT, "right", direction="y"),
        ],
    }
    # Not one turn and not one probe more than it takes; the third probe is refused.
    bounds = Bounds(probes_per_round=2, turns_per_session=5, turns_per_task=5, soft_turns=5)
    peace, jobs = cut_off(kernels, turns, "m", bounds)
    assert (peace.outcome, peace.state.rounds[1].probes) == ("passed", 2)
    for at in range(jobs):
        for broken in (False, True):
            same_course(peace, cut_off(kernels, turns, "m", bounds, at=at, broken=broken)[0])


def cut_off(
    kernels: dict[str, Kernel],
    turns: Any,
    model: str,
    bounds: Bounds,
    *,
    at: int | None = None,
    broken: bool = False,
) -> tuple[Story, int]:
    """A task that is interrupted before its job number `at`, and how many jobs it took."""
    story = Story(created(model=model, bounds=bounds.frozen()), seconds=0.0)
    world = World(kernels=kernels, turns=turns)
    story.decide()
    jobs = 0
    while story.outcome is None:
        if jobs == at:
            interrupt(story, broken=broken)
        job = story.state.requested[story.state.open[0]]
        story.answer(job.job_id, world(job))
        story.decide()
        jobs += 1
    return story, jobs


def same_course(peace: Story, disturbed: Story) -> None:
    assert first_difference(disturbed.recorded, peace.recorded) == ""
    assert replay(disturbed.recorded) is None
    assert fold(disturbed.recorded) == disturbed.state
    for name in ("turns", "trials", "tokens", "current", "builds"):
        assert getattr(disturbed.state, name) == getattr(peace.state, name), name


@settings(max_examples=150, deadline=None)
@given(
    kernels=st.fixed_dictionaries(dict.fromkeys(TREES, KERNELS)),
    turns=st.dictionaries(st.integers(1, 5), st.lists(MOVES, max_size=12)),
    arm=st.sampled_from(sorted(ARMS)),
    model=st.sampled_from(["kb", "m"]),
    verdicts=st.dictionaries(st.sampled_from(TREES), st.sampled_from(["SUSPECT", "CHEAT"])),
    data=st.data(),
)
def test_any_world_in_any_order_ends_within_bounds(
    kernels: dict[str, Kernel],
    turns: Any,
    arm: str,
    model: str,
    verdicts: dict[str, str],
    data: st.DataObject,
) -> None:
    bounds = Bounds(
        turns_per_session=10, turns_per_task=25, soft_turns=20, trials_per_round=4, trials_per_task=9
    )
    story = Story(
        created(arm=arm, model=model, bounds=bounds.frozen()), scan=lambda tree: verdicts.get(tree, "CLEAN")
    )
    world = World(kernels=kernels, turns=turns)
    interruptions = 3
    story.decide()
    while story.outcome is None:
        job_id = data.draw(st.sampled_from(story.state.open))
        result = world(story.state.requested[job_id])
        if data.draw(st.integers(0, 9)) == 0:
            result = Compilation(ok=False, failure_type=FailureType.EXECUTION_ABORTED)
            if story.state.requested[job_id].kind is not JobKind.COMPILE:
                result = world(story.state.requested[job_id])
        for _ in range(data.draw(st.sampled_from([1, 1, 1, 2]))):  # delivered twice
            story.answer(job_id, result)
        if data.draw(st.booleans()) or not story.state.open:
            story.decide()
        if story.outcome is None and interruptions and data.draw(st.integers(0, 9)) == 0:
            interruptions -= 1
            interrupt(story, broken=data.draw(st.booleans()))
        assert len(story.recorded) < 400
    state = story.state
    assert state.finished is not None
    assert state.finished.rule != "stuck"
    assert len(state.rounds) <= bounds.rounds
    assert state.turns <= bounds.turns_per_task
    assert state.trials <= bounds.trials_per_task
    assert all(len(one.trials) <= bounds.trials_per_round for one in state.rounds)
    if state.finished.outcome == "passed":
        tree = state.current
        assert not kernels[tree].failing
        assert not ARMS[arm].anticheat or verdicts.get(tree, "CLEAN") == "CLEAN"
        assert state.checked[(tree, CaseSet.FULL)].passed
    # Decisions are a function of the log, and the incremental state equals the folded one.
    assert replay(story.recorded) is None
    assert fold(story.recorded) == state

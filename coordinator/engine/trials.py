"""Trials: the rewrites that entries carry, each compiled and tried on the failing cases of a round.

The winner doesn't depend on which result came first: it is the first proposal, in order, that mends
every failing case, else the one that mends most of them.
"""

from dataclasses import dataclass

from coordinator.engine.commands import CancelJob, Command, RequestJob
from coordinator.engine.facts import (
    deciding,
    failing_cases,
    forbidden_directions,
    rewrite_context,
    spent_trees,
)
from coordinator.engine.state import Checked, Purpose, Round, TaskState
from coordinator.engine.work import WAIT, Pending, compilation, validation
from schema.jobs import JobKind, Proposal, RewritePayload
from schema.results import CaseSet, CaseStatus

# A full set can fail in 60 cases; a dozen tell rewrites apart, and cost seconds.
MOST_TRIAL_CASES = 12


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial that has come to its end.

    Attributes:
        mended: how many of the failing cases pass now.
        close: mean closeness over them.
    """

    proposal: Proposal
    mended: int
    close: float


@dataclass(frozen=True, kw_only=True)
class Trials:
    """What the trials of a round led to: all that ended, and the winner if any is better than nothing."""

    ended: tuple[Trial, ...]
    cases: tuple[int, ...]
    best: Trial | None

    @property
    def repaired(self) -> bool:
        """The winner mends every failing case."""
        return self.best is not None and self.best.mended == len(self.cases)


def run(state: TaskState, one: Round) -> Trials | Pending:
    """Take the trials of a round further; their outcome once nothing is left to try."""
    cases = trial_cases(state, one.tree)
    if not state.arm.knowledge or not one.started.entries:
        return Trials(ended=(), cases=cases, best=None)
    left = min(state.bounds.trials_per_round - len(one.trials), state.bounds.trials_per_task - state.trials)
    if one.proposals is None:
        if left <= 0:
            return Trials(ended=(), cases=cases, best=None)
        return _ask_for_proposals(state, one, left)
    commands: list[Command] = []
    ended: list[Trial] = []
    under_way = new = 0
    for proposal in _worth_trying(state, one):
        fresh = proposal.tree not in one.trials
        if fresh and (new >= left or under_way >= state.bounds.trials_in_flight):
            break
        trial = _take(state, one, proposal, cases)
        if isinstance(trial, Pending):
            under_way += 1
            new += fresh
            commands.extend(trial.commands)
            continue
        ended.append(trial)
        if trial.mended == len(cases):
            # The winner, unless an earlier trial that is still under way mends them all too.
            break
    if under_way:
        return Pending(commands=tuple(commands))
    late = _take_back(state, one, ended)
    if late:
        return Pending(commands=late)
    return Trials(ended=tuple(ended), cases=cases, best=_best(state, one, ended, cases))


def trial_cases(state: TaskState, tree: str) -> tuple[int, ...]:
    """The cases that trials of a round from this tree run."""
    return failing_cases(state, tree)[:MOST_TRIAL_CASES]


def _ask_for_proposals(state: TaskState, one: Round, left: int) -> Pending:
    if state.open_for(Purpose.REWRITE):
        return WAIT
    payload = RewritePayload(
        tree=one.tree,
        entries=one.started.entries,
        failure=rewrite_context(state, one.tree).model_dump(mode="json"),
        known_trees=tuple(sorted(spent_trees(state))),
        most=left,
    )
    request = RequestJob(
        kind=JobKind.REWRITE,
        purpose=Purpose.REWRITE.value,
        round=one.number,
        payload=payload.model_dump(mode="json"),
    )
    return Pending(commands=(request,))


def _worth_trying(state: TaskState, one: Round) -> tuple[Proposal, ...]:
    """Each tree once, none that was measured before this round, none in a forbidden direction."""
    forbidden = set(forbidden_directions(state))
    # This round's own trials stay in the list while they are measured.
    earlier = (spent_trees(state) - set(one.trials)) | {one.tree, *state.refused}
    found: dict[str, Proposal] = {}
    for proposal in one.proposals or ():
        if proposal.tree not in earlier and proposal.direction not in forbidden:
            found.setdefault(proposal.tree, proposal)
    return tuple(found.values())


def _take(state: TaskState, one: Round, proposal: Proposal, cases: tuple[int, ...]) -> Trial | Pending:
    built = compilation(state, proposal.tree, purpose=Purpose.TRIAL, round=one.number)
    if isinstance(built, Pending):
        return built
    if not built.ok:
        return Trial(proposal=proposal, mended=0, close=0.0)
    tried = validation(
        state,
        proposal.tree,
        built,
        case_set=CaseSet.TRIAL,
        purpose=Purpose.TRIAL,
        round=one.number,
        indices=cases,
        stop_after_failures=state.bounds.trial_failures,
    )
    if isinstance(tried, Pending):
        return tried
    return Trial(proposal=proposal, mended=_mended(tried, cases), close=_close(tried, cases))


def _mended(tried: Checked, cases: tuple[int, ...]) -> int:
    status = {case.index: case.status for case in tried.validation.cases}
    return sum(status.get(index) is CaseStatus.PASSED for index in cases)


def _close(tried: Checked | None, cases: tuple[int, ...]) -> float:
    if tried is None or not cases:
        return 0.0
    by_index = {case.index: case.closeness for case in tried.validation.cases}
    return sum(by_index.get(index, 0.0) for index in cases) / len(cases)


def _best(state: TaskState, one: Round, ended: list[Trial], cases: tuple[int, ...]) -> Trial | None:
    """Most failing cases mended; with none mended, a clear step closer; ties go to the first."""
    best = max(ended, key=lambda trial: (trial.mended, trial.close), default=None)
    if best is None or best.mended:
        return best
    before = _close(deciding(state, one.tree), cases)
    gap = 1.0 - before
    return best if gap > 0 and (best.close - before) / gap >= state.thresholds.improved else None


def _take_back(state: TaskState, one: Round, ended: list[Trial]) -> tuple[Command, ...]:
    """Trials that were started after the winner: their results can't matter."""
    done = {trial.proposal.tree for trial in ended}
    return tuple(
        CancelJob(job_id=job.job_id, reason="an earlier trial mends every failing case")
        for job in state.open_for(Purpose.TRIAL)
        if job.round == one.number and job.payload["tree"] not in done
    )

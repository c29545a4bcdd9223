"""The policy for operator tasks: what to do next, as a pure function of the state.

    baseline: scan, compile, compact, (full) → no near miss, or
    round:    retrieve → rewrites as trials → session of a model → candidate
              scan, compile, compact, full   → passed, suspect, rejected, or
              promote or restore the checkpoint → a bound, an adaptive rule, or the next round

Source: paper, "System Design"; design.md, "An operator task, step by step". Each `_stage` returns the
commands that take it further, () while a job of it is under way, or None when it is behind us.
"""

from coordinator.engine import adaptive, sessions, trials
from coordinator.engine.bounds import KB_MODEL
from coordinator.engine.commands import (
    ChooseCandidate,
    Command,
    Finish,
    Promote,
    Restore,
    ScanIntegrity,
    StartRound,
)
from coordinator.engine.facts import (
    compact_of,
    deciding,
    describe,
    failure_type,
    hints,
    improvements,
    is_cheat,
    score,
)
from coordinator.engine.state import Purpose, Round, TaskState
from coordinator.engine.work import Pending, accepted, measurement
from schema.jobs import Proposal
from schema.results import CaseStatus, FailureType

Commands = tuple[Command, ...]

_RAN = {CaseStatus.PASSED, CaseStatus.MISMATCH}
_BUILD_FAILURES = {FailureType.BUILD_FAILED, FailureType.IMPORT_FAILED}


def decide(state: TaskState) -> Commands:
    """What to do next. () while jobs are under way, or when the task has finished for good."""
    if state.finished is not None:
        return _resolve(state, state.finished.outcome)
    stopped = _must_stop(state)
    if stopped is not None:
        return stopped
    for stage in (_baseline, _search, _candidate, _next_round):
        commands = stage(state)
        if commands is not None:
            if not commands and not state.open:
                return (_stuck(state),)
            return commands
    return (_stuck(state),)


def _resolve(state: TaskState, outcome: str) -> Commands:
    """A person's word on a suspect candidate."""
    if outcome != "suspect" or state.current not in state.resolutions:
        return ()
    said = state.resolutions[state.current]
    words = f"resolved {said.verdict} by {said.author}: {said.citation}"
    if said.verdict == "CLEAN":
        return (Finish(outcome="passed", reason=words, rule="resolution"),)
    return (Finish(outcome="rejected", reason=words, rule="resolution"),) if said.verdict == "CHEAT" else ()


def _must_stop(state: TaskState) -> Commands | None:
    """What ends a task at any point: the user, a broken machine, the wall clock."""
    if state.cancelled_by is not None:
        return (Finish(outcome="cancelled", reason=f"cancelled by {state.cancelled_by}", rule="cancel"),)
    if state.broken:
        return (Finish(outcome="infrastructure", reason=state.broken, rule="infrastructure"),)
    if state.elapsed > state.bounds.wall_seconds:
        return (
            _exhausted(
                state, "wall-clock", f"{state.bounds.wall_seconds:.0f} s are over", seconds=state.elapsed
            ),
        )
    return None


def _baseline(state: TaskState) -> Commands | None:
    """Attempt 0: it must compile, run and fail."""
    if state.rounds:
        return None
    tree = state.baseline
    if tree not in state.scans:
        return (ScanIntegrity(tree=tree),)
    if is_cheat(state, tree):
        return (
            Finish(
                outcome="rejected",
                reason=f"the baseline is a cheat: {_reasons(state, tree)}",
                rule="integrity",
            ),
        )
    built = measurement(state, tree, purpose=Purpose.BASELINE, round=0)
    if isinstance(built, Pending):
        return built.commands
    why = _no_near_miss(state, tree)
    if why:
        return (Finish(outcome="not_near_miss", reason=why, rule="baseline"),)
    if state.checkpoint is None:
        return (Promote(tree=tree, round=0, score=score(state, tree)),)
    return None


def _no_near_miss(state: TaskState, tree: str) -> str:
    """Why a measured baseline is no near miss; "" if it is one."""
    if not state.builds[tree].ok:
        return f"it does not compile: {describe(state, tree)}"
    checked = deciding(state, tree)
    if checked is None:
        return "it was not validated"
    if accepted(state, tree):
        return f"it passes already: {describe(state, tree)}"
    compact = compact_of(state, tree) or checked
    if compact.validation.cases and not compact.validation.ran:
        return "every case of the compact set is above the size limit; raise max_elements of the cohort"
    if not any(case.status in _RAN for case in compact.validation.cases):
        return f"it compiles but does not run: {describe(state, tree)}"
    return ""


def _search(state: TaskState) -> Commands | None:
    """The newest round looks for its candidate: rewrites, then a session if a model is given."""
    one = state.round
    if one is None or one.candidate is not None:
        return None
    tried = trials.run(state, one)
    if isinstance(tried, Pending):
        return tried.commands
    if _has_model(state) and not tried.repaired:
        proposal = sessions.run(state, one, tried)
        if isinstance(proposal, Pending):
            return proposal.commands
        if proposal is not None and proposal.tree not in state.refused:
            return (_choose(state, one, proposal, origin="session", model=state.created.model),)
    if tried.best is not None:
        return (_choose(state, one, tried.best.proposal, origin="rewrite", model=KB_MODEL),)
    return _nothing_to_propose(state, one, len(tried.ended))


def _nothing_to_propose(state: TaskState, one: Round, tried: int) -> Commands | None:
    """A round without a candidate."""
    if not state.arm.adaptive:
        return None  # the next round, as far as the hard bounds go
    if state.checkpoint is not None and one.tree != state.checkpoint.tree:
        return None  # a dead end, but not the checkpoint's: that one has proposals left to try
    if _has_model(state):
        what = f"no rewrite of {tried} tried mends a failing case, and the session proposes nothing"
    elif tried:
        what = f"none of {tried} rewrites tried mends a failing case"
    else:
        what = "no rewrite applies to it"
    return (
        Finish(
            outcome="stopped",
            reason=f"round {one.number}: {what}; {describe(state, one.tree)}",
            rule="degenerate",
            numbers={"round": float(one.number), "trials": float(tried)},
        ),
    )


def _choose(state: TaskState, one: Round, proposal: Proposal, *, origin: str, model: str) -> ChooseCandidate:
    checked = deciding(state, one.tree)
    built = state.builds.get(one.tree)
    failed_build = built is not None and not built.ok
    answers = state.built_by.get(one.tree, "") if failed_build or checked is None else checked.job_id
    return ChooseCandidate(round=one.number, proposal=proposal, origin=origin, model=model, answers=answers)


def _candidate(state: TaskState) -> Commands | None:
    """Scan and measure the newest candidate; accept it, or go on."""
    one = state.round
    if one is None or one.candidate is None:
        return None
    tree = one.candidate.proposal.tree
    if tree not in state.scans:
        return (ScanIntegrity(tree=tree),)
    built = measurement(state, tree, purpose=Purpose.CANDIDATE, round=one.number)
    if isinstance(built, Pending):
        return built.commands
    if built.ok and accepted(state, tree):
        return (_accept(state, one, tree),)
    best = state.checkpoint
    if best is not None and not is_cheat(state, tree) and score(state, tree) > best.score:
        return (Promote(tree=tree, round=one.number, score=score(state, tree)),)
    return None


def _accept(state: TaskState, one: Round, tree: str) -> Finish:
    """All numbers pass. The verdict decides, unless the arm goes without."""
    verdict = state.verdict(tree) if state.arm.anticheat else "CLEAN"
    coverage = min(check.validation.coverage for check in (deciding(state, tree),) if check is not None)
    words = f"round {one.number}: {describe(state, tree)}, coverage {coverage:.0%}"
    numbers = {"round": float(one.number), "coverage": coverage}
    if verdict == "CLEAN":
        return Finish(outcome="passed", reason=words, rule="accepted", numbers=numbers)
    if verdict == "CHEAT":
        words = f"{words}, but it is a cheat: {_reasons(state, tree)}"
        return Finish(outcome="rejected", reason=words, rule="integrity", numbers=numbers)
    words = f"{words}, but it is suspect: {_reasons(state, tree)}; resolve it with source evidence (`opmend resolve`)"
    return Finish(outcome="suspect", reason=words, rule="integrity", numbers=numbers)


def _next_round(state: TaskState) -> Commands | None:
    """Restore if need be, then a bound, an adaptive rule, or the next round."""
    one, best = state.round, state.checkpoint
    if best is None:
        return None
    if one is not None and state.current != best.tree:
        why = _why_restore(state, one)
        if why:
            return (Restore(tree=best.tree, round=one.number, reason=why),)
    bound = _bound(state)
    if bound is not None:
        return (bound,)
    stop = adaptive.stop(state)
    if stop is not None:
        reason = f"{stop.reason}; {describe(state, state.current)}"
        return (Finish(outcome="stopped", reason=reason, rule=stop.rule, numbers=stop.numbers),)
    number = one.number + 1 if one is not None else 1
    return (
        StartRound(
            round=number,
            tree=state.current,
            failure_type=failure_type(state, state.current).value,
            hints=hints(state, state.current),
        ),
    )


def _why_restore(state: TaskState, one: Round) -> str:
    """Why the checkpoint comes back after this round; "" if it does not."""
    if is_cheat(state, state.current):
        return "the candidate is a cheat"
    if one.candidate is None:
        return "nothing to propose from here"
    since = max(
        [promotion.round for promotion in state.promotions] + [restore.round for restore in state.restores]
    )
    stale = one.number - since
    return f"{stale} rounds without a better score" if stale >= state.thresholds.stagnant_rounds else ""


def _bound(state: TaskState) -> Finish | None:
    """The hard bound that forbids another round."""
    bounds, done = state.bounds, len(state.rounds)
    if done >= bounds.rounds:
        return _exhausted(state, "rounds", f"{done} rounds are used up", rounds=float(done))
    if state.turns >= bounds.turns_per_task:
        return _exhausted(state, "turns", f"{state.turns} turns are used up", turns=float(state.turns))
    trees = [one.candidate.proposal.tree for one in state.rounds if one.candidate is not None]
    failures = [failure_type(state, tree) for tree in trees]
    builds = sum(failure in _BUILD_FAILURES for failure in failures)
    if builds >= bounds.build_rounds:
        return _exhausted(state, "build-rounds", f"{builds} rounds failed to build", rounds=float(builds))
    wrong = failures.count(FailureType.PRECISION_FAILED)
    if wrong >= bounds.precision_rounds:
        return _exhausted(
            state, "precision-rounds", f"{wrong} rounds failed numerically", rounds=float(wrong)
        )
    return None


def _exhausted(state: TaskState, rule: str, words: str, **numbers: float) -> Finish:
    results = [one.result for one in improvements(state)]
    history = f"; rounds: {', '.join(results)}" if results else ""
    reason = f"{words}{history}; {describe(state, state.current)}"
    return Finish(outcome="exhausted", reason=reason, rule=rule, numbers=numbers)


def _has_model(state: TaskState) -> bool:
    return state.created.model != KB_MODEL


def _reasons(state: TaskState, tree: str) -> str:
    """The heaviest reasons of a scan, in words."""
    scan = state.scans.get(tree)
    told = [
        f"{one.get('file', '')}:{one.get('line', 0)} {one.get('message', '')}"
        for one in (scan.reasons if scan is not None else ())
        if one.get("level") != "note"
    ]
    return "; ".join(told[:3]) or "no reason given"


def _stuck(state: TaskState) -> Finish:
    """No command and nothing under way: a fault of the policy must not hang a task for ever."""
    reason = f"the policy has nothing to do after event {state.sequence}: a fault of opmend, please report it"
    return Finish(outcome="infrastructure", reason=reason, rule="stuck")

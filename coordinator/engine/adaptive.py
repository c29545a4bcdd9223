"""The adaptive rules: when going on is no longer productive (paper, "Adaptive scheduling").

Each rule is a pure function of the state that returns what tripped it, or None. They see settled
rounds only and stop a task with outcome `stopped`; they never accept anything. The paper names the
rules without numbers; the numbers are research/npukernelbench.md's, and await calibration.
"""

from collections.abc import Callable

from coordinator.engine.facts import (
    Improvement,
    failing_cases,
    full_of,
    improvements,
    progress,
    settled,
)
from coordinator.engine.state import Checked, Round, TaskState
from schema.results import CaseStatus, Record

_HALF = {"float16", "bfloat16"}


class Stop(Record):
    """A rule that tripped, with the numbers it saw."""

    rule: str
    reason: str
    numbers: dict[str, float]


Rule = Callable[[TaskState], Stop | None]


def near_pass(state: TaskState) -> Stop | None:
    """A candidate that passes nearly all full cases and gains next to nothing any more."""
    limits = state.thresholds
    count = int(limits.stagnant_rounds)
    rates = [one.rate for one in _full_validations(state)]
    if len(rates) <= count or min(rates[-count - 1 :]) < limits.near_pass:
        return None
    gain = max(rates[-count:]) - rates[-count - 1]
    if gain >= limits.near_pass_gain:
        return None
    return Stop(
        rule="near-pass",
        reason=f"{rates[-1]:.1%} of the full cases pass, and {count} rounds gained {gain:.1%}",
        numbers={"full_rate": rates[-1], "gain": gain},
    )


def fp16_ceiling(state: TaskState) -> Stop | None:
    """Only half-precision outputs fail, close to the tolerance, and their error stands still."""
    limits = state.thresholds
    count = int(limits.stagnant_rounds)
    if len(_settled(state)) < count:
        return None
    measures = [
        _half_error(state, one.candidate.proposal.tree)
        for one in _settled(state)[-count:]
        if one.candidate is not None
    ]
    ratios = [ratio for ratio in measures if ratio is not None]
    if len(ratios) < count or max(ratios) > limits.fp16_ratio:
        return None
    change = (max(ratios) - min(ratios)) / max(ratios) if max(ratios) > 0 else 0.0
    if change > limits.fp16_change:
        return None
    return Stop(
        rule="fp16-ceiling",
        reason=(
            f"only half-precision outputs fail, at {ratios[-1]:.2f} times the tolerance, "
            f"unchanged for {count} rounds"
        ),
        numbers={"ratio": ratios[-1], "change": change},
    )


def oscillation(state: TaskState) -> Stop | None:
    """A → B → A: the same candidate again, or a gain that is given back."""
    rounds = _settled(state)
    trees = [one.candidate.proposal.tree for one in rounds if one.candidate is not None]
    if trees and trees[-1] in trees[:-1]:
        first = trees.index(trees[-1])
        return Stop(
            rule="oscillation",
            reason=f"the newest candidate equals candidate {first + 1}",
            numbers={"candidate": float(first + 1)},
        )
    if len(trees) < 3:
        return None
    first_value, middle, last = (progress(state, tree) for tree in trees[-3:])
    limits = state.thresholds
    if middle - first_value <= limits.oscillation_gain or abs(last - first_value) > limits.oscillation_return:
        return None
    return Stop(
        rule="oscillation",
        reason=f"progress went {first_value:.3f} → {middle:.3f} → {last:.3f}",
        numbers={"first": first_value, "middle": middle, "last": last},
    )


def same_direction(state: TaskState) -> Stop | None:
    """Stagnant rounds in a row that all tried one direction."""
    count = int(state.thresholds.stagnant_rounds)
    last = improvements(state)[-count:]
    if len(last) < count or not all(_stale(one) for one in last):
        return None
    directions = {one.direction for one in last}
    if len(directions) != 1 or "" in directions:
        return None
    return Stop(
        rule="same-direction",
        reason=f"{count} rounds in one direction without progress: {last[-1].direction}",
        numbers={"rounds": float(count)},
    )


def full_coverage(state: TaskState) -> Stop | None:
    """Candidates keep passing compact, and the full match rate no longer rises."""
    count = int(state.thresholds.stagnant_rounds)
    rates = [one.rate for one in _full_validations(state)]
    if len(rates) <= count or max(rates[-count:]) > max(rates[:-count]):
        return None
    return Stop(
        rule="full-coverage",
        reason=f"the last {count} full validations did not better {max(rates[:-count]):.1%}",
        numbers={"best": max(rates[:-count]), "last": rates[-1]},
    )


def degenerate(state: TaskState) -> Stop | None:
    """The last candidate changes nothing. (A round without any candidate: operator_policy.)"""
    rounds = _settled(state)
    if not rounds or rounds[-1].candidate is None or rounds[-1].candidate.proposal.tree != rounds[-1].tree:
        return None
    return Stop(
        rule="degenerate",
        reason=f"the candidate of round {rounds[-1].number} changes nothing",
        numbers={"round": float(rounds[-1].number)},
    )


def soft_budget(state: TaskState) -> Stop | None:
    """The soft budget is used up, and no objective evidence released the rest."""
    if state.turns < state.bounds.soft_turns or released(state):
        return None
    return Stop(
        rule="soft-budget",
        reason=f"{state.turns} turns without a promoted checkpoint or {state.thresholds.soft_release:.0%} of full",
        numbers={"turns": float(state.turns)},
    )


def released(state: TaskState) -> bool:
    """Whether evidence releases the turns above the soft budget: a promotion, or most of the full set."""
    if any(promotion.round > 0 for promotion in state.promotions):
        return True
    return any(one.rate >= state.thresholds.soft_release for one in _full_validations(state))


RULES: tuple[Rule, ...] = (
    degenerate,
    oscillation,
    same_direction,
    full_coverage,
    near_pass,
    fp16_ceiling,
    soft_budget,
)


def stop(state: TaskState) -> Stop | None:
    """The first rule that trips; never one in an arm without them."""
    if not state.arm.adaptive:
        return None
    for rule in RULES:
        tripped = rule(state)
        if tripped is not None:
            return tripped
    return None


def _stale(one: Improvement) -> bool:
    return one.result in {"stagnant", "regressed"}


def _settled(state: TaskState) -> list[Round]:
    return [one for one in state.rounds if settled(state, one)]


def _full_validations(state: TaskState) -> list[Checked]:
    """Full validations of the baseline, if it came to one, and of the candidates, in order."""
    trees = [state.baseline] + [
        one.candidate.proposal.tree for one in _settled(state) if one.candidate is not None
    ]
    found = [full_of(state, tree) for tree in trees]
    return [one for one in found if one is not None]


def _half_error(state: TaskState, tree: str) -> float | None:
    """Largest mean relative error / tolerance of the failing cases; None unless only half outputs fail."""
    failing = set(failing_cases(state, tree))
    ratios: list[float] = []
    for checked in state.validations:
        if checked.tree != tree:
            continue
        for case in checked.validation.cases:
            if case.index not in failing or case.status is CaseStatus.PASSED:
                continue
            for deviation in case.deviations:
                if not deviation.mismatched:
                    continue
                if deviation.dtype not in _HALF or not deviation.threshold or deviation.mean_rel is None:
                    return None
                ratios.append(deviation.mean_rel / deviation.threshold)
    return max(ratios) if ratios else None

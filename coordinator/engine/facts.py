"""Pure facts about a state that policy, adaptive rules and report share: scores, failing cases, words."""

from dataclasses import dataclass

from coordinator.engine.state import Checked, Round, TaskState
from kb.context import RewriteContext
from schema.results import CaseResult, CaseSet, FailureType

Score = tuple[float, float, float]

# The score of a tree that does not build, or whose validation gave nothing.
NO_SCORE: Score = (-1.0, 0.0, 0.0)

# Enough for retrieval and rewrites; a full set has up to 60 failing cases.
MOST_FAILING_CASES = 20
LOG_CHARACTERS = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Improvement:
    """What a round led to. `result` is improved, stagnant, regressed, build_failed, cheat or nothing."""

    round: int
    direction: str
    result: str
    before: float
    after: float


def spent_trees(state: TaskState) -> frozenset[str]:
    """Trees that earlier rounds have tried: trying them again tells nothing new.

    Trials that were started after a round's winner are not among them, whether or not they ended in
    time: what a task tries must not depend on which worker was quicker.
    """
    found = {state.baseline} | {tree for tree, case_set in state.checked if case_set is not CaseSet.TRIAL}
    for one in state.rounds[:-1]:
        trials = one.trials
        winner = one.candidate.proposal.tree if one.candidate is not None else None
        if winner in trials:
            tried = state.checked.get((winner, CaseSet.TRIAL))
            if tried is not None and tried.passed:
                trials = trials[: trials.index(winner) + 1]
        found.update(trials)
        if winner is not None:
            found.add(winner)
    return frozenset(found)


def compact_is_full(state: TaskState) -> bool:
    """Whether the compact set is the whole set, so that compact evidence certifies."""
    return set(state.created.compact) >= set(state.created.full)


def compact_of(state: TaskState, tree: str) -> Checked | None:
    """The newest compact validation of a tree."""
    return state.checked.get((tree, CaseSet.COMPACT))


def full_of(state: TaskState, tree: str) -> Checked | None:
    """The newest full validation of a tree; the compact one where that is the whole set."""
    full = state.checked.get((tree, CaseSet.FULL))
    return compact_of(state, tree) if full is None and compact_is_full(state) else full


def deciding(state: TaskState, tree: str) -> Checked | None:
    """The validation whose failure a repair of this tree answers: full once compact passes."""
    compact = compact_of(state, tree)
    if compact is not None and compact.passed:
        return full_of(state, tree) or compact
    return compact


def score(state: TaskState, tree: str) -> Score:
    """How good a tree is: (compact match rate, full match rate, closeness), sorting upwards.

    Closeness is cut to hundredths, so that noise in single elements is no progress.
    """
    compact = compact_of(state, tree)
    if compact is None:
        return NO_SCORE
    measured = deciding(state, tree) or compact
    full = full_of(state, tree)
    return (
        round(compact.rate, 6),
        round(full.rate, 6) if full is not None else 0.0,
        int(measured.closeness * 100) / 100,
    )


def progress(state: TaskState, tree: str) -> float:
    """The score as one number in 0..1: the first half is compact, the second full."""
    compact, full, _ = score(state, tree)
    if compact < 0:
        return 0.0
    return (compact if compact < 1.0 else 1.0 + full) / 2


def failing_cases(state: TaskState, tree: str) -> tuple[int, ...]:
    """The cases a repair of this tree must mend: failing compact ones, then failing full ones.

    A tree that does not build or load has no failing case of its own: then it is the compact set.
    """
    found: list[int] = []
    for checked in (compact_of(state, tree), full_of(state, tree)):
        if checked is not None:
            found.extend(index for index in checked.failing if index not in found)
    if found:
        return tuple(found)
    cut = set(state.created.cut)
    return tuple(index for index in state.created.compact if index not in cut)


def failure_type(state: TaskState, tree: str) -> FailureType:
    """How a tree fails; SUCCESS if nothing is known against it."""
    built = state.builds.get(tree)
    if built is not None and not built.ok:
        return built.failure_type
    checked = deciding(state, tree)
    if checked is None or checked.passed:
        return FailureType.SUCCESS
    if checked.validation.failure_type is FailureType.SUCCESS:
        return (
            FailureType.EXECUTION_ABORTED if not checked.validation.complete else FailureType.PRECISION_FAILED
        )
    return checked.validation.failure_type


def hints(state: TaskState, tree: str) -> tuple[str, ...]:
    """Forensic classes of a tree's failure, the main one first; none in an arm without diagnostics."""
    checked = deciding(state, tree)
    if not state.arm.diagnostic or checked is None or checked.validation.forensics is None:
        return ()
    forensics = checked.validation.forensics
    return forensics.hints or (forensics.hint,)


def rewrite_context(state: TaskState, tree: str) -> RewriteContext:
    """What retrieval and rewrites may know about a tree's failure."""
    category = state.created.category
    built = state.builds.get(tree)
    checked = deciding(state, tree)
    if (built is not None and not built.ok) or checked is None:
        log = built.log[-LOG_CHARACTERS:] if built is not None else ""
        findings = built.findings if built is not None and state.arm.diagnostic else ()
        return RewriteContext(
            failure_type=failure_type(state, tree), category=category, findings=findings, log=log
        )
    context = RewriteContext.of(checked.validation, category=category)
    context = context.model_copy(
        update={
            "failure_type": failure_type(state, tree),
            "failing": context.failing[:MOST_FAILING_CASES],
            "log": context.log[-LOG_CHARACTERS:],
        }
    )
    if state.arm.diagnostic:
        return context
    return context.model_copy(update={"hints": (), "findings": ()})


def describe(state: TaskState, tree: str) -> str:
    """A tree's failure in a sentence or two: type, forensic hint, the first failing case."""
    built = state.builds.get(tree)
    if built is not None and not built.ok:
        line = _first_error(built.log)
        return f"{built.failure_type.value}: {line}" if line else built.failure_type.value
    checked = deciding(state, tree)
    if checked is None:
        return "not validated"
    if checked.passed:
        ran, asked = len(checked.validation.ran), len(checked.asked)
        if ran < asked:  # reduced coverage never reads as full
            return f"{ran} of {asked} {checked.case_set.value} cases ran, the size limit cut the others; all {ran} pass"
        return f"all {asked} cases of the {checked.case_set.value} set pass"
    kinds = [failure_type(state, tree).value, *hints(state, tree)[:2]]
    text = (
        f"{len(checked.failing)} of {len(checked.asked)} {checked.case_set.value} cases fail "
        f"({', '.join(kinds)})"
    )
    first = next((case for case in checked.validation.cases if case.index in checked.failing), None)
    if first is not None:
        text += f", first case {first.index} {first.name}: {case_message(first)}"
    elif checked.validation.message:
        text += f": {checked.validation.message.splitlines()[0][:300]}"
    return text


def case_message(case: CaseResult) -> str:
    """A failing case in one line."""
    if case.message:
        return case.message.splitlines()[0][:300]
    worst = max(case.deviations, key=lambda one: one.mismatched, default=None)
    if worst is None:
        return case.status.value
    text = f"output {worst.output}: {worst.mismatched} of {worst.total} elements deviate"
    if worst.first_index:
        where = ",".join(str(part) for part in worst.first_index)
        text += f", first at [{where}]: expected {worst.expected}, got {worst.actual}"
    return f"{text}; {worst.note}" if worst.note else text


def improvements(state: TaskState) -> tuple[Improvement, ...]:
    """The history of directions with their results: one a finished round."""
    return tuple(improvement(state, one) for one in state.rounds if settled(state, one))


def settled(state: TaskState, one: Round) -> bool:
    """Whether a round's candidate is measured, or a later round shows that it had none."""
    if one.candidate is None:
        return state.round is not None and state.round.number > one.number
    tree = one.candidate.proposal.tree
    built = state.builds.get(tree)
    if built is not None and not built.ok:
        return True
    compact = compact_of(state, tree)
    return compact is not None and (not compact.passed or full_of(state, tree) is not None)


def improvement(state: TaskState, one: Round) -> Improvement:
    """What a settled round led to."""
    before = progress(state, one.tree)
    if one.candidate is None:
        return Improvement(round=one.number, direction="", result="nothing", before=before, after=before)
    tree = one.candidate.proposal.tree
    after = progress(state, tree)
    return Improvement(
        round=one.number,
        direction=one.candidate.proposal.direction,
        result=_result(state, one, tree, before, after),
        before=before,
        after=after,
    )


def _result(state: TaskState, one: Round, tree: str, before: float, after: float) -> str:
    built = state.builds.get(tree)
    if is_cheat(state, tree):
        return "cheat"
    if built is not None and not built.ok:
        return "build_failed"
    limits = state.thresholds
    gap = max(1.0 - before, 1e-9)
    promoted = any(one.number == promotion.round for promotion in state.promotions)
    if promoted or (after > before and (after - before) / gap >= limits.improved):
        return "improved"
    return "regressed" if before - after >= limits.regressed else "stagnant"


def is_cheat(state: TaskState, tree: str) -> bool:
    """Whether the verdict rejects a tree, in an arm that listens to it."""
    return state.arm.anticheat and state.verdict(tree) == "CHEAT"


def forbidden_directions(state: TaskState) -> tuple[str, ...]:
    """Directions recorded as stagnant, regressed or cheat: not to be tried again."""
    found: dict[str, None] = {}
    for one in improvements(state):
        if one.direction and one.result in {"stagnant", "regressed", "cheat"}:
            found[one.direction] = None
    return tuple(found)


def _first_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    named = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
    return named[:300]

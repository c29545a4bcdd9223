"""A repair session: a chain of turn jobs, each answered by the engine.

Only the engine compiles, measures and accepts. A session says what it waits for after each turn
(schema.jobs.ToolRequest); its transcript is in the store, so a crash costs one turn.
"""

from coordinator.engine.commands import RequestJob
from coordinator.engine.facts import (
    case_message,
    describe,
    failing_cases,
    forbidden_directions,
    hints,
    improvements,
    rewrite_context,
)
from coordinator.engine.state import Checked, Purpose, Round, TaskState, Turn
from coordinator.engine.trials import Trials, trial_cases
from coordinator.engine.work import WAIT, Pending, compilation, validation
from schema.jobs import JobKind, Proposal, ToolRequest, TurnPayload
from schema.results import CaseSet, Compilation

MOST_ANSWERED_CASES = 8


def run(state: TaskState, one: Round, trials: Trials) -> Proposal | Pending | None:
    """Take a session further: its candidate in the end, or None if it has nothing to propose."""
    base = trials.best.proposal.tree if trials.best is not None else one.tree
    if state.open_for(Purpose.TURN):
        return WAIT
    if not one.turns:
        if state.turns >= state.bounds.turns_per_task:
            return None
        return _turn(state, one, tree=base, transcript=None, brief=_brief(state, one, trials, base))
    last = one.turns[-1].result
    if last.request is ToolRequest.GIVE_UP:
        return None
    if last.request is ToolRequest.SUBMIT:
        return _proposal(one, last.tree, last.detail) if last.tree != one.tree else None
    if len(one.turns) >= state.bounds.turns_per_session or state.turns >= state.bounds.turns_per_task:
        # What it has edited so far is measured; a bound is no reason to throw a repair away.
        return _proposal(one, last.tree, {}) if last.tree != base else None
    answer = _answer(state, one, one.turns[-1])
    if isinstance(answer, Pending):
        return answer
    return _turn(state, one, tree=last.tree, transcript=last.transcript, answer=answer)


def probes_allowed(state: TaskState, one: Round) -> bool:
    """Probes only after a failed first round, unless NaN or Inf shows (design.md, step 4)."""
    if not state.arm.diagnostic:
        return False
    return one.number > 1 or "nan_inf_contamination" in hints(state, one.tree)


def _turn(
    state: TaskState,
    one: Round,
    *,
    tree: str,
    transcript: str | None,
    brief: dict[str, object] | None = None,
    answer: str | None = None,
) -> Pending:
    payload = TurnPayload(
        model=state.created.model,
        session=one.started.session,
        turn=len(one.turns) + 1,
        tree=tree,
        transcript=transcript,
        brief=brief or {},
        answer=answer,
    )
    request = RequestJob(
        kind=JobKind.TURN,
        purpose=Purpose.TURN.value,
        round=one.number,
        payload=payload.model_dump(mode="json"),
    )
    return Pending(commands=(request,))


def _brief(state: TaskState, one: Round, trials: Trials, base: str) -> dict[str, object]:
    """What the first prompt is made of, as the engine sees it."""
    return {
        "name": state.created.name,
        "category": state.created.category,
        "round": one.number,
        "rounds": state.bounds.rounds,
        "failure": rewrite_context(state, one.tree).model_dump(mode="json"),
        "failure_text": describe(state, one.tree),
        "failing_cases": list(failing_cases(state, one.tree)),
        "entries": list(one.started.entries),
        "trials": [
            {
                "direction": trial.proposal.direction,
                "title": trial.proposal.title,
                "mended": trial.mended,
                "of": len(trials.cases),
            }
            for trial in trials.ended
        ],
        "begins_with_trial": base != one.tree,
        "history": [
            {"round": past.round, "direction": past.direction, "result": past.result}
            for past in improvements(state)
        ],
        "forbidden": list(forbidden_directions(state)),
        "probes_allowed": probes_allowed(state, one),
    }


def _answer(state: TaskState, one: Round, turn: Turn) -> str | Pending | None:
    request, tree = turn.result.request, turn.result.tree
    if request is ToolRequest.COMPILE:
        built = compilation(state, tree, purpose=Purpose.SESSION, round=one.number)
        return built if isinstance(built, Pending) else _compiled(built)
    if request is ToolRequest.PROBE:
        return _probe(state, one, tree)
    return None


def _probe(state: TaskState, one: Round, tree: str) -> str | Pending:
    """Measure the failing cases of the session's tree, with forensics."""
    cases = trial_cases(state, one.tree)
    known = state.checked.get((tree, CaseSet.TRIAL))
    if known is None or known.asked != cases:
        if not probes_allowed(state, one):
            return "No probe: the first round goes without, unless the failure shows NaN or Inf."
        if one.probes >= state.bounds.probes_per_round and not state.open_for(Purpose.PROBE):
            return f"No probe: this round has had its {one.probes}."
    built = compilation(state, tree, purpose=Purpose.PROBE, round=one.number)
    if isinstance(built, Pending):
        return built
    if not built.ok:
        return _compiled(built)
    checked = validation(
        state, tree, built, case_set=CaseSet.TRIAL, purpose=Purpose.PROBE, round=one.number, indices=cases
    )
    return checked if isinstance(checked, Pending) else _measured(checked)


def _compiled(built: Compilation) -> str:
    if built.ok:
        return "It compiles."
    return f"It does not compile ({built.failure_type.value}):\n{built.log[-4000:]}"


def _measured(checked: Checked) -> str:
    lines = [f"{len(checked.asked) - len(checked.failing)} of {len(checked.asked)} probed cases pass."]
    failing = [case for case in checked.validation.cases if case.index in checked.failing]
    lines += [
        f"case {case.index} {case.name}: {case_message(case)}" for case in failing[:MOST_ANSWERED_CASES]
    ]
    if checked.validation.forensics is not None:
        lines.append(checked.validation.forensics.summary)
    lines += [f"{one.rule}: {one.message}" for one in checked.validation.findings[:MOST_ANSWERED_CASES]]
    return "\n".join(line for line in lines if line)


def _proposal(one: Round, tree: str, detail: dict[str, object]) -> Proposal:
    def words(key: str) -> str:
        value = detail.get(key, "")
        return value if isinstance(value, str) else str(value)

    return Proposal(
        tree=tree,
        title=words("title") or f"session of round {one.number}",
        direction=words("direction"),
        explanation=words("explanation") or "The session gave no explanation.",
    )

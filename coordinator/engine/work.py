"""Work that a policy waits for: a result from the log, or the commands that get it.

Results are looked up by tree, so a candidate that a trial has compiled is not compiled again, and a
tree that comes back costs nothing.
"""

from dataclasses import dataclass

from coordinator.engine.commands import Command, Finish, RequestJob
from coordinator.engine.facts import compact_is_full, compact_of, full_of
from coordinator.engine.state import Checked, Purpose, TaskState, abort_key
from schema.jobs import CompilePayload, JobKind, ValidatePayload
from schema.results import CaseSet, Compilation


@dataclass(frozen=True, kw_only=True)
class Pending:
    """The result is not there yet. `commands` get it; none where a job is under way."""

    commands: tuple[Command, ...] = ()


WAIT = Pending()


def compilation(state: TaskState, tree: str, *, purpose: Purpose, round: int) -> Compilation | Pending:
    """The compilation of a tree."""
    built = state.builds.get(tree)
    if built is not None:
        return built
    payload = CompilePayload(tree=tree, toolchain=state.created.toolchain)
    return _ask(state, JobKind.COMPILE, payload.tree, "", purpose, round, payload.model_dump(mode="json"))


def validation(
    state: TaskState,
    tree: str,
    built: Compilation,
    *,
    case_set: CaseSet,
    purpose: Purpose,
    round: int,
    indices: tuple[int, ...],
    stop_after_failures: int | None = None,
) -> Checked | Pending:
    """The validation of a built tree on some cases."""
    done = state.checked.get((tree, case_set))
    if done is not None and done.asked == indices:
        return done
    if built.artifact is None:
        raise ValueError(f"tree {tree[:16]} has no artifact: its build failed")
    payload = ValidatePayload(
        tree=tree,
        artifact=built.artifact,
        case_set=case_set,
        indices=indices,
        seed=state.created.seed,
        max_elements=state.created.max_elements,
        stop_after_failures=stop_after_failures,
        forensics=state.arm.diagnostic and (case_set is not CaseSet.TRIAL or purpose is Purpose.PROBE),
        device=state.created.device,
    )
    return _ask(
        state, JobKind.VALIDATE, tree, case_set.value, purpose, round, payload.model_dump(mode="json")
    )


def measurement(state: TaskState, tree: str, *, purpose: Purpose, round: int) -> Compilation | Pending:
    """Compile a tree, validate it on compact and, once that passes, on full.

    Returns the compilation when all that can be measured is there; facts.compact_of and
    facts.full_of have the rest.
    """
    built = compilation(state, tree, purpose=purpose, round=round)
    if isinstance(built, Pending) or not built.ok:
        return built
    compact = validation(
        state, tree, built, case_set=CaseSet.COMPACT, purpose=purpose, round=round,
        indices=state.created.compact,
    )  # fmt: skip
    if isinstance(compact, Pending):
        return compact
    if compact.passed and not compact_is_full(state):
        full = validation(
            state, tree, built, case_set=CaseSet.FULL, purpose=purpose, round=round,
            indices=state.created.full,
        )  # fmt: skip
        if isinstance(full, Pending):
            return full
    return built


def accepted(state: TaskState, tree: str) -> bool:
    """Whether full evidence is complete and passed (or compact is the full set)."""
    compact, full = compact_of(state, tree), full_of(state, tree)
    return compact is not None and compact.passed and full is not None and full.passed


def _ask(
    state: TaskState,
    kind: JobKind,
    tree: str,
    case_set: str,
    purpose: Purpose,
    round: int,
    payload: dict[str, object],
) -> Pending:
    key = abort_key(kind, tree, case_set)
    if any(
        job.kind is kind and job.payload["tree"] == tree and job.payload.get("case_set", "") == case_set
        for job in state.open_for(*Purpose)
    ):
        return WAIT
    attempts = state.aborted.get(key, 0)
    if attempts >= state.bounds.infrastructure_attempts:
        reason = (
            f"{kind.value} job of round {round} was aborted {attempts} times by its machine; "
            "no candidate is to blame"
        )
        return Pending(
            commands=(
                Finish(
                    outcome="infrastructure", reason=reason, rule="infrastructure-attempts",
                    numbers={"attempts": float(attempts)},
                ),
            )
        )  # fmt: skip
    return Pending(commands=(RequestJob(kind=kind, purpose=purpose.value, round=round, payload=payload),))

"""Submit a run: a frozen cohort × arm × model × trials becomes tasks, in one transaction."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from coordinator.cohort.freeze import FrozenCohort, FrozenOperator
from coordinator.engine.arms import arm_named
from coordinator.engine.bounds import KB_MODEL, Bounds, Thresholds
from schema.blobs import put_tree
from schema.errors import BadInput, CohortError
from schema.events import TaskCreated, append
from schema.tables import Cohort, Run, Task

MOST_TRIALS = 1000


def submit_run(
    session: Session,
    cohort: FrozenCohort,
    *,
    arm: str = "debug",
    model: str = KB_MODEL,
    trials: int = 1,
    limit: int | None = None,
    priority: int = 0,
    bounds: Bounds | None = None,
    thresholds: Thresholds | None = None,
    toolchain: str = "sim",
    device: str = "sim",
) -> int:
    """Create a run with its tasks and return its id. Nothing is stored if anything is wrong.

    Args:
        session: an open transaction; the caller commits.
        cohort: the frozen input.
        arm: one of coordinator.engine.arms.
        model: "kb", or a model name that LiteLLM knows.
        trials: independent tasks for each operator.
        limit: only the first so many operators.
        priority: a run of a higher one is served first; runs of the same share alike.
        bounds: hard bounds; the paper's if left out.
        thresholds: of the adaptive rules.
        toolchain: what compile jobs build with.
        device: what validate jobs run on.

    Raises:
        BadInput: an arm that can't run, a combination that can do nothing, or a wrong number.
        CohortError: the cohort has no operators, or two of one name.
    """
    chosen = arm_named(arm)
    if not chosen.knowledge and model == KB_MODEL:
        raise BadInput(
            f"arm {arm!r} removes the knowledge base, and model 'kb' repairs with nothing else",
            mend="name a model: --model NAME",
        )
    if not 1 <= trials <= MOST_TRIALS:
        raise BadInput(f"{trials} trials", mend=f"use 1 to {MOST_TRIALS}")
    if limit is not None and limit < 1:
        raise BadInput(f"a limit of {limit} operators", mend="use 1 or more, or leave it out")
    operators = cohort.operators[:limit]
    _check(cohort.name, operators)
    run = Run(cohort_id=_cohort(session, cohort), arm=arm, model=model, trials=trials, priority=priority)
    session.add(run)
    session.flush()
    for trial in range(trials):
        for operator in operators:
            task = Task(run_id=run.id, name=operator.name, level=operator.level, trial=trial)
            session.add(task)
            session.flush()
            created = TaskCreated(
                name=operator.name,
                level=operator.level,
                category=operator.category,
                arm=arm,
                model=model,
                trial=trial,
                tree=put_tree(session, operator.files),
                compact=operator.compact,
                full=operator.full,
                cut=operator.cut,
                max_elements=operator.max_elements,
                seed=operator.seed,
                bounds=(bounds or Bounds()).frozen(),
                thresholds=(thresholds or Thresholds()).frozen(),
                toolchain=toolchain,
                device=device,
            )
            append(session, task.id, created)
    return run.id


def _check(name: str, operators: tuple[FrozenOperator, ...]) -> None:
    if not operators:
        raise CohortError("it has no operators", where=name, mend="add a directory for each operator")
    seen: set[str] = set()
    for operator in operators:
        if operator.name in seen:
            raise CohortError(
                f"two operators are named {operator.name!r}",
                where=name,
                mend="rename one in its operator.toml",
            )
        seen.add(operator.name)
        if not operator.compact:
            raise CohortError(
                f"no case of {operator.name} is within the size limit", where=name, mend="raise max_elements"
            )
        stray = sorted((set(operator.compact) | set(operator.cut)) - set(operator.full))
        if stray:
            raise CohortError(f"case {stray[0]} of {operator.name} is not in its full set", where=name)


def _cohort(session: Session, cohort: FrozenCohort) -> int:
    """The row of a frozen cohort; the same manifest is the same cohort."""
    session.execute(
        insert(Cohort)
        .values(name=cohort.name, digest=cohort.digest, manifest=cohort.manifest)
        .on_conflict_do_nothing(index_elements=["digest"])
    )
    return session.execute(select(Cohort.id).where(Cohort.digest == cohort.digest)).scalar_one()

"""One row a task, and the totals of a run. What `opmend report` prints in every form.

Match rates are passed cases / cases run. Coverage is cases run / cases of the full set, and stands
beside every rate: reduced coverage never reads as full.
"""

from collections import Counter
from datetime import datetime

from pydantic import Field
from sqlalchemy import func
from sqlalchemy.orm import Session

from coordinator.engine.facts import full_of
from coordinator.engine.state import Checked, TaskState, fold
from coordinator.report.lookup import tasks_of
from schema import events
from schema.jobs import Tokens
from schema.results import CaseSet, Record
from schema.tables import Cohort, Run, Task

# Outcomes that a task reaches by its own work; infrastructure is the one that it does not.
OWN_OUTCOMES = frozenset(
    {"passed", "not_near_miss", "exhausted", "stopped", "rejected", "suspect", "cancelled"}
)


class MatchRates(Record):
    """Match rates of the frozen baseline and of the best candidate; None where nothing ran."""

    baseline: float | None = None
    compact: float | None = None
    full: float | None = None


class TaskRow(Record):
    """One task of a report.

    Attributes:
        coverage: cases that could run / cases of the full set; below 1.0 the size limit cut some.
        wall_s: seconds from submission to the end, or to now, without those before a resumption.
        reason: why it ended so, in words. forensics: the main forensic class of the last failure.
        entries: entries whose rewrites are in the best candidate.
    """

    task: int
    name: str
    level: str
    arm: str
    trial: int
    outcome: str | None
    rounds: int
    turns: int
    trials_run: int
    tokens: Tokens
    match_rate: MatchRates
    verdict: str | None
    coverage: float
    wall_s: float
    reason: str = ""
    forensics: str | None = None
    entries: tuple[str, ...] = ()


class Totals(Record):
    """Sums over a run's tasks."""

    tasks: int
    finished: int
    outcomes: dict[str, int]
    passed: int
    pass_rate: float | None
    tokens: Tokens
    turns: int
    wall_s: float


class RunRow(Record):
    """The run itself."""

    run: int
    cohort: str
    digest: str
    arm: str
    model: str
    trials: int
    created_at: datetime


class Report(Record):
    """A whole report; `json()` is what `opmend report --json` prints."""

    run: RunRow
    tasks: tuple[TaskRow, ...]
    totals: Totals = Field()


def report(session: Session, run: Run) -> Report:
    """Fold every task of a run into a row."""
    cohort = session.get_one(Cohort, run.cohort_id)
    now = session.execute(func.clock_timestamp().select()).scalar_one()
    rows = tuple(_row(session, task, run, now) for task in tasks_of(session, run))
    return Report(
        run=RunRow(
            run=run.id,
            cohort=cohort.name,
            digest=cohort.digest,
            arm=run.arm,
            model=run.model,
            trials=run.trials,
            created_at=run.created_at,
        ),
        tasks=rows,
        totals=_totals(rows, run, now, session),
    )


def best_tree(state: TaskState) -> str:
    """The tree a report speaks of: what was accepted, else the checkpoint, else where repair stands."""
    if state.finished is not None and state.finished.outcome in {"passed", "suspect", "rejected"}:
        return state.current
    return state.checkpoint.tree if state.checkpoint is not None else state.current


def task_row(session: Session, task: Task, run: Run) -> TaskRow:
    """The row of one task, as of now."""
    return _row(session, task, run, session.execute(func.clock_timestamp().select()).scalar_one())


def _row(session: Session, task: Task, run: Run, now: datetime) -> TaskRow:
    state = fold(events.read(session, task.id))
    tree = best_tree(state)
    failed = [
        checked
        for checked in state.validations
        if not checked.passed and checked.validation.forensics is not None
    ]
    entry = next(
        (
            tuple(filter(None, [one.candidate.proposal.entry]))
            for one in reversed(state.rounds)
            if one.candidate is not None and one.candidate.proposal.tree == tree
        ),
        (),
    )
    created = state.created
    forensics = failed[-1].validation.forensics if failed else None
    return TaskRow(
        task=task.id,
        name=task.name,
        level=task.level,
        arm=run.arm,
        trial=task.trial,
        outcome=task.outcome,
        rounds=len(state.rounds),
        # Replies that came: a turn that infrastructure lost was none.
        turns=sum(len(one.turns) for one in state.rounds),
        trials_run=state.trials,
        tokens=state.tokens,
        match_rate=MatchRates(
            baseline=_rate(state.checked.get((state.baseline, CaseSet.COMPACT))),
            compact=_rate(state.checked.get((tree, CaseSet.COMPACT))),
            full=_rate(full_of(state, tree)),
        ),
        verdict=state.verdict(tree),
        coverage=(len(created.full) - len(created.cut)) / len(created.full) if created.full else 0.0,
        wall_s=round(((task.finished_at or now) - task.created_at).total_seconds() - state.paused, 3),
        reason=state.finished.reason if state.finished is not None else "",
        forensics=forensics.hint if forensics is not None else None,
        entries=entry,
    )


def _rate(checked: Checked | None) -> float | None:
    return None if checked is None else checked.validation.match_rate


def _totals(rows: tuple[TaskRow, ...], run: Run, now: datetime, session: Session) -> Totals:
    outcomes = Counter(row.outcome for row in rows if row.outcome is not None)
    finished = sum(outcomes.values())
    ends = [task.finished_at for task in tasks_of(session, run)]
    end = now if None in ends or not ends else max(moment for moment in ends if moment is not None)
    tokens = Tokens()
    for row in rows:
        tokens = tokens + row.tokens
    return Totals(
        tasks=len(rows),
        finished=finished,
        outcomes=dict(sorted(outcomes.items())),
        passed=outcomes["passed"],
        pass_rate=outcomes["passed"] / len(rows) if rows else None,
        tokens=tokens,
        turns=sum(row.turns for row in rows),
        wall_s=round((end - run.created_at).total_seconds(), 3),
    )

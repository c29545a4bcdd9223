"""One task told whole: what `opmend show` prints."""

from rich.console import Console
from rich.table import Table
from sqlalchemy.orm import Session

from coordinator.engine.state import TaskState, fold
from coordinator.report.chain import plain
from coordinator.report.outcomes import TaskRow, best_tree, task_row
from coordinator.report.wording import rate, seconds
from schema import events
from schema.blobs import get_tree
from schema.results import CaseSet, CaseStatus, Finding, Forensics, Record
from schema.tables import Run, Task


class ValidationLine(Record):
    """One validation of a tree, in short."""

    round: int
    tree: str
    case_set: str
    passed: int
    ran: int
    failure_type: str
    hint: str | None
    failing: tuple[str, ...]


class RoundLine(Record):
    """One round: what was retrieved, what was tried, what became its candidate."""

    round: int
    failure_type: str
    hints: tuple[str, ...]
    entries: tuple[str, ...]
    proposals: int
    trials: int
    turns: int
    direction: str
    explanation: str
    locations: tuple[str, ...]


class Story(Record):
    """A task's frozen input, its rounds, its validations, and how it ended."""

    row: TaskRow
    model: str
    tree: str
    baseline: str
    files: tuple[str, ...]
    compact: int
    full: int
    cut: int
    rounds: tuple[RoundLine, ...]
    validations: tuple[ValidationLine, ...]
    forensics: Forensics | None
    findings: tuple[Finding, ...]
    reasons: tuple[dict[str, object], ...]
    events: int


def story(session: Session, task: Task) -> Story:
    """Fold a task's log and tell it."""
    run = session.get_one(Run, task.run_id)
    state = fold(events.read(session, task.id))
    tree = best_tree(state)
    scan = state.scans.get(tree)
    last = next((one for one in reversed(state.validations) if not one.passed), None)
    created = state.created
    return Story(
        row=task_row(session, task, run),
        model=run.model,
        tree=tree,
        baseline=state.baseline,
        files=tuple(get_tree(session, tree)),
        compact=len(created.compact),
        full=len(created.full),
        cut=len(created.cut),
        rounds=tuple(_rounds(state)),
        validations=tuple(_validations(state)),
        forensics=last.validation.forensics if last is not None else None,
        findings=last.validation.findings if last is not None else (),
        reasons=scan.reasons if scan is not None else (),
        events=state.sequence,
    )


def _rounds(state: TaskState) -> list[RoundLine]:
    lines = []
    for one in state.rounds:
        chosen = one.candidate.proposal if one.candidate is not None else None
        lines.append(
            RoundLine(
                round=one.number,
                failure_type=one.started.failure_type,
                hints=one.started.hints,
                entries=one.started.entries,
                proposals=len(one.proposals or ()),
                trials=len(one.trials),
                turns=len(one.turns),
                direction=chosen.direction if chosen is not None else "",
                explanation=chosen.explanation if chosen is not None else "",
                locations=chosen.locations if chosen is not None else (),
            )
        )
    return lines


def _validations(state: TaskState) -> list[ValidationLine]:
    return [
        ValidationLine(
            round=one.round,
            tree=one.tree,
            case_set=one.case_set,
            passed=sum(case.status is CaseStatus.PASSED for case in one.validation.ran),
            ran=len(one.validation.ran),
            failure_type=one.validation.failure_type,
            hint=one.validation.forensics.hint if one.validation.forensics is not None else None,
            failing=tuple(
                f"{case.name}: {case.message}"
                for case in one.validation.ran
                if case.status is not CaseStatus.PASSED
            ),
        )
        for one in state.validations
        if one.case_set is not CaseSet.TRIAL
    ]


def print_story(out: Console, told: Story) -> None:
    """Print a story for people."""
    row = told.row
    out.print(f"[bold]Task {row.task}: {row.name}[/] ({row.level}), arm {row.arm}, model {told.model}")
    out.print(f"  outcome {row.outcome or 'none yet'}: {plain(row.reason)}", markup=False)
    out.print(
        f"  cases: compact {told.compact}, full {told.full}"
        + (f", {told.cut} cut by the size limit (coverage {rate(row.coverage)})" if told.cut else "")
    )
    out.print(f"  verdict {row.verdict or '–'}, {told.events} events, {seconds(row.wall_s)}")
    for reason in told.reasons:
        out.print(
            f"    {reason.get('file')}:{reason.get('line')}: {plain(str(reason.get('message')))}",
            markup=False,
        )
    for one in told.rounds:
        hints = f" ({', '.join(one.hints)})" if one.hints else ""
        out.print(f"[bold]round {one.round}[/]: {one.failure_type}{hints}")
        out.print(f"  entries: {', '.join(one.entries) or 'none fits'}", markup=False)
        out.print(f"  {one.proposals} rewrites proposed, {one.trials} tried, {one.turns} turns", markup=False)
        if one.direction:
            out.print(f"  candidate: {plain(one.direction)}", markup=False)
            out.print(f"    at {', '.join(one.locations)}" if one.locations else "", markup=False)
            out.print(f"    {plain(one.explanation)}", markup=False)
    table = Table("round", "set", "passed", "failure", "forensics", "tree", box=None, pad_edge=False)
    for line in told.validations:
        table.add_row(
            str(line.round),
            line.case_set,
            f"{line.passed}/{line.ran}",
            "" if line.failure_type == "success" else line.failure_type,
            line.hint or "",
            line.tree[:12],
        )
    out.print(table)
    if told.forensics is not None:
        out.print("[bold]forensics of the last failure[/]: ", end="")
        out.print(plain(told.forensics.summary), markup=False)
    for finding in told.findings:
        where = f"{finding.file}:{finding.line}: " if finding.file else ""
        out.print(
            f"  {finding.severity} {finding.rule}: {where}{plain(finding.message)} (×{finding.count})",
            markup=False,
        )
    out.print(f"files: {', '.join(told.files)}", markup=False)

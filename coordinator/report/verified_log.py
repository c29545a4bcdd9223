"""Whether a task's log and the rows that follow from it say the same.

The log is hash-chained, so it is what the rest is held against: jobs, outbox, evidence, benchmark runs, verdicts,
explanations, and the revision that each decision made. A row that no event stands for was put in; an event without its
row lost it.
"""

from collections import Counter
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from coordinator.engine.facts import case_message, full_of
from coordinator.engine.state import Checked, TaskState
from coordinator.report.faults import Fault
from schema import events
from schema.canonical import canonical_json, digest
from schema.jobs import JobKind
from schema.redaction import storable_message
from schema.results import CaseSet, Validation
from schema.tables import (
    Benchmark,
    BenchmarkRun,
    Evidence,
    Job,
    Revision,
    SnippetExplanation,
    Task,
    Verdict,
)

_ENDS = {"done": "job_finished", "failed": "job_failed"}


def check_evidence(session: Session, task: Task, state: TaskState | None) -> tuple[int, list[Fault]]:
    """Check the digests of evidence, its columns and its benchmark runs against its body, and all against the log."""
    rows = (
        session.execute(select(Evidence).where(Evidence.task_id == task.id).order_by(Evidence.id))
        .scalars()
        .all()
    )
    runs: dict[int, list[tuple[str, str]]] = {}
    query = (
        select(BenchmarkRun.evidence_id, Benchmark.name, BenchmarkRun.status)
        .join(Benchmark, Benchmark.id == BenchmarkRun.benchmark_id)
        .where(BenchmarkRun.task_id == task.id)
    )
    for evidence_id, name, status in session.execute(query):
        runs.setdefault(evidence_id, []).append((name, status))
    measured = {} if state is None else {checked.job_id: checked for checked in state.validations}
    faults: list[Fault] = []
    for row in rows:
        where = f"evidence {row.id} (round {row.round}, {row.case_set})"
        told = _evidence_fault(row, measured.get(row.job_id), known=state is not None)
        if told:
            faults.append(Fault(kind="evidence", where=where, what=told))
            continue
        cases = row.body.get("cases", [])
        expected = Counter((f"{case['name']} #{case['index']}", case["status"]) for case in cases)
        for name, status in (expected - Counter(runs.get(row.id, []))).elements():
            what = f"no benchmark run says that {name} was {status}"
            faults.append(Fault(kind="benchmark-run", where=where, what=what))
        for name, status in (Counter(runs.get(row.id, [])) - expected).elements():
            what = f"a benchmark run says that {name} was {status}, the evidence does not"
            faults.append(Fault(kind="benchmark-run", where=where, what=what))
    stored = {row.job_id for row in rows}
    for job_id, checked in measured.items():
        due = checked.case_set is not CaseSet.TRIAL and checked.sequence <= task.decided_sequence
        if due and job_id not in stored:
            what = f"the log has its {checked.case_set.value} validation, and there is no evidence of it"
            faults.append(Fault(kind="evidence", where=f"job {job_id}", what=what))
    return len(rows), faults


def _evidence_fault(row: Evidence, checked: Checked | None, *, known: bool) -> str:
    """What is wrong with one piece of evidence; "" if nothing is."""
    if digest(canonical_json(row.body)) != row.digest:
        return "its body does not hash to its digest"
    try:
        body = Validation.model_validate(row.body)
    except ValidationError as error:
        return f"its body is no validation: {error.errors()[0]['msg']}"
    if (row.case_set, row.complete, row.coverage, row.match_rate) != (
        body.case_set.value,
        body.complete,
        body.coverage,
        body.match_rate,
    ):
        return "its columns say other than its body"
    if checked is None:
        return f"the log has no validation by job {row.job_id}" if known else ""
    if body != checked.validation:
        return f"its body is not what job {row.job_id} reported"
    if (row.tree, row.round, row.passed) != (checked.tree, checked.round, checked.passed):
        return "its tree, its round or whether it passed is not what the log says"
    return ""


def check_failure_texts(session: Session, task: Task, state: TaskState) -> list[Fault]:
    """Check that each failure behind a line is what some measurement of this task said.

    Source: the promise of TraceCoder 5.1: the failure is the benchmark's own words, not a retelling.
    """
    said: dict[str, set[str]] = {}
    for checked in state.validations:
        for case in checked.validation.cases:
            output = storable_message(case_message(case))
            said.setdefault(f"{case.name} #{case.index}", set()).update({output, digest(output.encode())})
    logs = {storable_message(built.log) for built in state.builds.values() if not built.ok}
    builds = logs | {digest(log.encode()) for log in logs}
    query = text("""
        SELECT DISTINCT ON (x.revision, x.benchmark_id, x.failure_output, x.failure_blob)
               x.revision, b.name, b.kind, x.failure_output, x.failure_blob
        FROM snippet_failures x JOIN files f ON f.id = x.file_id JOIN benchmarks b ON b.id = x.benchmark_id
        WHERE f.task_id = :task_id ORDER BY x.revision, x.benchmark_id, x.failure_output, x.failure_blob
    """)
    faults = []
    for revision, name, kind, output, blob in session.execute(query, {"task_id": task.id}):
        if kind == "build":
            # A build that says nothing is told in the engine's words.
            true = (blob or output) in builds or "" in logs
        else:
            # A case without a result is told by what its validation says of itself.
            true = (blob or output) in said.get(name, ()) or output.startswith("no result: ")
        if not true:
            what = f"no measurement of this task said of {name}: {' '.join(output.split())[:120]}"
            faults.append(Fault(kind="failure", where=f"revision {revision}", what=what))
    return faults


def check_verdicts(session: Session, task: Task, recorded: list[events.Recorded]) -> list[Fault]:
    """Check that each verdict is one of the log, and the other way round, and speaks of a tree that was a candidate."""
    logged: Counter[tuple[str, str, str, str]] = Counter()
    for one in recorded:
        event = one.event
        if isinstance(event, events.IntegrityScanned):
            body = event.model_dump(mode="json", include={"reasons", "path"})
            logged["scan", event.tree, event.verdict, _same(body)] += 1
        elif isinstance(event, events.IntegrityResolved):
            body = event.model_dump(mode="json", include={"citation", "author"})
            logged["resolution", event.tree, event.verdict, _same(body)] += 1
    rows = (
        session.execute(select(Verdict).where(Verdict.task_id == task.id).order_by(Verdict.id))
        .scalars()
        .all()
    )
    measured = set(session.execute(select(Evidence.tree).where(Evidence.task_id == task.id)).scalars())
    faults = []
    for row in rows:
        key = (row.origin, row.tree, row.verdict, _same(row.body))
        where = f"verdict {row.id} ({row.verdict} on tree {row.tree[:12]}…)"
        if not logged[key]:
            faults.append(Fault(kind="verdict", where=where, what=f"the log has no such {row.origin}"))
            continue
        logged[key] -= 1
        if row.origin == "resolution" and row.tree not in measured:
            faults.append(Fault(kind="verdict", where=where, what="it resolves a tree without evidence"))
    for origin, tree, verdict, _ in logged.elements():
        what = f"the log has a {origin} that says {verdict}, and there is no such verdict"
        faults.append(Fault(kind="verdict", where=f"tree {tree[:12]}…", what=what))
    return faults


def _same(body: Any) -> str:
    """A body as the store gives it back, in one form."""
    return canonical_json(events.storable(body)).decode()


def check_jobs(session: Session, task: Task, recorded: list[events.Recorded]) -> list[Fault]:
    """Check that each job was asked for by the log and ended as it says, and that the outbox names such jobs."""
    asked: dict[str, events.JobRequested] = {}
    ended: dict[str, tuple[str, Any]] = {}
    cancelled: set[str] = set()
    for one in recorded:
        match one.event:
            case events.JobRequested() as event:
                asked[event.job_id] = event
            case events.JobFinished() as event:
                ended[event.job_id] = ("done", event.result)
            case events.JobFailed() as event:
                ended[event.job_id] = ("failed", {"reason": event.reason})
            case events.JobCancelled() as event:
                cancelled.add(event.job_id)
            case events.TaskResumed():
                # The end that is taken back took all of them back.
                cancelled |= set(asked) - set(ended)
            case _:
                pass
    faults = []
    rows = {
        row.id: row
        for row in session.execute(select(Job).where(Job.task_id == task.id).order_by(Job.id)).scalars()
    }
    for job_id, row in rows.items():
        what = _job_fault(row, asked.get(job_id), ended.get(job_id), job_id in cancelled, task)
        if what:
            faults.append(Fault(kind="job", where=f"job {job_id}", what=what))
    for job_id in sorted({*asked, *ended, *cancelled} - set(rows)):
        faults.append(
            Fault(kind="job", where=f"job {job_id}", what="the log speaks of it, and there is no such job")
        )
    # Without its job a row of the outbox has only the job's id to tell whose it is.
    strays = text("""
        SELECT o.id, o.job_id FROM outbox o LEFT JOIN jobs j ON j.id = o.job_id
        WHERE (j.id IS NULL AND starts_with(o.job_id, :prefix)) OR j.task_id = :task_id ORDER BY o.id
    """)
    for row_id, job_id in session.execute(strays, {"prefix": f"{task.id}-", "task_id": task.id}):
        if job_id not in rows or job_id not in asked:
            what = f"it would publish job {job_id}, which no event asked for"
            faults.append(Fault(kind="outbox", where=f"outbox row {row_id}", what=what))
    return faults


def _job_fault(
    row: Job, asked: events.JobRequested | None, ended: tuple[str, Any] | None, cancelled: bool, task: Task
) -> str:
    """What is wrong with one job; "" if nothing is."""
    if asked is None:
        return "no event asked for it"
    if (row.kind, _same(row.payload)) != (asked.job_kind, _same(asked.payload)):
        return "its kind or payload is not what the log asked for"
    if ended is not None:
        status, result = ended
        if row.status != status:
            return f"it is {row.status}, and by the log {status}"
        if _same(row.result) != _same(result):
            return "its result is not the one in the log"
        return ""
    if row.status in _ENDS:
        return f"it is {row.status}, and the log has no {_ENDS[row.status]} for it"
    if cancelled and row.status != "cancelled":
        return f"it is {row.status}, and by the log cancelled"
    if row.status == "cancelled" and not cancelled and task.status != "finished":
        return "it is cancelled, and nothing in the log cancelled it"
    return ""


def check_decisions(session: Session, task: Task, state: TaskState) -> list[Fault]:
    """Check that each decision that made a revision made this one, for these words, and that none is left over."""
    revisions = {
        row.revision: row
        for row in session.execute(
            select(Revision).where(Revision.task_id == task.id).order_by(Revision.revision)
        ).scalars()
    }
    explained = {
        row.revision: row
        for row in session.execute(
            select(SnippetExplanation).where(SnippetExplanation.task_id == task.id)
        ).scalars()
    }
    made = {one.candidate.revision: one.candidate for one in state.rounds if one.candidate is not None}
    restored = {one.revision: one for one in state.restores}
    behind = text("""
        SELECT DISTINCT x.revision FROM snippet_failures x JOIN files f ON f.id = x.file_id WHERE f.task_id = :task_id
    """)
    with_failures = set(session.execute(behind, {"task_id": task.id}).scalars())
    changing = text("""
        SELECT DISTINCT s.created_revision FROM snippets s JOIN files f ON f.id = s.file_id WHERE f.task_id = :task_id
        UNION
        SELECT DISTINCT s.disabled_revision FROM snippets s JOIN files f ON f.id = s.file_id
        WHERE f.task_id = :task_id AND s.disabled_revision IS NOT NULL
    """)
    changed = set(session.execute(changing, {"task_id": task.id}).scalars())
    faults = []

    def fault(kind: str, revision: int, what: str) -> None:
        faults.append(Fault(kind=kind, where=f"revision {revision}", what=what))

    for number in sorted({*made, *restored} - set(revisions)):
        fault("decision", number, "the log says that it was made, and it is not on record")
    for number, row in revisions.items():
        if number == 0:
            if row.tree != state.baseline:
                fault("decision", 0, "its tree is not the frozen baseline of the log")
            continue
        expected: tuple[str, int, str]
        if number in made:
            chosen = made[number]
            expected = (chosen.proposal.tree, chosen.round, chosen.origin)
            words = storable_message(chosen.proposal.explanation or chosen.proposal.title)
            entries = [chosen.proposal.entry] if chosen.proposal.entry else []
            told = explained.get(number)
            if told is None or (told.explanation, told.entry_ids, told.model) != (
                words,
                entries,
                chosen.model,
            ):
                fault(
                    "explanation",
                    number,
                    "its explanation, entry or model is not that of its candidate in the log",
                )
            if (
                number in changed
                and number not in with_failures
                and _answers_a_failure(state, chosen.answers)
            ):
                fault(
                    "failure",
                    number,
                    f"it answers job {chosen.answers}, which failed, and no line names a failure",
                )
        elif number in restored:
            expected = (restored[number].tree, restored[number].round, "restore")
        else:
            fault("decision", number, "no decision in the log made it")
            continue
        if (row.tree, row.round, row.cause) != expected:
            fault("decision", number, "its tree, round or cause is not what the log decided")
    return faults


def _answers_a_failure(state: TaskState, job_id: str) -> bool:
    job = state.requested.get(job_id)
    if job is None:
        return False
    if job.kind is JobKind.COMPILE:
        built = state.builds.get(job.payload["tree"])
        return built is not None and not built.ok
    return any(one.job_id == job_id and bool(one.failing) for one in state.validations)


def check_outcome(session: Session, task: Task, state: TaskState) -> list[Fault]:
    """Check that the outcome is the log's, and that a pass rests on evidence and a verdict of its own tree."""
    where = f"task {task.id} ({task.outcome or task.status})"

    def fault(what: str) -> list[Fault]:
        return [Fault(kind="outcome", where=where, what=what)]

    logged = state.finished.outcome if state.finished is not None else None
    if task.outcome != logged or (task.status == "finished") != (logged is not None):
        return fault(f"the log says that it ended as {logged or 'nothing yet'}")
    if logged not in {"passed", "suspect"}:
        return []
    tree = state.current
    certifying = full_of(state, tree)
    passed = certifying is not None and (
        session.execute(
            select(Evidence.id).where(
                Evidence.task_id == task.id,
                Evidence.job_id == certifying.job_id,
                Evidence.tree == tree,
                Evidence.passed,
                Evidence.complete,
            )
        ).first()
        is not None
    )
    if not passed:
        return fault(f"no complete evidence of the full set that passed speaks of its tree {tree[:12]}…")
    verdicts = (
        session.execute(
            select(Verdict.verdict)
            .where(Verdict.task_id == task.id, Verdict.tree == tree)
            .order_by(Verdict.id)
        )
        .scalars()
        .all()
    )
    if logged == "passed" and state.arm.anticheat and (not verdicts or verdicts[-1] != "CLEAN"):
        return fault(f"no verdict CLEAN speaks of its tree {tree[:12]}…")
    return []

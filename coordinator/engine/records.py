"""Rows that follow from events: revisions, evidence, benchmarks and their runs, verdicts.

All of it is written in the transaction of the decision, so that the log and these rows never differ.
Trials stay in the log alone: they steer, they certify nothing.
"""

import json

from sqlalchemy import text
from sqlalchemy.orm import Session

from coordinator.engine.facts import case_message, describe
from coordinator.engine.state import Checked, TaskState
from schema.benchmarks import NamedCheck, benchmark_id, benchmark_ids
from schema.blobs import get_tree
from schema.canonical import canonical_json, digest
from schema.events import CandidateChosen, CheckpointRestored, IntegrityResolved, IntegrityScanned, storable
from schema.jobs import JobKind
from schema.redaction import storable_message
from schema.results import CaseSet, CaseStatus
from schema.snippets import FailureCause, write_revision
from schema.tables import Revision, Verdict

# The one benchmark that a failed build is.
BUILD = "BUILD"


# The evidence and the runs that it holds, once, in one statement: a validation has hundreds of cases.
_EVIDENCE = text("""
WITH whole AS (
    INSERT INTO evidence (task_id, job_id, round, tree, case_set, complete, passed, match_rate, coverage, body, digest)
    SELECT :task_id, :job_id, :round, :tree, :case_set, :complete, :passed, :match_rate, :coverage,
           CAST(:body AS jsonb), :digest
    WHERE NOT EXISTS (SELECT FROM evidence WHERE job_id = :job_id)
    RETURNING id
)
INSERT INTO benchmark_runs (task_id, benchmark_id, evidence_id, revision, round, status, message)
SELECT :task_id, u.benchmark, whole.id, :revision, :round, u.status, u.message
FROM whole, json_to_recordset(CAST(:runs AS json)) AS u (number integer, benchmark bigint, status text, message text)
ORDER BY u.number
""")


def baseline_revision(session: Session, task_id: int, state: TaskState) -> None:
    """Store the baseline as revision 0, once."""
    if session.get(Revision, (task_id, 0)) is None:
        write_revision(
            session, task_id=task_id, round=0, files=get_tree(session, state.baseline), cause="initial"
        )


def candidate_revision(session: Session, task_id: int, state: TaskState, chosen: CandidateChosen) -> int:
    """Store a candidate with the failed benchmarks it answers; returns its revision."""
    proposal = chosen.proposal
    return write_revision(
        session,
        task_id=task_id,
        round=chosen.round,
        files=get_tree(session, proposal.tree),
        cause=chosen.origin,
        failures=_failures(session, task_id, state, chosen.answers),
        explanation=proposal.explanation or proposal.title,
        entry_ids=[proposal.entry] if proposal.entry else [],
        direction=proposal.direction,
        model=chosen.model,
    )


def restored_revision(session: Session, task_id: int, state: TaskState, restored: CheckpointRestored) -> int:
    """Store the return to the checkpoint, with the failures that called for it."""
    return write_revision(
        session,
        task_id=task_id,
        round=restored.round,
        files=get_tree(session, restored.tree),
        cause="restore",
        failures=_failures(session, task_id, state, _answering(state, state.current)),
        explanation=f"The checkpoint comes back: {restored.reason}.",
        direction="restore",
        restores=revision_of(state, restored.tree),
    )


def revision_of(state: TaskState, tree: str) -> int:
    """The revision at which a tree first became a state of the task."""
    for one in state.rounds:
        if one.candidate is not None and one.candidate.proposal.tree == tree:
            return one.candidate.revision
    return 0


def evidence(session: Session, task_id: int, state: TaskState, checked: Checked) -> None:
    """Store a validation as evidence with one benchmark run a case, once."""
    if checked.case_set is CaseSet.TRIAL:
        return
    body = storable(checked.validation.model_dump(mode="json"))
    revision = revision_of(state, checked.tree)
    cases = checked.validation.cases
    checks = [_case_check(state, case.index, case.name) for case in cases]
    benchmarks = benchmark_ids(session, task_id, checks)
    session.execute(
        _EVIDENCE,
        {
            "task_id": task_id,
            "job_id": checked.job_id,
            "round": checked.round,
            "revision": revision,
            "tree": checked.tree,
            "case_set": checked.case_set.value,
            "complete": checked.validation.complete,
            "passed": checked.passed,
            "match_rate": checked.validation.match_rate,
            "coverage": checked.validation.coverage,
            "body": json.dumps(body),
            "digest": digest(canonical_json(body)),
            "runs": json.dumps(
                [
                    {
                        "number": number,
                        "benchmark": benchmarks[check.name],
                        "status": case.status.value,
                        "message": ""
                        if case.status in (CaseStatus.PASSED, CaseStatus.CUT)
                        else storable_message(case_message(case)),
                    }
                    for number, (case, check) in enumerate(zip(cases, checks, strict=True))
                ]
            ),
        },
    )


def scanned_verdict(session: Session, task_id: int, scan: IntegrityScanned) -> None:
    """Store what the scan says of a tree."""
    body = scan.model_dump(mode="json", include={"reasons", "path"})
    session.add(
        Verdict(task_id=task_id, tree=scan.tree, verdict=scan.verdict, origin="scan", body=storable(body))
    )


def resolved_verdict(session: Session, task_id: int, resolved: IntegrityResolved) -> None:
    """Store a person's word on a tree."""
    body = resolved.model_dump(mode="json", include={"citation", "author"})
    session.add(
        Verdict(
            task_id=task_id,
            tree=resolved.tree,
            verdict=resolved.verdict,
            origin="resolution",
            body=storable(body),
        )
    )


def _answering(state: TaskState, tree: str) -> str:
    """The newest job that measured a tree: its validation, else its compilation."""
    done = [one.job_id for one in state.validations if one.tree == tree and one.case_set is not CaseSet.TRIAL]
    return done[-1] if done else state.built_by.get(tree, "")


def _failures(session: Session, task_id: int, state: TaskState, job_id: str) -> list[FailureCause]:
    """The failed benchmarks of the job that a revision answers."""
    job = state.requested.get(job_id)
    if job is None:
        return []
    if job.kind is JobKind.COMPILE:
        tree = job.payload["tree"]
        built = state.builds.get(tree)
        if built is None or built.ok:
            return []
        build = benchmark_id(
            session, task_id=task_id, name=BUILD, kind="build", spec={"toolchain": state.created.toolchain}
        )
        return [FailureCause(benchmark_id=build, output=built.log or describe(state, tree))]
    checked = next((one for one in state.validations if one.job_id == job_id), None)
    if checked is None:
        return []
    by_index = {case.index: case for case in checked.validation.cases}
    outputs: list[tuple[NamedCheck, str]] = []
    for index in checked.failing:
        case = by_index.get(index)
        name = case.name if case is not None else _case_name(state, index)
        output = case_message(case) if case is not None else f"no result: {checked.validation.message}"
        outputs.append((_case_check(state, index, name), output))
    benchmarks = benchmark_ids(session, task_id, [check for check, _ in outputs])
    return [FailureCause(benchmark_id=benchmarks[check.name], output=output) for check, output in outputs]


def _case_name(state: TaskState, index: int) -> str:
    for checked in state.validations:
        for case in checked.validation.cases:
            if case.index == index:
                return case.name
    return "case"


def _case_check(state: TaskState, index: int, name: str) -> NamedCheck:
    spec = {"case": index, "seed": state.created.seed, "tree": state.baseline}
    return NamedCheck(name=f"{name} #{index}", kind="case", spec=spec)

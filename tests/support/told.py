"""A task with a history, written as the driver writes one, and its exports."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from coordinator.export import FORMATS
from coordinator.export.source import Source, read_source
from schema.benchmarks import benchmark_id
from schema.canonical import canonical_json, digest
from schema.results import CaseResult, CaseSet, CaseStatus, FailureType, Finding, Forensics, Validation
from schema.snippets import FailureCause, read_files, write_revision
from schema.tables import (
    BenchmarkRun,
    Evidence,
    Job,
    Revision,
    Task,
)
from schema.texts import bytes_of, text_of
from tests.support.tasks import bare_task

KERNEL = """\
#include "kernel_operator.h"
class KernelAdd {
    __aicore__ inline void Process(uint32_t n)
    {
        DataCopy(xLocal, xGm[offset], n);
        Add(zLocal, xLocal, yLocal, n);
    }
};
"""
PADDED = KERNEL.replace("DataCopy(xLocal, xGm[offset], n)", "DataCopyPad(xLocal, xGm[offset], params)")
GUARDED = PADDED.replace("        Add(", "        if (n == 0) { return; }\n        Add(")
WORSE = GUARDED.replace("params)", "params, pad)")
ODD = text_of(b"crlf\r\nform\x0cfeed\nbad \xff\xfe bytes\nnul \0 here\n\xe2\x80\xa8no end")
SECRET = "sk-abcdefghijklmnopqrstuvwx"


def new_task(session: Session, name: str = "Add") -> Task:
    return session.get_one(Task, bare_task(session, name))


def write(session: Session, task: Task, round: int, files: dict[str, str], **more: Any) -> int:
    case = benchmark_id(session, task_id=task.id, name="float16[7] #3", kind="case", spec={"case": 3})
    return write_revision(
        session,
        task_id=task.id,
        round=round,
        files=files,
        **{
            "cause": "rewrite",
            "failures": [FailureCause(benchmark_id=case, output=f"expected 1.5, got nan, key {SECRET}")],
            "explanation": f"the tail is not aligned\nuse token={SECRET} ({round})",
            "entry_ids": ["datacopy-pad"],
            "direction": "datacopy-pad @ kernel/add.cpp",
            "model": "kb",
            **more,
        },
    )


def validate(
    session: Session,
    task: Task,
    revision: int,
    statuses: dict[str, CaseStatus],
    *,
    findings: tuple[Finding, ...] = (),
    forensics: Forensics | None = None,
    complete: bool = True,
) -> str:
    """Store a validation of a revision, as the driver does."""
    row = session.get_one(Revision, (task.id, revision))
    job = Job(
        id=f"{task.id}-{os.urandom(4).hex()}", task_id=task.id, kind="validate", queue="npu", payload={}
    )
    session.add(job)
    session.flush()
    body = Validation(
        case_set=CaseSet.COMPACT,
        failure_type=FailureType.SUCCESS,
        cases=tuple(
            CaseResult(index=index, name=name, status=status)
            for index, (name, status) in enumerate(statuses.items())
        ),
        findings=findings,
        forensics=forensics,
        complete=complete,
        seed=7,
    )
    data = body.model_dump(mode="json")
    evidence = Evidence(
        task_id=task.id,
        job_id=job.id,
        round=row.round,
        tree=row.tree,
        case_set="compact",
        complete=complete,
        passed=body.passed,
        match_rate=body.match_rate,
        coverage=1.0,
        body=data,
        digest=digest(canonical_json(data)),
    )
    session.add(evidence)
    session.flush()
    for name, status in statuses.items():
        session.add(
            BenchmarkRun(
                task_id=task.id,
                benchmark_id=benchmark_id(session, task_id=task.id, name=name, kind="case", spec={}),
                evidence_id=evidence.id,
                revision=revision,
                round=row.round,
                status=status.value,
                message="" if status is CaseStatus.PASSED else f"it deviates, {SECRET}",
            )
        )
    session.flush()
    return evidence.digest


BARE: dict[str, Any] = {"failures": [], "explanation": "", "entry_ids": [], "direction": "", "model": ""}


@dataclass(frozen=True, kw_only=True)
class Told:
    """A task that was repaired, made worse, and brought back to its checkpoint."""

    session: Session
    task: Task

    def source(self, revision: int | None = None) -> Source:
        return read_source(self.session, self.task, revision=revision)

    def text(self, format: str, revision: int | None = None) -> str:
        return "".join(FORMATS[format].text(self.session, self.source(revision)))

    def repository(self, path: Path, revision: int | None = None) -> Path:
        path.mkdir()
        FORMATS["git"].fill(self.session, self.source(revision), path)
        return path

    def bytes_at(self, revision: int) -> dict[str, bytes]:
        files = read_files(self.session, self.task.id, revision=revision)
        return {path: bytes_of(text) for path, text in files.items()}


def tell(session: Session) -> Told:
    """Revisions: 0 baseline, 1 rewrite, 2 session with an odd file, 3 session that drops it, 4 restore of 2."""
    task = new_task(session)
    add, odd = "kernel/add.cpp", "kernel/data/odd file.txt"
    write(session, task, 0, {add: KERNEL, "model.py": "x = 1\n"}, cause="initial", **BARE)
    write(session, task, 1, {add: PADDED, "model.py": "x = 1\n"})
    write(
        session,
        task,
        2,
        {add: GUARDED, odd: ODD, "kernel/empty.h": "", "model.py": "x = 1\n"},
        cause="session",
        model="provider/some-model",
        entry_ids=[],
    )
    write(
        session,
        task,
        3,
        {add: "// first\n" + WORSE, "model.py": "x = 1\n"},
        cause="session",
        model="provider/some-model",
        entry_ids=[],
    )
    write_revision(
        session,
        task_id=task.id,
        round=3,
        files={add: GUARDED, odd: ODD, "kernel/empty.h": "", "model.py": "x = 1\n"},
        cause="restore",
        explanation="The checkpoint comes back: no better score.",
        direction="restore",
        restores=2,
    )
    return Told(session=session, task=task)

"""Tasks and revisions written straight into a store, for tests that need no driver."""

import os
from collections.abc import Mapping

from sqlalchemy.orm import Session

from schema.benchmarks import benchmark_id
from schema.snippets import FailureCause, write_revision
from schema.tables import Cohort, Run, Task


def bare_task(session: Session, name: str = "Add") -> int:
    """A task without a log, in a run and a cohort of its own; its id."""
    cohort = Cohort(name="bare", digest=os.urandom(8).hex(), manifest={})
    session.add(cohort)
    session.flush()
    run = Run(cohort_id=cohort.id, arm="debug", model="kb", trials=1)
    session.add(run)
    session.flush()
    task = Task(run_id=run.id, name=name, level="L1", trial=0)
    session.add(task)
    session.flush()
    return task.id


def revise(
    session: Session,
    task: int,
    round: int,
    files: Mapping[str, str],
    *,
    failed: Mapping[str, str] | None = None,
    cause: str = "rewrite",
    restores: int | None = None,
) -> int:
    """Write a revision behind failed benchmarks (name → what each said); its number."""
    said = failed
    if said is None:
        said = {"float16[7]": f"expected 1.5, got {round} at [6]"} if round else {}
    failures = [
        FailureCause(
            benchmark_id=benchmark_id(session, task_id=task, name=name, kind="case", spec={}), output=output
        )
        for name, output in said.items()
    ]
    return write_revision(
        session,
        task_id=task,
        round=round,
        files=files,
        cause=cause if round else "initial",
        failures=failures if round else (),
        explanation=f"the tail of round {round}" if round else "",
        entry_ids=["pad"] if round and cause == "rewrite" else [],
        direction="pad @ kernel/a.cpp" if round else "",
        model=("kb" if cause == "rewrite" else "some-model") if round else "",
        restores=restores,
    )

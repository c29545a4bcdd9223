"""The metrics of TraceCoder's evaluation, per task and over many (TraceCoder 6.2, tables 1 and 2).

| here               | in the paper        | definition there (6.2, 6.3)                                               |
|--------------------|---------------------|---------------------------------------------------------------------------|
| `iterations`       | Iters               | rounds until all benchmarks pass or the budget is reached                 |
| `benchmarks`       | BMs                 | total benchmarks created                                                  |
| `changed_percent`  | Chg%                | share of snippets with at least one failure row                           |
| `average_rows`     | Avg Rds             | mean failure rows per changed snippet                                     |
| `store_bytes`      | DB KB               | final size of the database                                                |
| `history_overhead` | history overhead    | bytes of failures and explanations relative to the code                   |

Where the paper leaves a word open, it is read like this. A *snippet* is a line of the final program, as in its second
case study (44 of the 82 final lines are 53.7 %); the program is what repair may edit: kernel/ of an operator, all files
of a program. A snippet *has* the failure rows of its whole lineage, for a modified line gets a key of its own and the
chain carries the history (4.4): each (revision, benchmark) counts once. `average_rounds` counts the distinct rounds
among them: how often a line was revised (5.2); with one benchmark a round, as in table 1, both are the same number. One
database holds all tasks here, so a task's store is its rows in the provenance tables and the blobs that its revisions
and failures name.
"""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from coordinator.report.lookup import RUN_HINT, tasks_of
from coordinator.report.wording import rate
from schema.errors import NotFound
from schema.events import RoundStarted
from schema.results import Record
from schema.tables import Benchmark, Blob, Cohort, Event, Revision, Run, Task

KERNEL = "kernel/"


class ProvenanceRow(Record):
    """The metrics of one task.

    Attributes:
        iterations: repair rounds that were begun; the first program alone is none (table 2's "It").
        benchmarks: benchmarks on record: cases that ran, BUILD if a build failed.
        snippets: lines of the final program. changed: those with a failure row in their lineage.
        changed_percent: 100 × changed / snippets; 0 for an empty program.
        average_rounds: mean distinct rounds with a failure row per changed snippet; 0 where none changed (table 1).
        average_rows: mean failure rows per changed snippet.
        store_bytes: bytes of the task's provenance rows and blobs, as Postgres holds them, perhaps compressed.
        code_bytes: bytes of the final program's text.
        history_bytes: bytes of failure texts and explanations; a whole text in a blob counts once.
        history_overhead: history_bytes / code_bytes; None for an empty program.
    """

    task: int
    name: str
    trial: int
    outcome: str | None
    iterations: int
    benchmarks: int
    snippets: int
    changed: int
    changed_percent: float
    average_rounds: float
    average_rows: float
    store_bytes: int
    code_bytes: int
    history_bytes: int
    history_overhead: float | None


class Spread(Record):
    """Mean, least and greatest value of a metric, as the last rows of the paper's tables."""

    mean: float
    min: float
    max: float


class ProvenanceMetrics(Record):
    """The metrics of several tasks.

    Attributes:
        without_code: tasks that never had a first program: the paper's "–", in no mean.
        spreads: by metric, over the tasks with one; empty if there is none. Tasks without a change count as 0.
        database_bytes: the whole database: all runs, logs, jobs and blobs.
    """

    tasks: tuple[ProvenanceRow, ...]
    without_code: tuple[int, ...]
    spreads: dict[str, Spread]
    database_bytes: int


SPREAD_OVER = (
    "iterations",
    "benchmarks",
    "changed_percent",
    "average_rounds",
    "average_rows",
    "store_bytes",
    "history_overhead",
)

_LINEAGE = text("""
WITH RECURSIVE shown AS (
    SELECT s.file_id, s.position_key FROM snippets s JOIN files f ON f.id = s.file_id
    WHERE f.task_id = :task_id AND s.disabled_revision IS NULL AND starts_with(f.path, :below)
),
ancestors (line_file, line_key, file_id, position_key) AS (
    SELECT file_id, position_key, file_id, position_key FROM shown
    UNION
    SELECT a.line_file, a.line_key, l.parent_file_id, l.parent_key
    FROM ancestors a JOIN lineage l ON l.child_file_id = a.file_id AND l.child_key = a.position_key
),
rows_behind AS (
    SELECT a.line_file, a.line_key, x.revision, x.round, x.benchmark_id
    FROM ancestors a
    JOIN snippets s ON s.file_id = a.file_id AND s.position_key = a.position_key
    -- A row of the revision that disabled a line tells why it went, not why its successors are there.
    JOIN snippet_failures x ON x.file_id = s.file_id AND x.position_key = s.position_key
         AND x.revision = s.created_revision
    GROUP BY 1, 2, 3, 4, 5
)
SELECT (SELECT count(*) FROM shown) AS snippets,
       (SELECT count(*) FROM (SELECT DISTINCT line_file, line_key FROM rows_behind) AS one) AS changed,
       (SELECT count(*) FROM rows_behind) AS rows,
       (SELECT count(*) FROM (SELECT DISTINCT line_file, line_key, round FROM rows_behind) AS one) AS rounds
""")

_BYTES = text("""
WITH files_of AS MATERIALIZED (SELECT * FROM files WHERE task_id = :task_id),
snippets_of AS MATERIALIZED (SELECT s FROM snippets s WHERE s.file_id IN (SELECT id FROM files_of)),
failures_of AS MATERIALIZED (SELECT x FROM snippet_failures x WHERE x.file_id IN (SELECT id FROM files_of)),
explanations_of AS MATERIALIZED (SELECT e FROM snippet_explanations e WHERE e.task_id = :task_id)
SELECT
    (SELECT coalesce(sum(octet_length(coalesce((o.s).raw, convert_to((o.s).content, 'UTF8')))), 0)
     FROM snippets_of o JOIN files_of f ON f.id = (o.s).file_id
     WHERE (o.s).disabled_revision IS NULL AND starts_with(f.path, :below)) AS code,
    (SELECT coalesce(sum(octet_length((x).failure_output)), 0) FROM failures_of)
  + (SELECT coalesce(sum(octet_length((e).explanation)), 0) FROM explanations_of)
  + (SELECT coalesce(sum(b.size), 0) FROM blobs b
     WHERE b.digest IN (SELECT (x).failure_blob FROM failures_of)) AS history,
    (SELECT coalesce(sum(pg_column_size(f)), 0) FROM files_of f)
  + (SELECT coalesce(sum(pg_column_size(s)), 0) FROM snippets_of)
  + (SELECT coalesce(sum(pg_column_size(x)), 0) FROM failures_of)
  + (SELECT coalesce(sum(pg_column_size(e)), 0) FROM explanations_of)
  + (SELECT coalesce(sum(pg_column_size(l)), 0) FROM lineage l WHERE l.child_file_id IN (SELECT id FROM files_of))
  + (SELECT coalesce(sum(pg_column_size(r)), 0) FROM revisions r WHERE r.task_id = :task_id)
  + (SELECT coalesce(sum(pg_column_size(b)), 0) FROM benchmarks b WHERE b.task_id = :task_id)
  + (SELECT coalesce(sum(pg_column_size(r)), 0) FROM benchmark_runs r WHERE r.task_id = :task_id)
  + (SELECT coalesce(sum(pg_column_size(b.data)), 0) FROM blobs b
     WHERE b.digest = ANY(CAST(:blobs AS text[]))
        OR b.digest IN (SELECT (x).failure_blob FROM failures_of)) AS store
""")


def metrics_of_run(session: Session, run: Run) -> ProvenanceMetrics:
    """The metrics of a run's tasks."""
    return metrics_of(session, tasks_of(session, run))


def metrics_of_cohort(session: Session, name: str) -> ProvenanceMetrics:
    """The metrics of the tasks of all runs over cohorts of this name.

    Raises:
        NotFound: there is no such cohort; the message lists those there are.
    """
    query = select(Task).join(Run, Run.id == Task.run_id).join(Cohort, Cohort.id == Run.cohort_id)
    tasks = session.execute(query.where(Cohort.name == name).order_by(Task.id)).scalars().all()
    if not tasks:
        known = session.execute(select(Cohort.name).distinct().order_by(Cohort.name)).scalars().all()
        mend = f"cohorts with runs: {', '.join(known)}" if known else RUN_HINT
        raise NotFound(f"no run over a cohort {name!r}", mend=mend)
    return metrics_of(session, tasks)


def metrics_of(session: Session, tasks: Sequence[Task]) -> ProvenanceMetrics:
    """The metrics of some tasks, in their order."""
    rows, without = [], []
    for task in tasks:
        row = _row(session, task)
        if row is None:
            without.append(task.id)
        else:
            rows.append(row)
    return ProvenanceMetrics(
        tasks=tuple(rows),
        without_code=tuple(without),
        spreads={name: _spread(rows, name) for name in SPREAD_OVER} if rows else {},
        database_bytes=session.execute(select(func.pg_database_size(func.current_database()))).scalar_one(),
    )


def _spread(rows: Sequence[ProvenanceRow], name: str) -> Spread:
    values = [float(getattr(row, name) or 0) for row in rows]
    return Spread(mean=sum(values) / len(values), min=min(values), max=max(values))


def _row(session: Session, task: Task) -> ProvenanceRow | None:
    """The metrics of one task; None if it has no first program."""
    trees = (
        session.execute(select(Revision.tree).where(Revision.task_id == task.id).distinct()).scalars().all()
    )
    if not trees:
        return None
    manifests = {
        digest: json.loads(bytes(data))
        for digest, data in session.execute(select(Blob.digest, Blob.data).where(Blob.digest.in_(trees)))
    }
    paths = {path for manifest in manifests.values() for path in manifest}
    columns: dict[str, Any] = {
        "task_id": task.id,
        "below": KERNEL if any(path.startswith(KERNEL) for path in paths) else "",
        "blobs": sorted(
            {*manifests, *(part for manifest in manifests.values() for part in manifest.values())}
        ),
    }
    lines = session.execute(_LINEAGE, columns).one()
    size = session.execute(_BYTES, columns).one()
    return ProvenanceRow(
        task=task.id,
        name=task.name,
        trial=task.trial,
        outcome=task.outcome,
        iterations=_count(session, Event, Event.task_id == task.id, Event.kind == RoundStarted.kind),
        benchmarks=_count(session, Benchmark, Benchmark.task_id == task.id),
        snippets=lines.snippets,
        changed=lines.changed,
        changed_percent=100 * lines.changed / lines.snippets if lines.snippets else 0.0,
        average_rounds=lines.rounds / lines.changed if lines.changed else 0.0,
        average_rows=lines.rows / lines.changed if lines.changed else 0.0,
        store_bytes=int(size.store),
        code_bytes=int(size.code),
        history_bytes=int(size.history),
        history_overhead=float(size.history) / float(size.code) if size.code else None,
    )


def _count(session: Session, table: Any, *conditions: Any) -> int:
    return int(session.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())


def print_metrics(out: Console, metrics: ProvenanceMetrics) -> None:
    """A table as the paper's table 1: a row a task, then mean, least and greatest."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True)
    for name in ("iterations", "benchmarks", "Chg%", "avg rounds", "avg rows", "store KB", "overhead"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in metrics.tasks:
        table.add_row(
            f"{row.name} ({row.task})" if row.trial == 0 else f"{row.name} #{row.trial + 1} ({row.task})",
            str(row.iterations),
            str(row.benchmarks),
            f"{row.changed_percent:.1f}",
            f"{row.average_rounds:.2f}",
            f"{row.average_rows:.2f}",
            f"{row.store_bytes / 1024:.1f}",
            rate(row.history_overhead),
        )
    if len(metrics.tasks) > 1:
        for name in ("mean", "min", "max"):
            table.add_row(name, *_summary(metrics, name), style="bold")
    out.print(table)
    if metrics.without_code:
        out.print(f"without a first program, in no mean: task {', '.join(map(str, metrics.without_code))}")


def _summary(metrics: ProvenanceMetrics, name: str) -> list[str]:
    found = {metric: getattr(spread, name) for metric, spread in metrics.spreads.items()}
    whole = ".2f" if name == "mean" else ".0f"
    return [
        f"{found['iterations']:{whole}}",
        f"{found['benchmarks']:{whole}}",
        f"{found['changed_percent']:.1f}",
        f"{found['average_rounds']:.2f}",
        f"{found['average_rows']:.2f}",
        f"{found['store_bytes'] / 1024:.1f}",
        rate(found["history_overhead"]),
    ]

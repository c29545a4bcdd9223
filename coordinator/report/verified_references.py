"""Whether the rows of a task's provenance refer to each other in a way that makes sense.

The database's own keys see that a row is there. What they can't see: that an effect is younger than its cause, that
both belong to one task, that every changed line names every failure behind its revision.
"""

from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from coordinator.report.faults import Fault
from schema.lineage import KINDS

_EDGES = text("""
WITH files_of AS MATERIALIZED (SELECT id FROM files WHERE task_id = :task_id),
edges AS (
    SELECT l.* FROM lineage l WHERE l.child_file_id IN (SELECT id FROM files_of)
    UNION
    SELECT l.* FROM lineage l WHERE l.parent_file_id IN (SELECT id FROM files_of)
)
SELECT e.kind, coalesce(cf.path, '?') AS child_path, e.child_key, coalesce(pf.path, '?') AS parent_path, e.parent_key,
       cf.task_id AS child_task, pf.task_id AS parent_task, c.created_revision AS made,
       p.created_revision AS parent_made, p.disabled_revision AS parent_gone
FROM edges e
LEFT JOIN snippets c ON c.file_id = e.child_file_id AND c.position_key = e.child_key
LEFT JOIN files cf ON cf.id = e.child_file_id
LEFT JOIN snippets p ON p.file_id = e.parent_file_id AND p.position_key = e.parent_key
LEFT JOIN files pf ON pf.id = e.parent_file_id
WHERE c.file_id IS NULL OR p.file_id IS NULL OR cf.task_id IS DISTINCT FROM pf.task_id
   OR p.created_revision >= c.created_revision
   OR e.kind <> ALL(CAST(:kinds AS text[]))
   OR (e.kind IN ('modified', 'moved', 'merged') AND p.disabled_revision IS DISTINCT FROM c.created_revision)
   OR (e.kind <> 'restored' AND p.disabled_revision < c.created_revision)
ORDER BY c.created_revision, child_path, e.child_key, parent_path, e.parent_key
""")

_STRAY_FAILURES = text("""
SELECT f.path, x.position_key, x.revision, x.round, b.name, b.task_id AS benchmark_task, s.created_revision AS made,
       s.disabled_revision AS gone, r.round AS real_round, s.file_id IS NULL AS orphan
FROM snippet_failures x
JOIN files f ON f.id = x.file_id
LEFT JOIN snippets s ON s.file_id = x.file_id AND s.position_key = x.position_key
LEFT JOIN benchmarks b ON b.id = x.benchmark_id
LEFT JOIN revisions r ON r.task_id = f.task_id AND r.revision = x.revision
WHERE f.task_id = :task_id AND (
      s.file_id IS NULL OR b.id IS NULL OR b.task_id <> f.task_id OR r.revision IS NULL OR r.round <> x.round
      OR NOT (x.revision = s.created_revision OR x.revision IS NOT DISTINCT FROM s.disabled_revision))
ORDER BY x.revision, f.path, x.position_key, x.id
""")

# Every changed line names every failure behind its revision: a made one on itself, a deleted one on its tombstone.
_MISSING_FAILURES = text("""
WITH behind AS MATERIALIZED (
    SELECT DISTINCT x.revision, x.benchmark_id FROM snippet_failures x JOIN files f ON f.id = x.file_id
    WHERE f.task_id = :task_id
)
SELECT f.path, s.position_key, s.created_revision AS revision, b.name
FROM snippets s JOIN files f ON f.id = s.file_id
JOIN behind ON behind.revision = s.created_revision
LEFT JOIN benchmarks b ON b.id = behind.benchmark_id
WHERE f.task_id = :task_id AND s.created_revision > 0 AND NOT EXISTS (
    SELECT FROM snippet_failures x WHERE x.file_id = s.file_id AND x.position_key = s.position_key
       AND x.revision = s.created_revision AND x.benchmark_id = behind.benchmark_id)
ORDER BY s.created_revision, f.path, s.position_key, b.name
""")

_BARE_TOMBSTONES = text("""
WITH behind AS MATERIALIZED (
    SELECT DISTINCT x.revision, x.benchmark_id FROM snippet_failures x JOIN files f ON f.id = x.file_id
    WHERE f.task_id = :task_id
)
SELECT f.path, s.position_key, s.disabled_revision AS revision, b.name
FROM snippets s JOIN files f ON f.id = s.file_id
JOIN behind ON behind.revision = s.disabled_revision
LEFT JOIN benchmarks b ON b.id = behind.benchmark_id
WHERE f.task_id = :task_id AND NOT EXISTS (
    SELECT FROM snippet_failures x WHERE x.file_id = s.file_id AND x.position_key = s.position_key
       AND x.revision = s.disabled_revision AND x.benchmark_id = behind.benchmark_id)
AND NOT EXISTS (
    SELECT FROM lineage l
    JOIN snippets c ON c.file_id = l.child_file_id AND c.position_key = l.child_key
    WHERE l.parent_file_id = s.file_id AND l.parent_key = s.position_key
      AND c.created_revision = s.disabled_revision)
ORDER BY s.disabled_revision, f.path, s.position_key, b.name
""")

_EXPLANATIONS = text("""
SELECT e.revision, e.round, r.round AS real_round
FROM snippet_explanations e LEFT JOIN revisions r ON r.task_id = e.task_id AND r.revision = e.revision
WHERE e.task_id = :task_id AND (r.revision IS NULL OR r.round <> e.round) ORDER BY e.revision
""")

_RUNS = text("""
SELECT x.id, x.revision, e.task_id AS evidence_task, b.task_id AS benchmark_task, r.revision AS real_revision,
       x.round, e.round AS evidence_round
FROM benchmark_runs x
LEFT JOIN evidence e ON e.id = x.evidence_id
LEFT JOIN benchmarks b ON b.id = x.benchmark_id
LEFT JOIN revisions r ON r.task_id = x.task_id AND r.revision = x.revision
WHERE x.task_id = :task_id AND (
      e.task_id IS DISTINCT FROM x.task_id OR b.task_id IS DISTINCT FROM x.task_id OR r.revision IS NULL
      OR e.round <> x.round)
ORDER BY x.id
""")


def check_references(session: Session, task_id: int) -> list[Fault]:
    """Check lineage, failures, tombstones, explanations and benchmark runs of a task against each other."""
    columns: dict[str, Any] = {"task_id": task_id}
    faults = [
        Fault(
            kind="lineage",
            where=f"{row['child_path']}@{row['child_key']} {row['kind']} from "
            f"{row['parent_path']}@{row['parent_key']}",
            what=_edge(row),
        )
        for row in session.execute(_EDGES, {**columns, "kinds": list(KINDS)}).mappings()
    ]
    faults += [
        Fault(
            kind="failure",
            where=f"revision {row['revision']}, {row['path']}@{row['position_key']}",
            what=_stray(row, task_id),
        )
        for row in session.execute(_STRAY_FAILURES, columns).mappings()
    ]
    faults += [
        Fault(
            kind="failure",
            where=f"revision {row.revision}, {row.path}@{row.position_key}",
            what=f"the line names no failure of {row.name or 'its benchmark'}, as others of its revision do",
        )
        for row in session.execute(_MISSING_FAILURES, columns)
    ]
    faults += [
        Fault(
            kind="tombstone",
            where=f"revision {row.revision}, {row.path}@{row.position_key}",
            what=f"the line went without a successor and without the failure of {row.name or 'its benchmark'}",
        )
        for row in session.execute(_BARE_TOMBSTONES, columns)
    ]
    faults += [
        Fault(
            kind="explanation",
            where=f"revision {row.revision}",
            what="it is explained, but not on record"
            if row.real_round is None
            else f"its explanation is of round {row.round}, the revision of round {row.real_round}",
        )
        for row in session.execute(_EXPLANATIONS, columns)
    ]
    faults += [
        Fault(kind="benchmark-run", where=f"benchmark run {row['id']}", what=_run(row))
        for row in session.execute(_RUNS, columns).mappings()
    ]
    return faults


def _edge(row: Any) -> str:
    """What is wrong with a lineage edge; the query found that something is."""
    if row["made"] is None or row["parent_made"] is None:
        return "one end of the edge is not in the store"
    if row["child_task"] != row["parent_task"]:
        return f"the edge leads from task {row['parent_task']} to task {row['child_task']}"
    if row["parent_made"] >= row["made"]:
        return f"the line of revision {row['made']} is no younger than its parent of revision {row['parent_made']}"
    if row["kind"] not in KINDS:
        return f"there is no such lineage; it is one of {', '.join(KINDS)}"
    if row["parent_gone"] is None:
        return "its parent is still there beside it"
    return f"its parent went in revision {row['parent_gone']}, the line came in revision {row['made']}"


def _stray(row: Any, task_id: int) -> str:
    """What is wrong with a failure row; the query found that something is."""
    if row["orphan"]:
        return "a failure of a line that is not in the store"
    if row["name"] is None:
        return "its benchmark is not in the store"
    if row["benchmark_task"] != task_id:
        return f"it failed benchmark {row['name']} of task {row['benchmark_task']}"
    if row["real_round"] is None:
        return f"it failed {row['name']} in a revision that is not on record"
    if row["real_round"] != row["round"]:
        return f"it failed {row['name']} in round {row['round']}, but the revision is of round {row['real_round']}"
    gone = "" if row["gone"] is None else f" and went in revision {row['gone']}"
    return f"it failed {row['name']}, but the line came in revision {row['made']}{gone}"


def _run(row: Any) -> str:
    """What is wrong with a benchmark run; the query found that something is."""
    if row["evidence_task"] is None:
        return "its evidence is not in the store"
    if row["benchmark_task"] is None:
        return "its benchmark is not in the store"
    if row["real_revision"] is None:
        return f"it ran on revision {row['revision']}, which is not on record"
    if row["round"] != row["evidence_round"]:
        return f"it is of round {row['round']}, its evidence of round {row['evidence_round']}"
    return "its evidence or its benchmark belongs to another task"

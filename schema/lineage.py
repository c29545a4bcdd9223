"""Why is this line here? The chain of failures, explanations and predecessors behind a line.

A line's history is a walk over the lineage edges from its snippet to the ones it came from, back to the initial
code. Each step tells the revision that made it, the benchmarks that had failed, what they said, the explanation,
and the entry or model that proposed the change (TraceCoder 5.2, with the edge table of research/provenance.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import RowMapping, select, text
from sqlalchemy.orm import Session

from schema.errors import NotFound
from schema.snippets import StoredSnippet, revision_at, snippets_at
from schema.tables import File, SnippetExplanation

# Where a snippet has several parents, the first of these is the one its history is told along.
_CLOSENESS = ("restored", "modified", "moved", "merged", "split")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed benchmark behind a change.

    Attributes:
        benchmark: its name.
        output: what it said, capped.
        blob: digest of the whole text, if it was capped.
    """

    benchmark: str
    output: str
    blob: str | None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One snippet of a chain and what made it.

    Attributes:
        change: initial, inserted, or how it follows from its parent: modified, moved, merged, split, restored.
        cause: what kind of revision made it: initial, rewrite, session or restore.
        parents: (path, position key) of all snippets it follows from, the closest first.
        entry_ids: entries of the knowledge base that were applied; model: who proposed it ("kb": rewrites).
    """

    path: str
    position_key: str
    content: str
    scope: str
    node_kind: str
    change: str
    revision: int
    round: int
    cause: str
    failures: tuple[Failure, ...]
    explanation: str
    entry_ids: tuple[str, ...]
    direction: str
    model: str
    parents: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The answer to "why is this line here?".

    Attributes:
        revision: the revision the line number counts in.
        snippet: the line.
        steps: its chain, the line itself first and the initial code (or the insertion) last.
        others: further ancestors, by merges and splits, newest first.
    """

    task_id: int
    path: str
    line: int
    revision: int
    snippet: StoredSnippet
    steps: tuple[Step, ...]
    others: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class BlamedLine:
    """One line of a file with what is to be known at a glance.

    Attributes:
        revisions: how often its lineage was revised (0: initial code).
        last_round: the round that made it as it is.
        benchmarks: names of the benchmarks whose failure did; empty for initial code.
        model: who proposed it; "" for initial code.
    """

    line: int
    position_key: str
    content: str
    revisions: int
    last_round: int
    benchmarks: tuple[str, ...]
    model: str


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """What one revision did to one file.

    Attributes:
        created: (position key, content) of the new snippets, in file order.
        disabled: (position key, content) of the new tombstones, in file order.
        failures: the failed benchmarks behind it, each once.
    """

    revision: int
    round: int
    cause: str
    created: tuple[tuple[str, str], ...]
    disabled: tuple[tuple[str, str], ...]
    failures: tuple[Failure, ...]
    explanation: str
    entry_ids: tuple[str, ...]
    direction: str
    model: str


_ANCESTORS = text("""
WITH RECURSIVE ancestors (file_id, position_key) AS (
    SELECT CAST(:file_id AS bigint), CAST(:position_key AS text) COLLATE "C"
    UNION
    SELECT l.parent_file_id, l.parent_key
    FROM ancestors a JOIN lineage l ON l.child_file_id = a.file_id AND l.child_key = a.position_key
)
SELECT f.path, s.file_id, s.position_key, s.content, s.scope, s.node_kind, s.created_revision AS revision,
       s.created_round AS round, r.cause, coalesce(e.explanation, '') AS explanation,
       coalesce(e.entry_ids, '{}') AS entry_ids, coalesce(e.direction, '') AS direction,
       coalesce(e.model, '') AS model
FROM ancestors a
JOIN snippets s ON s.file_id = a.file_id AND s.position_key = a.position_key
JOIN files f ON f.id = s.file_id
JOIN revisions r ON r.task_id = f.task_id AND r.revision = s.created_revision
LEFT JOIN snippet_explanations e ON e.task_id = f.task_id AND e.revision = s.created_revision
ORDER BY s.created_revision DESC, f.path, s.position_key
""")

_PARENTS = text("""
SELECT l.child_file_id, l.child_key, l.parent_file_id, l.parent_key, l.kind
FROM unnest(CAST(:file_ids AS bigint[]), CAST(:keys AS text[])) AS u (file_id, key)
JOIN lineage l ON l.child_file_id = u.file_id AND l.child_key = u.key
""")

_FAILURES = text("""
SELECT x.file_id, x.position_key, x.revision, b.name, x.failure_output, x.failure_blob
FROM unnest(CAST(:file_ids AS bigint[]), CAST(:keys AS text[])) AS u (file_id, key)
JOIN snippet_failures x ON x.file_id = u.file_id AND x.position_key = u.key
JOIN benchmarks b ON b.id = x.benchmark_id
ORDER BY x.id
""")


def why(session: Session, task_id: int, path: str, line: int, revision: int | None = None) -> Explanation:
    """Tell why a line is there.

    Args:
        session: an open transaction.
        task_id: whose file.
        path: the file, as the task knows it ("kernel/add.cpp").
        line: the line's number at that revision, from 1.
        revision: None for the last one.

    Raises:
        NotFound: no such task, revision, file or line.
    """
    number = revision_at(session, task_id, revision=revision).revision
    found = snippets_at(session, task_id, path=path, revision=number, line=line)
    if not found:
        count = len(snippets_at(session, task_id, path=path, revision=number))
        raise NotFound(
            f"the file has {count} lines at revision {number}",
            where=f"{path}:{line}",
            mend=f"give a line from 1 to {count}" if count else "an empty file has no line to ask for",
        )
    snippet = found[0]
    rows = (
        session.execute(_ANCESTORS, {"file_id": snippet.file_id, "position_key": snippet.position_key})
        .mappings()
        .all()
    )
    steps = _steps(session, rows)
    chain = []
    key: tuple[str, str] | None = (path, snippet.position_key)
    while key is not None:
        step = steps.pop(key, None)
        if step is None:
            break
        chain.append(step)
        key = step.parents[0] if step.parents else None
    return Explanation(
        task_id=task_id,
        path=path,
        line=line,
        revision=number,
        snippet=snippet,
        steps=tuple(chain),
        others=tuple(steps.values()),
    )


def _steps(session: Session, rows: Iterable[RowMapping]) -> dict[tuple[str, str], Step]:
    """One step a snippet, by path and key, in the order of the rows."""
    rows = list(rows)
    names = {(row["file_id"], row["position_key"]): (row["path"], row["position_key"]) for row in rows}
    columns = {"file_ids": [key[0] for key in names], "keys": [key[1] for key in names]}
    parents: dict[tuple[int, str], list[tuple[int, tuple[str, str]]]] = {}
    for child_file, child_key, parent_file, parent_key, kind in session.execute(_PARENTS, columns):
        closeness = _CLOSENESS.index(kind) if kind in _CLOSENESS else len(_CLOSENESS)
        parents.setdefault((child_file, child_key), []).append((closeness, names[parent_file, parent_key]))
    failures: dict[tuple[int, str, int], list[Failure]] = {}
    for file_id, key, revision, name, output, blob in session.execute(_FAILURES, columns):
        failures.setdefault((file_id, key, revision), []).append(
            Failure(benchmark=name, output=output, blob=blob)
        )
    steps = {}
    for row in rows:
        key = (row["file_id"], row["position_key"])
        known = sorted(parents.get(key, ()))
        if known:
            change = _CLOSENESS[known[0][0]] if known[0][0] < len(_CLOSENESS) else "follows"
        else:
            change = "inserted" if row["revision"] else "initial"
        steps[names[key]] = Step(
            path=row["path"],
            position_key=row["position_key"],
            content=row["content"],
            scope=row["scope"],
            node_kind=row["node_kind"],
            change=change,
            revision=row["revision"],
            round=row["round"],
            cause=row["cause"],
            # Failures of a later revision on the same row belong to its end, not to its making.
            failures=tuple(failures.get((*key, row["revision"]), ())),
            explanation=row["explanation"],
            entry_ids=tuple(row["entry_ids"]),
            direction=row["direction"],
            model=row["model"],
            parents=tuple(parent for _, parent in known),
        )
    return steps


_BLAME = text("""
WITH RECURSIVE visible AS (
    SELECT s.file_id, s.position_key FROM snippets s
    WHERE s.file_id = :file_id AND s.created_revision <= :revision
      AND (s.disabled_revision IS NULL OR s.disabled_revision > :revision)
),
ancestors (line_key, file_id, position_key) AS (
    SELECT position_key, file_id, position_key FROM visible
    UNION
    SELECT a.line_key, l.parent_file_id, l.parent_key
    FROM ancestors a JOIN lineage l ON l.child_file_id = a.file_id AND l.child_key = a.position_key
)
SELECT a.line_key, count(DISTINCT s.created_revision) FILTER (WHERE s.created_revision > 0) AS revisions
FROM ancestors a JOIN snippets s ON s.file_id = a.file_id AND s.position_key = a.position_key
GROUP BY a.line_key
""")


def blame(session: Session, task_id: int, path: str, revision: int | None = None) -> tuple[BlamedLine, ...]:
    """Tell of every line of a file how often and by what it was revised.

    Raises:
        NotFound: no such task, revision or file.
    """
    number = revision_at(session, task_id, revision=revision).revision
    snippets = snippets_at(session, task_id, path=path, revision=number)
    if not snippets:
        return ()
    file_id = snippets[0].file_id
    counts = {
        row.line_key: row.revisions
        for row in session.execute(_BLAME, {"file_id": file_id, "revision": number})
    }
    columns = {
        "file_ids": [file_id] * len(snippets),
        "keys": [snippet.position_key for snippet in snippets],
    }
    benchmarks: dict[tuple[str, int], list[str]] = {}
    for _, key, made, name, _, _ in session.execute(_FAILURES, columns):
        benchmarks.setdefault((key, made), []).append(name)
    query = select(SnippetExplanation.revision, SnippetExplanation.model)
    models = {
        row.revision: row.model for row in session.execute(query.where(SnippetExplanation.task_id == task_id))
    }
    return tuple(
        BlamedLine(
            line=snippet.line,
            position_key=snippet.position_key,
            content=snippet.content,
            revisions=counts[snippet.position_key],
            last_round=snippet.created_round,
            benchmarks=tuple(benchmarks.get((snippet.position_key, snippet.created_revision), ())),
            model=models.get(snippet.created_revision, ""),
        )
        for snippet in snippets
    )


_HISTORY = text("""
SELECT s.position_key, s.content, s.created_revision, s.disabled_revision FROM snippets s
WHERE s.file_id = :file_id ORDER BY s.position_key
""")

_REVISIONS = text("""
SELECT r.revision, r.round, r.cause, coalesce(e.explanation, '') AS explanation,
       coalesce(e.entry_ids, '{}') AS entry_ids, coalesce(e.direction, '') AS direction,
       coalesce(e.model, '') AS model
FROM revisions r LEFT JOIN snippet_explanations e ON e.task_id = r.task_id AND e.revision = r.revision
WHERE r.task_id = :task_id ORDER BY r.revision
""")

_FILE_FAILURES = text("""
SELECT DISTINCT x.revision, b.id, b.name, x.failure_output, x.failure_blob
FROM snippet_failures x JOIN benchmarks b ON b.id = x.benchmark_id
WHERE x.file_id = :file_id ORDER BY x.revision, b.id
""")


def history(session: Session, task_id: int, path: str) -> tuple[FileChange, ...]:
    """Tell what each revision did to a file, oldest first; revisions that left it alone are left out.

    Raises:
        NotFound: no such task, or it never had this file.
    """
    revision_at(session, task_id)
    file_id = session.execute(
        select(File.id).where(File.task_id == task_id, File.path == path)
    ).scalar_one_or_none()
    if file_id is None:
        known = session.execute(
            select(File.path).where(File.task_id == task_id).order_by(File.path)
        ).scalars()
        raise NotFound(
            f"task {task_id} never had this file", where=path, mend=f"its files: {', '.join(known)}"
        )
    created: dict[int, list[tuple[str, str]]] = {}
    disabled: dict[int, list[tuple[str, str]]] = {}
    for key, content, made, ended in session.execute(_HISTORY, {"file_id": file_id}):
        created.setdefault(made, []).append((key, content))
        if ended is not None:
            disabled.setdefault(ended, []).append((key, content))
    failures: dict[int, list[Failure]] = {}
    for revision, _, name, output, blob in session.execute(_FILE_FAILURES, {"file_id": file_id}):
        failures.setdefault(revision, []).append(Failure(benchmark=name, output=output, blob=blob))
    return tuple(
        FileChange(
            revision=row["revision"],
            round=row["round"],
            cause=row["cause"],
            created=tuple(created.get(row["revision"], ())),
            disabled=tuple(disabled.get(row["revision"], ())),
            failures=tuple(failures.get(row["revision"], ())),
            explanation=row["explanation"],
            entry_ids=tuple(row["entry_ids"]),
            direction=row["direction"],
            model=row["model"],
        )
        for row in session.execute(_REVISIONS, {"task_id": task_id}).mappings()
        if row["revision"] in created or row["revision"] in disabled
    )

"""Why is this line here? The chain of failures, explanations and predecessors behind a line.

A line's history is a walk over the lineage edges from its snippet to the ones it came from, back to the initial
code. Each step tells the revision that made it, the benchmarks that had failed, what they said, the explanation,
and the entry or model that proposed the change (TraceCoder 5.2, with the edge table of research/provenance.md).
A line that is gone has the same history, and an end: the failure on its tombstone, and what follows from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import RowMapping, select, text
from sqlalchemy.orm import Session

from schema.causes import Failure, SnippetKey, failures_of, file_at, file_ever
from schema.errors import NotFound
from schema.file_history import BlamedLine, FileChange, Tombstone, blame, history, visible
from schema.snippets import StoredSnippet, revision_at
from schema.tables import Revision, Snippet

__all__ = [
    "KINDS",
    "BlamedLine",
    "Ending",
    "Explanation",
    "Failure",
    "FileChange",
    "Relative",
    "Step",
    "Tombstone",
    "blame",
    "history",
    "why",
    "why_key",
]

# How a snippet can follow from another. Where it has several parents, its history is told along the first of these.
KINDS = ("restored", "modified", "moved", "merged", "split")


@dataclass(frozen=True, kw_only=True)
class Relative:
    """A snippet that another one follows from, or that follows from it.

    Attributes:
        kind: how: one of KINDS.
        content: its line.
    """

    path: str
    position_key: str
    kind: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One snippet of a chain and what made it.

    Attributes:
        change: initial, inserted, or how it follows from its closest parent: one of KINDS.
        cause: what kind of revision made it: initial, rewrite, session or restore.
        parents: the snippets it follows from, the closest first.
        before: the lines it stands in place of: contents of the parents that were taken away for it.
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
    parents: tuple[Relative, ...]
    before: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a line ended: the revision that disabled it.

    Attributes:
        revision: the first one without it.
        failures: on its tombstone if it was deleted, else those behind what took its place.
        successors: the snippets that took its place at that revision; none if it was deleted.
    """

    revision: int
    round: int
    cause: str
    failures: tuple[Failure, ...]
    explanation: str
    entry_ids: tuple[str, ...]
    direction: str
    model: str
    successors: tuple[Relative, ...]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The answer to "why is this line here?".

    Attributes:
        line: the line's number at `revision`.
        revision: the revision the line number counts in: for a line that was gone at the revision asked for,
            the last one that had it.
        snippet: the line.
        steps: its chain, the line itself first and the initial code (or the insertion) last.
        others: further ancestors, by merges and splits, newest first.
        ended: how it ended, as far as the revision asked for; None while it is there.
    """

    task_id: int
    path: str
    line: int
    revision: int
    snippet: StoredSnippet
    steps: tuple[Step, ...]
    others: tuple[Step, ...]
    ended: Ending | None


# The walk is held apart from the rows that it leads to: the planner can't know how many ancestors there are, and
# joins each level by the index of lineage; a line that was revised 1,000 times is 1,000 index look-ups.
_ANCESTORS = text("""
WITH RECURSIVE ancestors (file_id, position_key) AS (
    SELECT CAST(:file_id AS bigint), CAST(:position_key AS text) COLLATE "C"
    UNION
    SELECT l.parent_file_id, l.parent_key
    FROM ancestors a JOIN lineage l ON l.child_file_id = a.file_id AND l.child_key = a.position_key
)
SELECT f.path, s.file_id, s.position_key, s.content, s.scope, s.node_kind, s.created_revision AS revision,
       s.created_round AS round, s.disabled_revision, r.cause, coalesce(e.explanation, '') AS explanation,
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

_SUCCESSORS = text("""
SELECT s.file_id, f.path, s.position_key, l.kind, s.content
FROM lineage l
JOIN snippets s ON s.file_id = l.child_file_id AND s.position_key = l.child_key
JOIN files f ON f.id = s.file_id
WHERE l.parent_file_id = :file_id AND l.parent_key = :position_key AND s.created_revision = :revision
ORDER BY f.path, s.position_key
""")

_REVISION = text("""
SELECT r.revision, r.round, r.cause, coalesce(e.explanation, '') AS explanation,
       coalesce(e.entry_ids, '{}') AS entry_ids, coalesce(e.direction, '') AS direction,
       coalesce(e.model, '') AS model
FROM revisions r LEFT JOIN snippet_explanations e ON e.task_id = r.task_id AND e.revision = r.revision
WHERE r.task_id = :task_id AND r.revision = :revision
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
    newest = revision_at(session, task_id)
    at = newest if revision is None else revision_at(session, task_id, revision=revision)
    file_id = file_at(session, task_id, path, at)
    condition = f"s.file_id = :file_id AND {visible(newest=at.revision == newest.revision)}"
    columns = {"file_id": file_id, "revision": at.revision}
    key: str | None = None
    if line > 0:
        found = f"SELECT s.position_key FROM snippets s WHERE {condition} ORDER BY s.position_key"
        query = text(f"{found} OFFSET :before LIMIT 1")
        key = session.execute(query, {**columns, "before": line - 1}).scalar_one_or_none()
    if key is None:
        count = session.execute(
            text(f"SELECT count(*) FROM snippets s WHERE {condition}"), columns
        ).scalar_one()
        lines = f"{count} line" if count == 1 else f"{count} lines"
        raise NotFound(
            f"the file has {lines} at revision {at.revision} (round {at.round})",
            where=f"{path}:{line}",
            mend=f"give a line from 1 to {count}" if count else "an empty file has no line to ask for",
        )
    return _explain(session, task_id, (file_id, key), at, line)


def why_key(
    session: Session, task_id: int, path: str, position_key: str, revision: int | None = None
) -> Explanation:
    """Tell why the line at a position key is, or was, there: a reference that later edits don't shift.

    Args:
        session: an open transaction.
        task_id: whose file.
        path: the file, as the task knows it; it may have vanished since.
        position_key: the line's key; a tombstone's too.
        revision: as this revision knew it; None for the last one.

    Raises:
        NotFound: no such task, revision, file or key, or the line is younger than the revision.
    """
    at = revision_at(session, task_id, revision=revision)
    file_id = file_ever(session, task_id, path)
    row = session.execute(
        select(Snippet.created_revision, Snippet.created_round, Snippet.disabled_revision).where(
            Snippet.file_id == file_id, Snippet.position_key == position_key
        )
    ).one_or_none()
    where = f"{path}@{position_key}"
    if row is None:
        raise NotFound(
            f"no line of task {task_id} ever had this position key",
            where=where,
            mend="`opmend blame` shows the keys of a file; they are the same in no other task",
        )
    if row.created_revision > at.revision:
        raise NotFound(
            f"the line first appears in round {row.created_round} (revision {row.created_revision})",
            where=where,
            mend=f"--round {row.created_round} or later knows it",
        )
    ended = row.disabled_revision is not None and row.disabled_revision <= at.revision
    last = row.disabled_revision - 1 if ended else at.revision
    before = f"s.file_id = :file_id AND s.position_key <= :key AND {visible(newest=False)}"
    line = session.execute(
        text(f"SELECT count(*) FROM snippets s WHERE {before}"),
        {"file_id": file_id, "key": position_key, "revision": last},
    ).scalar_one()
    return _explain(session, task_id, (file_id, position_key), at, line)


def _explain(session: Session, task_id: int, key: SnippetKey, at: Revision, line: int) -> Explanation:
    """The whole answer for one snippet, as `at` knew it."""
    rows = session.execute(_ANCESTORS, {"file_id": key[0], "position_key": key[1]}).mappings().all()
    asked = next(row for row in rows if (row["file_id"], row["position_key"]) == key)
    steps = _steps(session, rows)
    chain: list[Step] = []
    at_key: SnippetKey | None = key
    while at_key is not None and at_key in steps:
        step, at_key = steps.pop(at_key)
        chain.append(step)
    gone = asked["disabled_revision"]
    ended = gone is not None and gone <= at.revision
    return Explanation(
        task_id=task_id,
        path=asked["path"],
        line=line,
        revision=gone - 1 if ended else at.revision,
        snippet=StoredSnippet(
            file_id=key[0],
            path=asked["path"],
            position_key=key[1],
            line=line,
            content=asked["content"],
            scope=asked["scope"],
            node_kind=asked["node_kind"],
            created_revision=asked["revision"],
            created_round=asked["round"],
        ),
        steps=tuple(chain),
        others=tuple(step for step, _ in steps.values()),
        ended=_ending(session, task_id, key, gone) if ended else None,
    )


def _steps(session: Session, rows: Iterable[RowMapping]) -> dict[SnippetKey, tuple[Step, SnippetKey | None]]:
    """One step a snippet with the key of its closest parent, in the order of the rows."""
    known = {(row["file_id"], row["position_key"]): row for row in rows}
    columns = {"file_ids": [key[0] for key in known], "keys": [key[1] for key in known]}
    parents: dict[SnippetKey, list[tuple[int, SnippetKey]]] = {}
    for child_file, child_key, parent_file, parent_key, kind in session.execute(_PARENTS, columns):
        closeness = KINDS.index(kind) if kind in KINDS else len(KINDS)
        parents.setdefault((child_file, child_key), []).append((closeness, (parent_file, parent_key)))
    failures = failures_of(session, known)
    steps = {}
    for key, row in known.items():
        # In the order of the text within a kind, so that a merged line tells its parts as they stood.
        ordered = sorted(parents.get(key, ()), key=lambda one: (one[0], known[one[1]]["path"], one[1][1]))
        kinds = [KINDS[closeness] if closeness < len(KINDS) else "follows" for closeness, _ in ordered]
        relatives = tuple(
            Relative(
                path=known[parent]["path"],
                position_key=parent[1],
                kind=kind,
                content=known[parent]["content"],
            )
            for kind, (_, parent) in zip(kinds, ordered, strict=True)
        )
        step = Step(
            path=row["path"],
            position_key=row["position_key"],
            content=row["content"],
            scope=row["scope"],
            node_kind=row["node_kind"],
            change=kinds[0] if kinds else ("inserted" if row["revision"] else "initial"),
            revision=row["revision"],
            round=row["round"],
            cause=row["cause"],
            # Failures of a later revision on the same row belong to its end, not to its making.
            failures=tuple(failures.get((*key, row["revision"]), ())),
            explanation=row["explanation"],
            entry_ids=tuple(row["entry_ids"]),
            direction=row["direction"],
            model=row["model"],
            parents=relatives,
            before=tuple(
                relative.content
                for relative, (_, parent) in zip(relatives, ordered, strict=True)
                if known[parent]["disabled_revision"] == row["revision"]
            ),
        )
        steps[key] = (step, ordered[0][1] if ordered else None)
    return steps


def _ending(session: Session, task_id: int, key: SnippetKey, revision: int) -> Ending:
    """What the revision that disabled a snippet did, and for which failure."""
    columns = {"file_id": key[0], "position_key": key[1], "revision": revision}
    children = session.execute(_SUCCESSORS, columns).all()
    made = session.execute(_REVISION, {"task_id": task_id, "revision": revision}).mappings().one()
    found = failures_of(session, [key, *((child.file_id, child.position_key) for child in children)])
    failures = found.get((*key, revision), [])
    for child in children:
        failures = failures or found.get((child.file_id, child.position_key, revision), [])
    return Ending(
        revision=revision,
        round=made["round"],
        cause=made["cause"],
        failures=tuple(failures),
        explanation=made["explanation"],
        entry_ids=tuple(made["entry_ids"]),
        direction=made["direction"],
        model=made["model"],
        successors=tuple(
            Relative(path=child.path, position_key=child.position_key, kind=child.kind, content=child.content)
            for child in children
        ),
    )

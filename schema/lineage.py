"""Why is this line here? The chain of failures, explanations and predecessors behind a line.

A line's history is a walk over the lineage edges from its snippet to the ones it came from, back to the initial
code. Each step tells the revision that made it, the benchmarks that had failed, what they said, the explanation,
and the entry or model that proposed the change (TraceCoder 5.2, with the edge table of research/provenance.md).
A line that is gone has the same history, and an end: the failure on its tombstone, and what follows from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from schema.causes import (
    Failure,
    Question,
    SnippetKey,
    ask,
    asking,
    failures_by_row,
    failures_question,
    file_ever,
    filled,
    located,
    locating,
)
from schema.errors import NotFound
from schema.file_history import BlamedLine, FileChange, Tombstone, blame, history, visible
from schema.reading import StoredSnippet, revision_at
from schema.tables import Snippet

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
_CLOSENESS = {kind: closeness for closeness, kind in enumerate(KINDS)}


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


# One row an edge, with the snippet that it leads to, and one for the line itself. OFFSET 0 keeps each look-up by index:
# the planner can't know how long the walk is, and would rather read a table of all tasks whole; 1,000 revisions of a
# line are 1,000 look-ups.
_WALK = """
WITH RECURSIVE walk (child_file_id, child_key, kind, file_id, position_key) AS (
    SELECT CAST(NULL AS bigint), CAST(NULL AS text) COLLATE "C", CAST(NULL AS text), asked.file_id, asked.position_key
    FROM ({asked}) AS asked
    UNION
    SELECT w.file_id, w.position_key, l.kind, l.parent_file_id, l.parent_key
    FROM walk w CROSS JOIN LATERAL (
        SELECT kind, parent_file_id, parent_key FROM lineage
        WHERE child_file_id = w.file_id AND child_key = w.position_key OFFSET 0
    ) AS l
)
SELECT w.child_file_id, w.child_key, w.kind, s.file_id, s.position_key, s.content, s.raw, s.scope, s.node_kind,
       s.created_revision, s.created_round, s.disabled_revision
FROM walk w CROSS JOIN LATERAL (
    SELECT * FROM snippets s WHERE s.file_id = w.file_id AND s.position_key = w.position_key OFFSET 0
) s
"""

_AT_LINE = (
    "SELECT s.file_id, s.position_key FROM snippets s "
    "WHERE s.file_id = (SELECT id FROM files WHERE task_id = %(task_id)s AND path = %(path)s) AND {visible} "
    "ORDER BY s.position_key OFFSET %(before)s LIMIT 1"
)
_WALK_FROM_NEWEST_LINE = _WALK.format(asked=_AT_LINE.format(visible=visible(newest=True)))
_WALK_FROM_LINE = _WALK.format(asked=_AT_LINE.format(visible=visible(newest=False)))
_WALK_FROM_KEY = _WALK.format(
    asked="SELECT s.file_id, s.position_key FROM snippets s "
    "WHERE s.file_id = %(file_id)s AND s.position_key = %(position_key)s"
)

_PATHS = "SELECT id, path FROM files WHERE id = ANY(CAST(%(file_ids)s AS bigint[]))"

_CAUSES = """
SELECT r.revision, r.round, r.cause, e.explanation, e.entry_ids, e.direction, e.model
FROM revisions r LEFT JOIN snippet_explanations e ON e.task_id = r.task_id AND e.revision = r.revision
WHERE r.task_id = %(task_id)s AND r.revision = ANY(CAST(string_to_array(%(revisions)s, ',') AS integer[]))
"""

_SUCCESSORS = """
SELECT s.file_id, f.path, s.position_key, l.kind, s.content
FROM lineage l
JOIN snippets s ON s.file_id = l.child_file_id AND s.position_key = l.child_key
JOIN files f ON f.id = s.file_id
WHERE l.parent_file_id = %(file_id)s AND l.parent_key = %(position_key)s AND s.created_revision = %(revision)s
ORDER BY f.path, s.position_key
"""


class _Row(NamedTuple):
    """A snippet of the walk, and the keys of its parents with the kind of each."""

    key: SnippetKey
    content: str
    raw: bytes | None
    scope: str
    node_kind: str
    revision: int
    round: int
    gone: int | None
    parents: list[tuple[int, SnippetKey]]  # closeness: place in KINDS


_Fields = dict[str, object]  # of a Step; what is on record of a revision has the names of an Ending's as well


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
    # Of a file that is not there, no line is; so the walk need not wait until the file is found.
    walk = _WALK_FROM_NEWEST_LINE if revision is None else _WALK_FROM_LINE
    asked = {"task_id": task_id, "path": path, "revision": revision, "before": max(line - 1, 0)}
    with asking(session, locating(task_id, path, revision), (walk, asked)) as (place, walked):
        pass
    at = located(session, task_id, path, revision, place)
    found = walked.fetchall()
    if line > 0 and found:
        return _explain(session, task_id, path, found, at.revision, line)
    query = f"SELECT count(*) FROM snippets s WHERE s.file_id = %(file_id)s AND {visible(newest=at.newest)}"
    ((count,),) = ask(session, query, file_id=at.file_id, revision=at.revision)
    lines = f"{count} line" if count == 1 else f"{count} lines"
    raise NotFound(
        f"the file has {lines} at revision {at.revision} (round {at.round})",
        where=f"{path}:{line}",
        mend=f"give a line from 1 to {count}" if count else "an empty file has no line to ask for",
    )


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
    before = f"s.file_id = %(file_id)s AND s.position_key <= %(key)s AND {visible(newest=False)}"
    query = f"SELECT count(*) FROM snippets s WHERE {before}"
    ((line,),) = ask(session, query, file_id=file_id, key=position_key, revision=last)
    found = ask(session, _WALK_FROM_KEY, file_id=file_id, position_key=position_key)
    return _explain(session, task_id, path, found, at.revision, line)


def _explain(
    session: Session, task_id: int, path: str, found: Sequence[tuple[Any, ...]], at: int, line: int
) -> Explanation:
    """The whole answer for the snippet that a walk began with, as revision `at` knew it."""
    asked_for = next(row for row in found if row[1] is None)
    file_id, position_key, gone = asked_for[3], asked_for[4], asked_for[11]
    key = (file_id, position_key)
    ended = gone is not None and gone <= at
    keys = dict.fromkeys([(row[3], row[4]) for row in found])
    paths = {file_id: path}
    elsewhere = {other for other, _ in keys if other != file_id}
    if elsewhere:
        paths.update(ask(session, _PATHS, file_ids=sorted(elsewhere)))
    revisions = {row[9] for row in found}
    with asking(
        session,
        failures_question(keys),
        _causes_question(task_id, {*revisions, gone} if ended else revisions),
    ) as (failed, explained):
        # While the server looks up: all that needs none of its answers.
        rows = _rows(found)
        begun = {row.key: _begun(row, rows, paths) for row in rows.values()}
    failures = failures_by_row(failed)
    causes = _causes(explained.fetchall())
    asked = rows[key]

    chain: list[Step] = []
    told: set[SnippetKey] = set()
    next_key: SnippetKey | None = key
    while next_key is not None and next_key not in told:
        row = rows[next_key]
        told.add(next_key)
        chain.append(_step(row, begun[row.key], causes[row.revision], failures))
        next_key = row.parents[0][1] if row.parents else None
    others = [row for row in rows.values() if row.key not in told]
    others.sort(key=lambda row: (-row.revision, paths[row.key[0]], row.key[1]))
    return Explanation(
        task_id=task_id,
        path=path,
        line=line,
        revision=gone - 1 if ended else at,
        snippet=StoredSnippet(
            file_id=file_id,
            path=path,
            position_key=position_key,
            line=line,
            content=asked.content,
            scope=asked.scope,
            node_kind=asked.node_kind,
            created_revision=asked.revision,
            created_round=asked.round,
            raw=asked.raw,
        ),
        steps=tuple(chain),
        others=tuple(_step(row, begun[row.key], causes[row.revision], failures) for row in others),
        ended=_ending(session, key, gone, causes[gone], failures) if ended else None,
    )


def _rows(found: Sequence[tuple[Any, ...]]) -> dict[SnippetKey, _Row]:
    """The snippets of a walk, each with its parents, the closest first."""
    rows: dict[SnippetKey, _Row] = {}
    parents: dict[SnippetKey, list[tuple[int, SnippetKey]]] = {}
    for (
        child_file, child_key, kind, file_id, position_key, content, raw, scope, node_kind, revision, round, gone
    ) in found:  # fmt: skip
        here = (file_id, position_key)
        if here not in rows:
            exact = None if raw is None else bytes(raw)
            of_mine = parents.setdefault(here, [])
            rows[here] = _Row(here, content, exact, scope, node_kind, revision, round, gone, of_mine)
        if child_key is not None:
            closeness = _CLOSENESS.get(kind, len(KINDS))
            parents.setdefault((child_file, child_key), []).append((closeness, here))
    for of_one in parents.values():
        # In the order of the text within a kind, so that a merged line tells its parts as they stood.
        if len(of_one) > 1:
            of_one.sort()
    return rows


def _causes_question(task_id: int, revisions: Iterable[int]) -> Question:
    """What to ask for what is on record of some revisions; `_causes` reads the answer."""
    return _CAUSES, {"task_id": task_id, "revisions": ",".join(map(str, revisions))}


def _causes(found: Sequence[tuple[Any, ...]]) -> dict[int, _Fields]:
    """What is on record, revision by revision; the baseline is explained by nothing."""
    return {
        revision: {
            "round": round,
            "cause": cause,
            "explanation": explanation or "",
            "entry_ids": tuple(entry_ids or ()),
            "direction": direction or "",
            "model": model or "",
        }
        for revision, round, cause, explanation, entry_ids, direction, model in found
    }


def _begun(row: _Row, rows: Mapping[SnippetKey, _Row], paths: Mapping[int, str]) -> _Fields:
    """What the walk alone tells of a step: the line, what it follows from, and which of that went in its favour."""
    parents, before = [], []
    for closeness, key in row.parents:
        parent = rows[key]
        kind = KINDS[closeness] if closeness < len(KINDS) else "follows"
        parents.append(
            filled(
                Relative,
                {"path": paths[key[0]], "position_key": key[1], "kind": kind, "content": parent.content},
            )
        )
        if parent.gone == row.revision:
            before.append(parent.content)
    file_id, position_key = row.key
    return {
        "path": paths[file_id],
        "position_key": position_key,
        "content": row.content,
        "scope": row.scope,
        "node_kind": row.node_kind,
        "change": parents[0].kind if parents else ("inserted" if row.revision else "initial"),
        "revision": row.revision,
        "parents": tuple(parents),
        "before": tuple(before),
    }


def _step(
    row: _Row,
    begun: _Fields,
    cause: _Fields,
    failures: Mapping[tuple[int, str, int], Sequence[Failure]],
) -> Step:
    """One snippet as a step of the chain."""
    # Failures of a later revision on the same row belong to its end, not to its making.
    made = tuple(failures.get((*row.key, row.revision), ()))
    return filled(Step, {**begun, **cause, "failures": made})


def _ending(
    session: Session,
    key: SnippetKey,
    revision: int,
    cause: _Fields,
    known: Mapping[tuple[int, str, int], Sequence[Failure]],
) -> Ending:
    """What the revision that disabled a snippet did, and for which failure."""
    children = ask(session, _SUCCESSORS, file_id=key[0], position_key=key[1], revision=revision)
    failures = known.get((*key, revision), ())
    if not failures and children:
        with asking(session, failures_question([(child[0], child[2]) for child in children])) as (answer,):
            pass
        found = failures_by_row(answer)
        places = ((child[0], child[2], revision) for child in children)
        failures = next((found[place] for place in places if place in found), ())
    return filled(
        Ending,
        {
            "revision": revision,
            "failures": tuple(failures),
            "successors": tuple(
                Relative(path=path, position_key=position_key, kind=kind, content=content)
                for _, path, position_key, kind, content in children
            ),
            **cause,
        },
    )

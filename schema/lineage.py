"""Why is this line here? The chain of failures, explanations and predecessors behind a line.

A line's history is a walk over the lineage edges from its snippet to the ones it came from, back to the initial
code. Each step tells the revision that made it, the benchmarks that had failed, what they said, the explanation,
and the entry or model that proposed the change (TraceCoder 5.2, with the edge table of research/provenance.md).
A line that is gone has the same history, and an end: the failure on its tombstone, and what follows from it.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from schema.ancestry import (
    FIRST_STEPS,
    KINDS,
    WALK_FROM_KEY,
    WALK_FROM_LINE,
    WALK_FROM_NEWEST_LINE,
    Ancestry,
)
from schema.causes import (
    Failure,
    Question,
    SnippetKey,
    ask,
    asking,
    failures_by_row,
    failures_question,
    failures_questions,
    file_ever,
    filled,
    located,
    locating,
)
from schema.errors import NotFound
from schema.file_history import BlamedLine, FileChange, Tombstone, blame, history, visible
from schema.languages import language_of
from schema.line_syntax import told
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


_PATHS = "SELECT id, path FROM files WHERE id = ANY(CAST(%(file_ids)s AS bigint[]))"

_CAUSES = """
SELECT r.revision, r.round, r.cause, e.explanation, CAST(array_to_json(e.entry_ids) AS text), e.direction, e.model
FROM revisions r LEFT JOIN snippet_explanations e ON e.task_id = r.task_id AND e.revision = r.revision
WHERE r.task_id = %(task_id)s AND {which}
"""
_CAUSES_OF_RANGE = _CAUSES.format(which="r.revision >= %(first)s AND r.revision <= %(last)s")
_CAUSES_OF_SOME = _CAUSES.format(
    which="r.revision = ANY(CAST(string_to_array(%(revisions)s, ',') AS integer[]))"
)

_SUCCESSORS = """
SELECT s.file_id, f.path, s.position_key, l.kind, s.content
FROM lineage l
JOIN snippets s ON s.file_id = l.child_file_id AND s.position_key = l.child_key
JOIN files f ON f.id = s.file_id
WHERE l.parent_file_id = %(file_id)s AND l.parent_key = %(position_key)s AND s.created_revision = %(revision)s
ORDER BY f.path, s.position_key
"""


_NAMES = (*KINDS, "follows")  # by closeness

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
    walk = WALK_FROM_NEWEST_LINE if revision is None else WALK_FROM_LINE
    asked = {
        "task_id": task_id,
        "path": path,
        "revision": revision,
        "before": max(line - 1, 0),
        "steps": FIRST_STEPS,
    }
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
    found = ask(session, WALK_FROM_KEY, file_id=file_id, position_key=position_key, steps=FIRST_STEPS)
    return _explain(session, task_id, path, found, at.revision, line)


def _explain(
    session: Session, task_id: int, path: str, found: Sequence[tuple[Any, ...]], at: int, line: int
) -> Explanation:
    """The whole answer for the snippet that a walk began with, as revision `at` knew it."""
    asked_for = next(row for row in found if row[1] is None)
    key = file_id, position_key = asked_for[3], asked_for[4]
    ancestry = Ancestry(session, found)
    rows = ancestry.ancestors
    gone = rows[key].gone
    if gone is not None and gone > at:
        gone = None
    paths = {file_id: path}
    elsewhere = {other for other, _ in rows if other != file_id}
    if elsewhere:
        paths.update(ask(session, _PATHS, file_ids=sorted(elsewhere)))
    untold = [
        (*one, row.revision)
        for one, row in rows.items()
        if row.node_kind is None and language_of(paths[one[0]])
    ]
    if untold:
        for at_key, syntax in told(session, untold).items():
            rows[at_key] = rows[at_key]._replace(scope=syntax.scope, node_kind=syntax.node_kind)
    asked = rows[key]
    revisions = {row.revision for row in rows.values()}
    if gone is not None:
        revisions.add(gone)
    with asking(session, _causes_question(task_id, revisions), *failures_questions(rows, ancestry.dense)) as (
        explained,
        *failed,
    ):
        pass
    failures = failures_by_row(*failed)
    causes = _causes(explained.fetchall())

    chain: list[SnippetKey] = []
    followed: set[SnippetKey] = set()
    next_key: SnippetKey | None = key
    while next_key is not None and next_key not in followed:
        followed.add(next_key)
        chain.append(next_key)
        parents = ancestry.parents.get(next_key)
        next_key = parents[0][1] if parents else None
    others = [other for other in rows if other not in followed]
    others.sort(key=lambda other: (-rows[other].revision, paths[other[0]], other[1]))
    return Explanation(
        task_id=task_id,
        path=path,
        line=line,
        revision=at if gone is None else gone - 1,
        snippet=StoredSnippet(
            file_id=file_id,
            path=path,
            position_key=position_key,
            line=line,
            content=asked.content,
            scope=asked.scope or "",
            node_kind=asked.node_kind or "",
            created_revision=asked.revision,
            created_round=asked.round,
            raw=asked.raw,
        ),
        steps=_steps(ancestry, paths, chain, causes, failures),
        others=_steps(ancestry, paths, others, causes, failures),
        ended=None if gone is None else _ending(session, key, gone, causes[gone], failures),
    )


def _causes_question(task_id: int, revisions: Collection[int]) -> Question:
    """What to ask for what is on record of some revisions; `_causes` reads the answer, which may have more of them."""
    first, last = min(revisions), max(revisions)
    if 2 * len(revisions) > last - first:
        return _CAUSES_OF_RANGE, {"task_id": task_id, "first": first, "last": last}
    return _CAUSES_OF_SOME, {"task_id": task_id, "revisions": ",".join(map(str, revisions))}


def _causes(found: Sequence[tuple[Any, ...]]) -> dict[int, _Fields]:
    """What is on record, revision by revision; the baseline is explained by nothing."""
    # Many revisions apply the same entries: each list is read once.
    known: dict[str | None, tuple[str, ...]] = {None: ()}
    causes: dict[int, _Fields] = {}
    for revision, round, cause, explanation, entry_ids, direction, model in found:
        if entry_ids not in known:
            known[entry_ids] = tuple(json.loads(entry_ids))
        causes[revision] = {
            "round": round,
            "cause": cause,
            "explanation": explanation or "",
            "entry_ids": known[entry_ids],
            "direction": direction or "",
            "model": model or "",
        }
    return causes


def _steps(
    ancestry: Ancestry,
    paths: Mapping[int, str],
    keys: Sequence[SnippetKey],
    causes: Mapping[int, _Fields],
    failures: Mapping[tuple[int, str, int], tuple[Failure, ...]],
) -> tuple[Step, ...]:
    """Snippets as steps: what made each, what it follows from, and which of that went in its favour."""
    ancestors, parents = ancestry.ancestors, ancestry.parents
    steps = []
    for key in keys:
        file_id, position_key = key
        _, _, content, _, scope, node_kind, revision, _, _ = ancestors[key]
        relatives = []
        before: tuple[str, ...] = ()
        for closeness, parent in parents.get(key, ()):
            parent_file, parent_key, parent_content, _, _, _, _, _, gone = ancestors[parent]
            fields: _Fields = {
                "path": paths[parent_file],
                "position_key": parent_key,
                "kind": _NAMES[closeness],
                "content": parent_content,
            }
            relatives.append(filled(Relative, fields))
            if gone == revision:
                before += (parent_content,)
        made = "inserted" if revision else "initial"
        step: _Fields = {
            "path": paths[file_id],
            "position_key": position_key,
            "content": content,
            "scope": scope or "",
            "node_kind": node_kind or "",
            "change": relatives[0].kind if relatives else made,
            "revision": revision,
            "parents": tuple(relatives),
            "before": before,
            # Failures of a later revision on the same row belong to its end, not to its making.
            "failures": failures.get((file_id, position_key, revision), ()),
            **causes[revision],
        }
        steps.append(filled(Step, step))
    return tuple(steps)


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

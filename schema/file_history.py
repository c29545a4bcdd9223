"""A file seen whole: every line with what made it (blame), and what each revision did to it (history).

Source: TraceCoder 5.1 and 5.2; the counting along the lineage is that of research/provenance.md ("Semantics the
papers leave open"): a modified line gets a key of its own, so how often it was revised is a walk over edges.
"""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from schema.causes import PLAINLY, Failure, asking, file_ever, locate
from schema.reading import revision_at


@dataclass(frozen=True, kw_only=True)
class BlamedLine:
    """One line of a file with what is to be known at a glance.

    Attributes:
        line: its number at that revision, from 1.
        revisions: how often its lineage was revised: the revisions, other than the baseline, that made it or
            one of the lines it follows from (0: initial code).
        last_revision: the revision that made it as it is; last_round: the round of that revision.
        benchmarks: names of the benchmarks whose failure did; empty for initial code.
        model: who proposed it; "" for initial code.
    """

    line: int
    position_key: str
    content: str
    revisions: int
    last_revision: int
    last_round: int
    benchmarks: tuple[str, ...]
    model: str


@dataclass(frozen=True, kw_only=True)
class Tombstone:
    """A line that a revision deleted: nothing follows from it.

    Attributes:
        benchmarks: names of the failed benchmarks on the tombstone: why the line had to go.
    """

    position_key: str
    content: str
    benchmarks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """What one revision did to one file.

    Attributes:
        created: (position key, content) of the new snippets, in file order.
        disabled: (position key, content) of the new tombstones, in file order.
        deleted: those of the new tombstones that have no successor, with the failures on them.
        failures: the failed benchmarks behind it, each once.
    """

    revision: int
    round: int
    cause: str
    created: tuple[tuple[str, str], ...]
    disabled: tuple[tuple[str, str], ...]
    deleted: tuple[Tombstone, ...]
    failures: tuple[Failure, ...]
    explanation: str
    entry_ids: tuple[str, ...]
    direction: str
    model: str


# The live lines of the newest revision have an index of their own; older states are found among all rows.
_NEWEST = "s.disabled_revision IS NULL"
_OLDER = "s.created_revision <= %(revision)s AND (s.disabled_revision IS NULL OR s.disabled_revision > %(revision)s)"


def visible(*, newest: bool) -> str:
    """The SQL condition on snippets `s` for the lines of `%(revision)s`."""
    return _NEWEST if newest else _OLDER


# Each line with all that it follows from. OFFSET 0 keeps the look-ups by index, as in `schema.lineage`: what they cost
# is then a matter of this file's history, and not of how many tasks there are.
_BLAME = """
WITH RECURSIVE shown AS (
    SELECT s.file_id, s.position_key, s.content, s.created_revision, s.created_round FROM snippets s
    WHERE s.file_id = %(file_id)s AND {visible}
),
ancestors (line_key, file_id, position_key) AS (
    SELECT position_key, file_id, position_key FROM shown WHERE created_revision > 0
    UNION
    SELECT a.line_key, l.parent_file_id, l.parent_key
    FROM ancestors a CROSS JOIN LATERAL (
        SELECT parent_file_id, parent_key FROM lineage
        WHERE child_file_id = a.file_id AND child_key = a.position_key OFFSET 0
    ) AS l
),
counts AS (
    SELECT a.line_key, count(DISTINCT s.created_revision) FILTER (WHERE s.created_revision > 0) AS revisions
    FROM ancestors a CROSS JOIN LATERAL (
        SELECT created_revision FROM snippets
        WHERE file_id = a.file_id AND position_key = a.position_key OFFSET 0
    ) AS s
    GROUP BY a.line_key
)
SELECT shown.position_key, shown.content, shown.created_revision, shown.created_round, counts.revisions
FROM shown LEFT JOIN counts ON counts.line_key = shown.position_key
ORDER BY shown.position_key
"""

_BENCHMARKS = """
SELECT x.id, s.position_key, b.name FROM snippets s
CROSS JOIN LATERAL (
    SELECT id, benchmark_id FROM snippet_failures f
    WHERE f.file_id = s.file_id AND f.position_key = s.position_key AND f.revision = s.created_revision OFFSET 0
) AS x
JOIN benchmarks b ON b.id = x.benchmark_id
WHERE s.file_id = %(file_id)s AND {visible} ORDER BY x.id
"""

_MODELS = "SELECT revision, model FROM snippet_explanations WHERE task_id = %(task_id)s"


def blame(session: Session, task_id: int, path: str, revision: int | None = None) -> tuple[BlamedLine, ...]:
    """Tell of every line of a file how often and by what it was revised.

    Args:
        session: an open transaction.
        task_id: whose file.
        path: the file, as the task knows it ("kernel/add.cpp").
        revision: None for the last one.

    Returns:
        The lines in order; none for an empty file.

    Raises:
        NotFound: no such task, revision or file.
    """
    at = locate(session, task_id, path, revision)
    columns = {"file_id": at.file_id, "revision": at.revision}
    condition = visible(newest=at.newest)
    with asking(
        session,
        PLAINLY,
        (_BLAME.format(visible=condition), columns),
        (_BENCHMARKS.format(visible=condition), columns),
        (_MODELS, {"task_id": task_id}),
    ) as (_, lines, failed, explained):
        pass
    benchmarks: dict[str, list[str]] = {}
    for _, key, name in failed.fetchall():
        benchmarks.setdefault(key, []).append(name)
    models = dict(explained.fetchall())
    return tuple(
        BlamedLine(
            line=number,
            position_key=key,
            content=content,
            revisions=revisions or 0,
            last_revision=made,
            last_round=round,
            benchmarks=tuple(benchmarks.get(key, ())),
            model=models.get(made, ""),
        )
        for number, (key, content, made, round, revisions) in enumerate(lines.fetchall(), 1)
    )


_HISTORY = """
SELECT s.position_key, s.content, s.created_revision, s.disabled_revision,
       s.disabled_revision IS NOT NULL AND NOT EXISTS (
           SELECT FROM lineage l JOIN snippets child
                  ON child.file_id = l.child_file_id AND child.position_key = l.child_key
           WHERE l.parent_file_id = s.file_id AND l.parent_key = s.position_key
             AND child.created_revision = s.disabled_revision
       ) AS deleted
FROM snippets s WHERE s.file_id = %(file_id)s ORDER BY s.position_key
"""

_REVISIONS = """
SELECT r.revision, r.round, r.cause, coalesce(e.explanation, '') AS explanation,
       coalesce(e.entry_ids, '{}') AS entry_ids, coalesce(e.direction, '') AS direction,
       coalesce(e.model, '') AS model
FROM revisions r LEFT JOIN snippet_explanations e ON e.task_id = r.task_id AND e.revision = r.revision
WHERE r.task_id = %(task_id)s ORDER BY r.revision
"""

_FILE_FAILURES = """
SELECT x.revision, b.name, x.failure_output, x.failure_blob FROM (
    SELECT DISTINCT ON (revision, benchmark_id) id, revision, benchmark_id, failure_output, failure_blob
    FROM snippet_failures WHERE file_id = %(file_id)s ORDER BY revision, benchmark_id, id
) x JOIN benchmarks b ON b.id = x.benchmark_id ORDER BY x.revision, x.id
"""

_ON_TOMBSTONES = """
SELECT x.position_key, b.name FROM snippets s
JOIN snippet_failures x ON x.file_id = s.file_id AND x.position_key = s.position_key
     AND x.revision = s.disabled_revision
JOIN benchmarks b ON b.id = x.benchmark_id
WHERE s.file_id = %(file_id)s AND s.disabled_revision IS NOT NULL ORDER BY x.id
"""


def history(session: Session, task_id: int, path: str, *, round: int | None = None) -> tuple[FileChange, ...]:
    """Tell what each revision did to a file, oldest first; revisions that left it alone are left out.

    Args:
        session: an open transaction.
        task_id: whose file.
        path: the file, as the task knows it; it may have vanished since.
        round: only the revisions of this round.

    Raises:
        NotFound: no such task, or it never had this file.
    """
    revision_at(session, task_id)
    columns = {"file_id": file_ever(session, task_id, path)}
    with asking(
        session,
        PLAINLY,
        (_ON_TOMBSTONES, columns),
        (_HISTORY, columns),
        (_FILE_FAILURES, columns),
        (_REVISIONS, {"task_id": task_id}),
    ) as (_, stones, lines, failed, revisions):
        pass
    on_tombstones: dict[str, list[str]] = {}
    for key, name in stones.fetchall():
        on_tombstones.setdefault(key, []).append(name)
    created: dict[int, list[tuple[str, str]]] = {}
    disabled: dict[int, list[tuple[str, str]]] = {}
    deleted: dict[int, list[Tombstone]] = {}
    for key, content, made, ended, gone in lines.fetchall():
        created.setdefault(made, []).append((key, content))
        if ended is not None:
            disabled.setdefault(ended, []).append((key, content))
        if gone:
            stone = Tombstone(position_key=key, content=content, benchmarks=tuple(on_tombstones.get(key, ())))
            deleted.setdefault(ended, []).append(stone)
    failures: dict[int, list[Failure]] = {}
    for revision, name, output, blob in failed.fetchall():
        failures.setdefault(revision, []).append(Failure(benchmark=name, output=output, blob=blob))
    return tuple(
        FileChange(
            revision=revision,
            round=made_in,
            cause=cause,
            created=tuple(created.get(revision, ())),
            disabled=tuple(disabled.get(revision, ())),
            deleted=tuple(deleted.get(revision, ())),
            failures=tuple(failures.get(revision, ())),
            explanation=explanation,
            entry_ids=tuple(entry_ids),
            direction=direction,
            model=model,
        )
        for revision, made_in, cause, explanation, entry_ids, direction, model in revisions.fetchall()
        if (revision in created or revision in disabled) and (round is None or made_in == round)
    )

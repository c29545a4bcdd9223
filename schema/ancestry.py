"""What a line follows from: its snippet, all those before it, and the edges between, as `schema.lineage` tells them.

A line's history is a walk over edges, and each step of it costs the server two look-ups. Most lines have a few steps.
A line that a repair came back to for hundreds of rounds has a thousand; but its tombstones stay in place, so they stand
next to each other, right before the line that took their place (rule D1). So after the first steps the rest is read as
a range of position keys, which costs an eighth of as many look-ups. Where the range has little of the line's history
(it came from elsewhere, or its neighbours changed far more often), the walk goes on as it began.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from schema.causes import Range, SnippetKey, as_columns, ask, asking
from schema.file_history import visible

# How a snippet can follow from another. Where it has several parents, its history is told along the first of these.
KINDS = ("restored", "modified", "moved", "merged", "split")
_CLOSENESS = {kind: closeness for closeness, kind in enumerate(KINDS)}

# So many steps are walked before a range is read, and so many rows a range has.
FIRST_STEPS = 48
RANGE_ROWS = 1_024
# A range with a smaller part of its rows that are ancestors of the line was not worth it.
LEAST_FOUND = 1 / 8

# One row an edge, with the snippet that it leads to, and one for the line itself. OFFSET 0 keeps each look-up by index:
# the planner can't know how long the walk is, and would rather read a table of all tasks whole.
_WALK = """
WITH RECURSIVE walk (child_file_id, child_key, kind, file_id, position_key, step) AS (
    SELECT CAST(NULL AS bigint), CAST(NULL AS text) COLLATE "C", CAST(NULL AS text), asked.file_id, asked.position_key,
           {step}
    FROM ({asked}) AS asked
    UNION
    SELECT w.file_id, w.position_key, l.kind, l.parent_file_id, l.parent_key, {next}
    FROM walk w CROSS JOIN LATERAL (
        SELECT kind, parent_file_id, parent_key FROM lineage
        WHERE child_file_id = w.file_id AND child_key = w.position_key OFFSET 0
    ) AS l
    WHERE {while}
)
SELECT w.child_file_id, w.child_key, w.kind, s.file_id, s.position_key, s.content, s.raw, s.scope, s.node_kind,
       s.created_revision, s.created_round, s.disabled_revision, w.step
FROM walk w CROSS JOIN LATERAL (
    SELECT * FROM snippets s WHERE s.file_id = w.file_id AND s.position_key = w.position_key OFFSET 0
) s
"""
_FIRST_STEPS = {"step": "0", "next": "w.step + 1", "while": "w.step < %(steps)s"}
# A step that is not counted, or a snippet with two ways to it would be told twice.
_ALL_STEPS = {"step": "0", "next": "0", "while": "true"}

_AT_LINE = (
    "SELECT s.file_id, s.position_key FROM snippets s "
    "WHERE s.file_id = (SELECT id FROM files WHERE task_id = %(task_id)s AND path = %(path)s) AND {visible} "
    "ORDER BY s.position_key OFFSET %(before)s LIMIT 1"
)
WALK_FROM_NEWEST_LINE = _WALK.format(asked=_AT_LINE.format(visible=visible(newest=True)), **_FIRST_STEPS)
WALK_FROM_LINE = _WALK.format(asked=_AT_LINE.format(visible=visible(newest=False)), **_FIRST_STEPS)
WALK_FROM_KEY = _WALK.format(
    asked="SELECT s.file_id, s.position_key FROM snippets s "
    "WHERE s.file_id = %(file_id)s AND s.position_key = %(position_key)s",
    **_FIRST_STEPS,
)
WALK_FROM_KEYS = _WALK.format(
    asked='SELECT u.file_id, u.key COLLATE "C" AS position_key FROM unnest('
    "CAST(string_to_array(%(file_ids)s, ',') AS bigint[]), string_to_array(%(keys)s, ',')) AS u (file_id, key)",
    **_ALL_STEPS,
)

# A file's rows from a position key downwards, and the edges that lead up from them.
_RANGE = """
SELECT file_id, position_key, content, raw, scope, node_kind, created_revision, created_round, disabled_revision
FROM snippets WHERE file_id = %(file_id)s AND position_key <= %(key)s
ORDER BY position_key DESC LIMIT %(rows)s
"""
_LOWEST = """
coalesce((SELECT position_key FROM snippets WHERE file_id = %(file_id)s AND position_key <= %(key)s
          ORDER BY position_key DESC OFFSET %(rows)s - 1 LIMIT 1), '')
"""
_EDGES = f"""
SELECT child_key, kind, parent_file_id, parent_key FROM lineage
WHERE child_file_id = %(file_id)s AND child_key <= %(key)s AND child_key >= {_LOWEST}
"""


class Ancestor(NamedTuple):
    """A snippet, as it is selected above.

    Attributes:
        scope, node_kind: None if they are not told yet (`schema.line_syntax`).
        gone: the revision that disabled it.
    """

    file_id: int
    position_key: str
    content: str
    raw: bytes | None
    scope: str | None
    node_kind: str | None
    revision: int
    round: int
    gone: int | None


class Ancestry:
    """The ancestors of a snippet.

    Args:
        session: an open transaction.
        walked: the rows of a walk of the first steps, from the snippet asked for.
        steps: how many were walked.
        range_rows: how many rows are read as a range at a time.

    Attributes:
        ancestors: all of them, and the snippet itself.
        parents: of each that has any: the closeness (place in KINDS) and the key of each parent, the closest first, in
            the order of the text within a kind.
        dense: where most of them are.
    """

    def __init__(
        self,
        session: Session,
        walked: Sequence[tuple[Any, ...]],
        *,
        steps: int = FIRST_STEPS,
        range_rows: int = RANGE_ROWS,
    ) -> None:
        self.ancestors: dict[SnippetKey, Ancestor] = {}
        self.parents: dict[SnippetKey, list[tuple[int, SnippetKey]]] = {}
        self.dense: list[Range] = []
        self._session = session
        self._steps, self._range_rows = steps, range_rows
        self._frontier: set[SnippetKey] = set()  # an edge leads to it, and where its own lead is not known
        self._explored: set[SnippetKey] = set()
        self._add_walk(walked)
        while self._frontier:
            if self._read_range(*max(self._frontier)) < LEAST_FOUND * range_rows and self._frontier:
                self._walk_on()
        for parents in self.parents.values():
            if len(parents) > 1:
                # Two ways to a snippet tell the edges behind it twice.
                parents[:] = sorted(set(parents))

    def _add_walk(self, walked: Sequence[tuple[Any, ...]]) -> None:
        for row in walked:
            here = (row[3], row[4])
            self.ancestors[here] = Ancestor._make(row[3:12])
            if row[1] is not None:
                self.parents.setdefault((row[0], row[1]), []).append((_closeness(row[2]), here))
            (self._explored if row[12] < self._steps else self._frontier).add(here)
        self._frontier -= self._explored

    def _read_range(self, file_id: int, high: str) -> int:
        """Read a file's rows from a key downwards, and follow the edges among them.

        Returns:
            How many ancestors they had.
        """
        asked = {"file_id": file_id, "key": high, "rows": self._range_rows}
        with asking(self._session, (_RANGE, asked), (_EDGES, asked)) as (found, leading):
            pass
        rows = found.fetchall()
        nearby = {(file_id, row[1]): row for row in rows}
        edges: dict[SnippetKey, list[tuple[int, SnippetKey]]] = {}
        for child_key, kind, parent_file, parent_key in leading.fetchall():
            edges.setdefault((file_id, child_key), []).append((_closeness(kind), (parent_file, parent_key)))
        reached = [key for key in self._frontier if key in nearby]
        self._frontier.difference_update(reached)
        count = 0
        while reached:
            here = reached.pop()
            if here in self._explored:
                continue
            self._explored.add(here)
            self.ancestors[here] = Ancestor._make(nearby[here])
            count += 1
            parents = edges.get(here)
            if parents is None:
                continue
            self.parents[here] = parents
            for _, parent in parents:
                if parent in nearby:
                    reached.append(parent)
                elif parent not in self._explored:
                    self._frontier.add(parent)
        if 2 * count > len(rows):
            self.dense.append(Range(file_id, rows[-1][1], rows[0][1]))
        return count

    def _walk_on(self) -> None:
        """Walk from where the reading stopped to the end."""
        keys = sorted(self._frontier)
        self._frontier.clear()
        self._add_walk(ask(self._session, WALK_FROM_KEYS, **as_columns(keys)))


def _closeness(kind: str) -> int:
    return _CLOSENESS.get(kind, len(KINDS))

"""Whose turn it is: what changes the lines of a task, changes them one after another, on the task's row (D11).

Both statements belong together: what the second one sees is as it is once the first one has the lock.
"""

from typing import Any

import psycopg

from schema.last_states import LastState, Stamp
from schema.pipeline import Pipeline

# A lock that foreign keys of other writers do not wait for.
_LOCK = b"SELECT id FROM tasks WHERE id = %(task_id)s FOR NO KEY UPDATE"

_LAST = b"""
SELECT r.revision, r.round, r.tree, r.xmin::text, r.created_at, b.data
FROM revisions r LEFT JOIN blobs b ON b.digest = r.tree AND r.tree IS DISTINCT FROM %(known)s::text
WHERE r.task_id = %(task_id)s ORDER BY r.revision DESC LIMIT 1
"""

Cursor = psycopg.Cursor[Any]


def take_turn(pipeline: Pipeline, task_id: int, known: LastState | None) -> tuple[Cursor, Cursor]:
    """Wait for the task's row, and ask for its last revision.

    Args:
        pipeline: of the transaction that has the turn until it ends.
        task_id: the task.
        known: the state whose manifest need not be sent.

    Returns:
        To be read once the pipeline was waited for: a row if there is such a task; and a row, for `stamp_of`, if it has
        a revision: number, round, tree, two parts of the stamp, and the manifest of another tree than the known one's.
    """
    locked = pipeline.send(_LOCK, {"task_id": task_id})
    return locked, pipeline.send(
        _LAST, {"task_id": task_id, "known": None if known is None else known.stamp.tree}
    )


def stamp_of(row: tuple[Any, ...]) -> Stamp:
    """What tells the last revision from others."""
    revision, _, tree, transaction, created_at, _ = row
    return Stamp(revision=revision, transaction=transaction, created_at=created_at, tree=tree)

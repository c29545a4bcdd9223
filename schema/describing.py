"""Writes down where the new lines of a task stand in their programs: behind the commit that brought them.

A revision is history once it is committed, and whoever works on waits for that. What its lines' functions are called
follows from it, can be told at any later time, and took a quarter of a writer's time. So
it is told afterwards, in a transaction of its own. If that never comes, nothing is lost: the rows stay NULL, readers
tell it themselves (`schema.line_syntax`), and the next `describe` catches up on the lines that are live.
"""

import json
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.languages import NOTHING, LineSyntax, language_of
from schema.last_states import NewLines, recall, remember
from schema.line_syntax import told
from schema.parsing import parse
from schema.pipeline import Pipeline
from schema.syntax import described_lines
from schema.turns import stamp_of, take_turn

# Each row is looked up by its key, as in `schema.revising`. A tombstone stays as it is.
_DESCRIBE = b"""
UPDATE snippets SET scope = found.scope, node_kind = found.kind
FROM (
    SELECT live.ctid AS place, u.scope, u.kind
    FROM json_to_recordset(%(rows)s::json) AS u (file_id bigint, key text, scope text, kind text)
    CROSS JOIN LATERAL (
        SELECT s.ctid FROM snippets s WHERE s.file_id = u.file_id AND s.position_key = u.key
          AND s.disabled_revision IS NULL AND s.node_kind IS NULL OFFSET 0
    ) AS live
) AS found
WHERE snippets.ctid = found.place
"""

_UNTOLD = text("""
SELECT f.path, s.file_id, s.position_key, s.created_revision FROM files f JOIN snippets s ON s.file_id = f.id
WHERE f.task_id = :task_id AND s.disabled_revision IS NULL AND s.node_kind IS NULL
""")


def describe(session: Session, task_id: int) -> int:
    """Describe the live lines of a task that are not described yet.

    Args:
        session: an open transaction; the caller commits. It waits for its turn on the task as a writer does.
        task_id: whose lines.

    Returns:
        How many lines are described now that were not.
    """
    address = str(session.get_bind().engine.url)
    known = recall(address, task_id)
    with Pipeline(session) as pipeline:
        _, stored = take_turn(pipeline, task_id, known)
        pipeline.wait()
        row = stored.fetchone()
        if row is None:
            return 0
        if known is not None and stamp_of(row) == known.stamp and known.undescribed is not None:
            found = _in_memory(known.undescribed)
        else:
            untold = session.connection().execute(_UNTOLD, {"task_id": task_id})
            found = told(session, [(one[1], one[2], one[3]) for one in untold if language_of(one[0])])
        rows = [
            {"file_id": file_id, "key": key, "scope": syntax.scope, "kind": syntax.node_kind}
            for (file_id, key), syntax in found.items()
        ]
        if not rows:
            return 0
        written = pipeline.send(_DESCRIBE, {"rows": json.dumps(rows, ensure_ascii=False)})
    if known is not None and stamp_of(row) == known.stamp:
        # Rolled back or not: what is not written then is told to readers all the same.
        remember(address, task_id, replace(known, undescribed=()))
    return written.rowcount


def _in_memory(waiting: Iterable[NewLines]) -> dict[tuple[int, str], LineSyntax]:
    """As `told`, from what this process wrote itself: a file is parsed by what changed in it."""
    found: dict[tuple[int, str], LineSyntax] = {}
    for new in waiting:
        parsed = parse(new.language, new.lines, new.digest, new.follows)
        described = described_lines(new.language, parsed, new.keys)
        found.update({(new.file_id, key): described.get(index, NOTHING) for index, key in new.keys.items()})
    return found

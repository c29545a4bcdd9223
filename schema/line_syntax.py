"""Where stored lines stand in their programs, told from the files that they came with.

What a line's function was called when the line was written is a matter of the file at that revision, and that is in
the store. `schema.describing` keeps the answer in the line's row, for those who read many; what it has not come to
yet, a reader is told by this.
"""

import json
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.languages import NOTHING, LineSyntax, language_of
from schema.texts import text_of

RowAt = tuple[int, str, int]  # file id, position key, the revision that made it

_KEYS = text("""
SELECT f.path, b.data, u.file_id, u.revision,
       (SELECT string_agg(s.position_key, ' ' ORDER BY s.position_key) FROM snippets s
        WHERE s.file_id = u.file_id AND s.created_revision <= u.revision
          AND (s.disabled_revision IS NULL OR s.disabled_revision > u.revision))
FROM json_to_recordset(CAST(:asked AS json)) AS u (file_id bigint, revision integer)
JOIN files f ON f.id = u.file_id
JOIN revisions r ON r.task_id = f.task_id AND r.revision = u.revision
JOIN blobs t ON t.digest = r.tree
JOIN blobs b ON b.digest = CAST(convert_from(t.data, 'UTF8') AS json) ->> f.path
ORDER BY u.file_id, u.revision
""")


def told(session: Session, rows: Iterable[RowAt]) -> dict[tuple[int, str], LineSyntax]:
    """Tell where rows stood in their programs when they were made.

    Args:
        session: an open transaction.
        rows: which ones.

    Returns:
        (file id, position key) → syntax, for each of them; `schema.syntax.NOTHING` where nobody can tell.
    """
    wanted: dict[tuple[int, int], set[str]] = {}
    found: dict[tuple[int, str], LineSyntax] = {}
    for file_id, key, revision in rows:
        wanted.setdefault((file_id, revision), set()).add(key)
        found[file_id, key] = NOTHING
    if not wanted:
        return found
    asked = [{"file_id": file_id, "revision": revision} for file_id, revision in wanted]
    # One file at a time: a line of a thousand rounds has as many.
    for path, data, file_id, revision, keys in session.connection().execute(
        _KEYS.execution_options(yield_per=16), {"asked": json.dumps(asked)}
    ):
        of_file = _of_file(path, bytes(data), (keys or "").split(" "), wanted[file_id, revision])
        found.update({(file_id, key): syntax for key, syntax in of_file.items()})
    return found


def completed(
    session: Session, rows: Iterable[tuple[str, RowAt, str | None, str | None]]
) -> dict[tuple[int, str], LineSyntax]:
    """The syntax of rows, read or told.

    Args:
        session: an open transaction.
        rows: path of the file, the row, and its columns scope and node_kind.
    """
    found: dict[tuple[int, str], LineSyntax] = {}
    missing: list[RowAt] = []
    for path, row, scope, kind in rows:
        if kind is None and language_of(path) is not None:
            missing.append(row)
        else:
            found[row[0], row[1]] = LineSyntax(scope=scope or "", node_kind=kind or "")
    return found | told(session, missing)


def _of_file(path: str, data: bytes, keys: Collection[str], wanted: Collection[str]) -> dict[str, LineSyntax]:
    language = language_of(path)
    if language is None:
        return {}
    # Seldom needed by who reads, and it loads two parsers and two more libraries.
    from schema.diff import split_lines
    from schema.parsing import parse
    from schema.syntax import described_lines

    numbers: Mapping[int, str] = {number: key for number, key in enumerate(keys) if key in wanted}
    described = described_lines(language, parse(language, split_lines(text_of(data))), numbers)
    return {numbers[number]: syntax for number, syntax in described.items()}

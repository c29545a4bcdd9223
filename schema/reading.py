"""What the snippet store holds: the files of a task at any revision, line by line or whole.

`schema.snippets` writes it. Texts are those of `schema.texts`: what is read is what was written, byte for byte.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schema.blobs import get_blob
from schema.errors import NotFound
from schema.line_syntax import completed
from schema.tables import File, Revision, Snippet
from schema.texts import text_of


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSnippet:
    """One line at one revision.

    Attributes:
        line: its number in its file at that revision, from 1.
        content: the line with its terminator, to be shown: U+FFFD stands for what text can't hold.
        raw: the exact bytes of a line that `content` can't hold; None where it does.
    """

    file_id: int
    path: str
    position_key: str
    line: int
    content: str
    scope: str
    node_kind: str
    created_revision: int
    created_round: int
    raw: bytes | None = None

    @property
    def exact(self) -> str:
        """The line byte for byte, as `schema.texts` has it."""
        return exact(self.content, self.raw)


def read_files(
    session: Session, task_id: int, *, revision: int | None = None, round: int | None = None
) -> dict[str, str]:
    """Put all files of a task together from their snippets, byte for byte.

    Args:
        session: an open transaction.
        task_id: whose files.
        revision: at which revision; None for the last one (of `round`, if given).
        round: the last revision up to this round.

    Returns:
        path → text as `schema.texts` has it, by path; empty files included.

    Raises:
        NotFound: no such task, revision or round.
    """
    row = revision_at(session, task_id, revision=revision, round=round)
    paths = manifest_of(session, row.tree)
    lines: dict[str, list[str]] = {path: [] for path in sorted(paths)}
    for path, content, raw in session.execute(
        select(File.path, Snippet.content, Snippet.raw)
        .join(Snippet, Snippet.file_id == File.id)
        .where(File.task_id == task_id, *_visible(row.revision))
        .order_by(File.path, Snippet.position_key)
    ):
        lines[path].append(exact(content, raw))
    return {path: "".join(parts) for path, parts in lines.items()}


def snippets_at(
    session: Session,
    task_id: int,
    *,
    path: str | None = None,
    revision: int | None = None,
    round: int | None = None,
    line: int | None = None,
) -> tuple[StoredSnippet, ...]:
    """The snippets that are visible at a revision, by path and position.

    Args:
        session: an open transaction.
        task_id: whose files.
        path: of this file alone.
        revision: at which revision; None for the last one (of `round`, if given).
        round: the last revision up to this round.
        line: of `path`, this line alone, counted from 1; nothing if there is no such line.

    Raises:
        NotFound: no such task, revision, round or file.
    """
    row = revision_at(session, task_id, revision=revision, round=round)
    if path is not None and path not in manifest_of(session, row.tree):
        raise NotFound(
            f"revision {row.revision} of task {task_id} has no such file",
            where=path,
            mend=f"its files: {', '.join(sorted(manifest_of(session, row.tree))) or 'none'}",
        )
    query = (
        select(
            Snippet.file_id,
            File.path,
            Snippet.position_key,
            func.row_number().over(partition_by=Snippet.file_id, order_by=Snippet.position_key).label("line"),
            Snippet.content,
            Snippet.raw,
            Snippet.scope,
            Snippet.node_kind,
            Snippet.created_revision,
            Snippet.created_round,
        )
        .join(File, Snippet.file_id == File.id)
        .where(File.task_id == task_id, *_visible(row.revision))
        .order_by(File.path, Snippet.position_key)
    )
    if path is not None:
        query = query.where(File.path == path)
        if line is not None:
            query = query.offset(line - 1).limit(1) if line > 0 else query.limit(0)
    rows = [dict(found) for found in session.execute(query).mappings()]
    asked = (
        (
            row["path"],
            (row["file_id"], row["position_key"], row["created_revision"]),
            row["scope"],
            row["node_kind"],
        )
        for row in rows
    )
    syntax = completed(session, asked)
    for one in rows:
        told = syntax[one["file_id"], one["position_key"]]
        one["scope"], one["node_kind"] = told.scope, told.node_kind
    return tuple(StoredSnippet(**one) for one in rows)


def revision_at(
    session: Session, task_id: int, *, revision: int | None = None, round: int | None = None
) -> Revision:
    """The revision asked for: a number, the last one up to a round, or the last one of all.

    Raises:
        NotFound: there is none.
    """
    query = select(Revision).where(Revision.task_id == task_id)
    if revision is not None:
        query = query.where(Revision.revision == revision)
    if round is not None:
        query = query.where(Revision.round <= round)
    found = session.execute(query.order_by(Revision.revision.desc()).limit(1)).scalar_one_or_none()
    if found is None:
        asked = "any revision" if revision is None else f"revision {revision}"
        raise NotFound(
            f"task {task_id} does not have {asked}" + ("" if round is None else f" up to round {round}"),
            mend="see `opmend show` for its rounds",
        )
    return found


def _visible(revision: int) -> tuple[Any, Any]:
    return (
        Snippet.created_revision <= revision,
        Snippet.disabled_revision.is_(None) | (Snippet.disabled_revision > revision),
    )


def exact(content: str, raw: bytes | None) -> str:
    """A line byte for byte, from its two columns."""
    return content if raw is None else text_of(raw)


def manifest_of(session: Session, tree: str) -> dict[str, str]:
    """The files of a tree: path → digest."""
    manifest: dict[str, str] = json.loads(get_blob(session, tree))
    return manifest

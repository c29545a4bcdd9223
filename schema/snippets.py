"""The snippet store: every line of every revision of a task, and the failure behind each change.

A revision is written from the full new text of all files. Unchanged lines keep their rows and keys; changed
ones become tombstones and get successors at fresh keys, with lineage edges between them and a failure row for
each failed benchmark (TraceCoder 4.4 and 5, repaired as research/provenance.md says). What is read back is what
was written, byte for byte: texts are those of `schema.texts`, so bytes that are no UTF-8 and NUL come through, and a
binary file is a file with odd lines. docs/store.md tells what becomes of every odd input.

Where a line stands in its program is told behind the commit (`schema.describing`): it can be told at any time, and no
commit has to wait for a parser.

The caller owns the transaction. Writers of one task take turns on the task's row, because two writers in one
gap would choose the same keys (D11).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.blobs import next_tree, send_blobs
from schema.diff import Change, Difference, Operation, align, split_lines
from schema.errors import BadInput, NotFound
from schema.last_states import MOST_UNDESCRIBED, LastState, LiveRows, recall, remember
from schema.pipeline import Pipeline
from schema.reading import StoredSnippet, exact, manifest_of, read_files, revision_at, snippets_at
from schema.redaction import redact, storable_message
from schema.renames import difference_of_files
from schema.revising import FAILURE_CHARACTERS, FailureCause, Revising, RevisionRow, SnippetKey
from schema.texts import bytes_of, is_showable, settled, shown, text_of
from schema.turns import stamp_of, take_turn

__all__ = [
    "FAILURE_CHARACTERS",
    "FailureCause",
    "StoredSnippet",
    "read_files",
    "redact",
    "revision_at",
    "snippets_at",
    "write_revision",
]


_LIVE = text("""
SELECT g.path, f.id, b.data,
       (SELECT string_agg(s.position_key, ' ' ORDER BY s.position_key) FROM snippets s
        WHERE s.file_id = f.id AND s.disabled_revision IS NULL)
FROM json_to_recordset(CAST(:asked AS json)) AS g (path text, digest text)
LEFT JOIN files f ON f.task_id = :task_id AND f.path = g.path
LEFT JOIN blobs b ON b.digest = g.digest
""")

# Only who holds the task's row gets here: no other writer makes the same file.
_NEW_FILES = text("""
INSERT INTO files (task_id, path) SELECT :task_id, json_array_elements_text(CAST(:paths AS json)) RETURNING path, id
""")


def write_revision(
    session: Session,
    *,
    task_id: int,
    round: int,
    files: Mapping[str, str],
    cause: str,
    failures: Sequence[FailureCause] = (),
    explanation: str = "",
    entry_ids: Sequence[str] = (),
    direction: str = "",
    model: str = "",
    restores: int | None = None,
) -> int:
    """Store the next state of all files of a task.

    Args:
        session: an open transaction; the caller commits.
        task_id: whose files.
        round: the repair attempt it came from; 0 for the baseline.
        files: path → whole text, of every file the state has.
        cause: initial, rewrite, session or restore.
        failures: the failed benchmarks that made it necessary, one row a changed snippet and benchmark.
        explanation: the root cause in words.
        entry_ids: entries of the knowledge base that were applied.
        direction: fix type + target.
        model: the model's name, "kb" for a zero-token rewrite, "" for the baseline.
        restores: the revision whose files come back; their lines get lineage to the lines they restore.

    Returns:
        The number of the new revision: 0 for the first, then one more each time, also if nothing changed.

    Raises:
        BadInput: a path leads out of the workspace or is no UTF-8, a file lies in another file, a text holds a
            surrogate that stands for no byte, or the round is before that of the last revision.
        NotFound: no such task, or no such revision to restore.
        PositionKeyError: a gap of a file is used up.
    """
    files = _checked(files)
    address = str(session.get_bind().engine.url)
    known = recall(address, task_id)
    with Pipeline(session) as pipeline:
        locked, stored = take_turn(pipeline, task_id, known)
        step = None
        if known is not None and round >= known.round:
            # While the server takes the lock and stores the blobs; in vain if its last revision is another one.
            step = _Step(files, known.manifest)
            send_blobs(pipeline, step.blobs)
            step.look(known.files)
        pipeline.wait()
        if locked.fetchone() is None:
            raise NotFound(f"there is no task {task_id}", mend="see `opmend status` for the tasks of a run")
        last = _last(session, pipeline, stored.fetchone(), known)
        revision = 0 if last is None else last.stamp.revision + 1
        if last is not None and round < last.round:
            raise BadInput(
                f"round {round} comes after round {last.round}",
                where=f"task {task_id}, revision {revision}",
                mend="rounds only go on",
            )
        own = last is not None and known is not None and last.stamp == known.stamp
        if step is None or not own:
            step = _Step(files, {} if last is None else last.manifest)
            send_blobs(pipeline, step.blobs)
        files_known = last.files if last is not None else {}
        missing = [path for path in step.changed if path not in files_known]
        if missing:
            pipeline.wait()
            files_known = {**files_known, **_live(session, task_id, missing, step.before)}
        found = step.look(files_known)
        assert found is not None
        restored: dict[tuple[str, int], SnippetKey] = {}
        appeared = {path: files_known[path].file_id for path in step.changed if path not in step.before}
        if appeared or restores is not None:
            pipeline.wait()
            restored = _returned(session, appeared, found.operations, files)
            if step.changed:
                restored |= _restored(session, task_id, restores, files)
        row = RevisionRow(
            task_id=task_id,
            revision=revision,
            round=round,
            cause=cause,
            tree=step.tree,
            explanation=storable_message(explanation),
            entry_ids=[shown(entry) for entry in entry_ids],
            direction=storable_message(direction),
            model=shown(model),
        )
        live = {path: files_known[path] for path in step.changed}
        revising = Revising(session, pipeline, row, step.lines, (step.before, step.after), live, own=own)
        stamp, after = revising.write(found, failures, restored)
        undescribed = revising.new_lines(found.stretches)
        # Of what others wrote last, this process does not know whether it is described.
        waiting = () if last is None else last.undescribed
        if waiting is not None:
            waiting = (*waiting, *undescribed)
            if len(waiting) > MOST_UNDESCRIBED:
                waiting = None
    remember(
        address,
        task_id,
        LastState(
            stamp=stamp,
            round=round,
            manifest=step.after,
            files={**files_known, **after},
            undescribed=waiting,
        ),
    )
    return revision


def _checked(files: Mapping[str, str]) -> dict[str, str]:
    """The files as they are stored: one text for the same bytes.

    Raises:
        BadInput: as `write_revision`.
    """
    found = {}
    for path, content in files.items():
        if not path or not is_showable(path) or path.startswith("/") or ".." in path.split("/"):
            raise BadInput(f"{path!r} is no path inside a workspace", mend="give relative paths in UTF-8")
        folder = path.rpartition("/")[0]
        while folder:
            if folder in files:
                raise BadInput(
                    "a file lies in another file", where=path, mend=f"rename it, or remove {folder}"
                )
            folder = folder.rpartition("/")[0]
        bytes_of(content, path)
        found[path] = settled(content)
    return found


class _Step:
    """From the last state of a task's files to the next one.

    Args:
        files: path → text, of the next state.
        before: path → digest, of the last one.
    """

    def __init__(self, files: Mapping[str, str], before: Mapping[str, str]) -> None:
        self.before = before
        self.tree, self.after, self.blobs = next_tree(files, before)
        self.changed = sorted(
            path for path in {*before, *self.after} if before.get(path) != self.after.get(path)
        )
        self.lines = {path: split_lines(files[path]) for path in self.changed if path in files}
        self._found: Difference | None = None

    def look(self, live: Mapping[str, LiveRows]) -> Difference | None:
        """What became of the lines of the changed files, if the rows of all of them before are given."""
        if self._found is None and all(path in live for path in self.changed):
            self._found = difference_of_files({path: live[path].lines for path in self.changed}, self.lines)
        return self._found


def _last(session: Session, pipeline: Pipeline, row: Any, known: LastState | None) -> LastState | None:
    """The last state of a task: the known one, if `row` (as `_LAST` selects it) says so."""
    if row is None:
        return None
    _, round, tree, _, _, data = row
    stamp = stamp_of(row)
    if known is not None and known.stamp == stamp:
        return known
    if data is not None:
        manifest = json.loads(data)
    elif known is not None and known.stamp.tree == tree:
        manifest = known.manifest  # a tree is its manifest, whichever revision has it
    else:
        pipeline.wait()
        manifest = manifest_of(session, tree)
    return LastState(stamp=stamp, round=round, manifest=manifest)


def _live(
    session: Session, task_id: int, paths: Sequence[str], manifest: Mapping[str, str]
) -> dict[str, LiveRows]:
    """The visible rows of files: keys from the rows, lines from the blobs of the last revision, which are one each."""
    asked = [{"path": path, "digest": manifest.get(path)} for path in paths]
    rows = session.connection().execute(_LIVE, {"task_id": task_id, "asked": json.dumps(asked)}).all()
    made: dict[str, int] = {}
    if any(file_id is None for _, file_id, _, _ in rows):
        new = json.dumps([path for path, file_id, _, _ in rows if file_id is None])
        found = session.execute(_NEW_FILES, {"task_id": task_id, "paths": new}).all()
        made = {row.path: row.id for row in found}
    live = {}
    for path, file_id, data, keys in rows:
        known = LiveRows(
            file_id=made[path] if file_id is None else file_id,
            keys=keys.split(" ") if keys else [],
            lines=[] if data is None else split_lines(text_of(bytes(data))),
            every=[] if file_id is None else None,
        )
        if len(known.keys) != len(known.lines):
            raise NotFound(
                f"{len(known.lines)} lines of the last revision have {len(known.keys)} live snippets",
                where=path,
                mend="the store was changed behind opmend: see `opmend verify`, restore a backup",
            )
        live[path] = known
    return live


def _restored(
    session: Session, task_id: int, restores: int | None, files: Mapping[str, str]
) -> dict[tuple[str, int], SnippetKey]:
    """Place of each line of a restored file → the snippet it restores."""
    if restores is None:
        return {}
    by_path: dict[str, list[StoredSnippet]] = {}
    for snippet in snippets_at(session, task_id, revision=restores):
        by_path.setdefault(snippet.path, []).append(snippet)
    return {
        (path, index): (snippet.file_id, snippet.position_key)
        for path, snippets in by_path.items()
        # A file that differs from the state it claims to restore restores nothing.
        if files.get(path) == "".join(snippet.exact for snippet in snippets)
        for index, snippet in enumerate(snippets)
    }


def _returned(
    session: Session, appeared: Mapping[str, int], operations: Sequence[Operation], files: Mapping[str, str]
) -> dict[tuple[str, int], SnippetKey]:
    """Place of each line of a file that was gone and is back → the tombstone that it comes back from.

    Only lines that come from nowhere else count; a file that was renamed away and back has its moves.
    """
    if not appeared:
        return {}
    rows = session.execute(
        text(
            "SELECT s.file_id, s.position_key, s.content, s.raw FROM snippets s "
            "WHERE s.file_id = ANY(CAST(:file_ids AS bigint[])) AND s.disabled_revision = "
            "(SELECT max(m.disabled_revision) FROM snippets m WHERE m.file_id = s.file_id) "
            "ORDER BY s.file_id, s.position_key"
        ),
        {"file_ids": sorted(appeared.values())},
    ).all()
    if not rows:
        return {}
    paths = {file_id: path for path, file_id in appeared.items()}
    keys: dict[str, list[SnippetKey]] = {}
    lines: dict[str, list[str]] = {}
    for file_id, key, content, raw in rows:
        keys.setdefault(paths[file_id], []).append((file_id, key))
        lines.setdefault(paths[file_id], []).append(exact(content, raw))
    inserted = {
        (operation.new.path, operation.new.index)
        for operation in operations
        if operation.new is not None and operation.change is Change.INSERTED
    }
    return {
        (operation.new.path, operation.new.index): keys[operation.old.path][operation.old.index]
        for operation in align(lines, {path: split_lines(files[path]) for path in lines})
        if operation.change is Change.EQUAL and operation.old is not None and operation.new is not None
        if (operation.new.path, operation.new.index) in inserted
    }

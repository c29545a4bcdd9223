"""The snippet store: every line of every revision of a task, and the failure behind each change.

A revision is written from the full new text of all files. Unchanged lines keep their rows and keys; changed
ones become tombstones and get successors at fresh keys, with lineage edges between them and a failure row for
each failed benchmark (TraceCoder 4.4 and 5, repaired as research/provenance.md says). Files are not decoded
or normalised: what is read back is what was written, byte for byte.

The caller owns the transaction. Writers of one task take turns on the task's row, because two writers in one
gap would choose the same keys (D11).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from schema.blobs import get_blob, put_blob, put_tree
from schema.diff import Change, Operation, Place, align, split_lines
from schema.errors import BadInput, NotFound
from schema.position_keys import keys_between
from schema.syntax import LineSyntax, syntax_of_lines
from schema.tables import Benchmark, File, Revision, Snippet, SnippetExplanation, Task
from schema.tables.base import Json

# A row's failure text is for people; a whole compiler log goes to a blob, once.
FAILURE_CHARACTERS = 1_000

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )[\w.~+/=-]{12,}"
    r"|(?:api[_-]?key|secret|token|passw(?:or)?d)(?:[\"']?\s*[=:]\s*[\"']?)(?=\S*\d)[^\s\"',;]{12,})",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class FailureCause:
    """A failed benchmark that made a revision necessary.

    Attributes:
        benchmark_id: row of the benchmark (`benchmark_id` below makes one).
        output: the failure in the benchmark's words: the deviation, expected and got, or the log.
    """

    benchmark_id: int
    output: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSnippet:
    """One line at one revision.

    Attributes:
        line: its number in its file at that revision, from 1.
        content: the line with its terminator.
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


_Key = tuple[int, str]  # file id, position key


@dataclass(frozen=True, kw_only=True)
class _Live:
    """The visible rows of a file, in order."""

    file_id: int
    keys: list[str]
    lines: list[str]


def redact(message: str) -> str:
    """Blot out what looks like a credential; a failure text may quote an environment or an address."""
    return _SECRETS.sub("[redacted]", message)


def _storable(message: str) -> str:
    """A message from outside as Postgres text can carry it: redacted, no NUL, no lone surrogates."""
    return redact(message.replace("\0", "\ufffd").encode("utf-8", "replace").decode())


def benchmark_id(session: Session, *, task_id: int, name: str, kind: str, spec: Json) -> int:
    """Find or make the benchmark of this name; its first spec stays.

    Args:
        task_id: the task it checks.
        name: unique in the task, for people ("float16[128,128] dim=1", "BUILD").
        kind: case, command or build.
        spec: what is needed to run it again.
    """
    session.execute(
        text(
            "INSERT INTO benchmarks (task_id, name, kind, spec) "
            "VALUES (:task_id, :name, :kind, CAST(:spec AS jsonb)) ON CONFLICT (task_id, name) DO NOTHING"
        ),
        {"task_id": task_id, "name": name, "kind": kind, "spec": json.dumps(spec)},
    )
    return session.execute(
        select(Benchmark.id).where(Benchmark.task_id == task_id, Benchmark.name == name)
    ).scalar_one()


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
        BadInput: a file holds NUL or a lone surrogate, which Postgres text can't carry.
        NotFound: no such task, or no such revision to restore.
        PositionKeyError: a gap of a file is used up.
    """
    _check(files)
    _lock(session, task_id)
    last = session.execute(
        select(Revision.revision, Revision.tree)
        .where(Revision.task_id == task_id)
        .order_by(Revision.revision.desc())
        .limit(1)
    ).one_or_none()
    revision = 0 if last is None else last.revision + 1
    before = {} if last is None else _manifest(session, last.tree)
    tree = put_tree(session, files)
    session.add(Revision(task_id=task_id, revision=revision, round=round, cause=cause, tree=tree))
    session.flush()
    if explanation or entry_ids or direction or model:
        session.add(
            SnippetExplanation(
                task_id=task_id,
                revision=revision,
                round=round,
                explanation=_storable(explanation),
                entry_ids=list(entry_ids),
                direction=direction,
                model=model,
            )
        )
        session.flush()
    after = _manifest(session, tree)
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    if not changed:
        return revision
    live = _live(session, _file_ids(session, task_id, changed))
    operations = align(
        {path: live[path].lines for path in changed},
        {path: split_lines(files[path]) for path in changed if path in files},
    )
    change = _Revising(
        session, task_id, revision, round, {path: files.get(path, "") for path in changed}, live
    )
    change.write(operations, failures, _restored(session, task_id, restores, files))
    return revision


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
        path → text, by path; empty files included.

    Raises:
        NotFound: no such task, revision or round.
    """
    row = revision_at(session, task_id, revision=revision, round=round)
    paths = _manifest(session, row.tree)
    lines: dict[str, list[str]] = {path: [] for path in sorted(paths)}
    for path, content in session.execute(
        select(File.path, Snippet.content)
        .join(Snippet, Snippet.file_id == File.id)
        .where(File.task_id == task_id, *_visible(row.revision))
        .order_by(File.path, Snippet.position_key)
    ):
        lines[path].append(content)
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
    if path is not None and path not in _manifest(session, row.tree):
        raise NotFound(
            f"revision {row.revision} of task {task_id} has no such file",
            where=path,
            mend=f"its files: {', '.join(sorted(_manifest(session, row.tree))) or 'none'}",
        )
    query = (
        select(
            Snippet.file_id,
            File.path,
            Snippet.position_key,
            func.row_number().over(partition_by=Snippet.file_id, order_by=Snippet.position_key).label("line"),
            Snippet.content,
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
    return tuple(StoredSnippet(**found) for found in session.execute(query).mappings())


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


def _check(files: Mapping[str, str]) -> None:
    for path, content in files.items():
        if not path or "\0" in path or path.startswith("/") or ".." in path.split("/"):
            raise BadInput(f"{path!r} is no path inside a workspace", mend="give relative paths")
        if "\0" in content:
            line = content[: content.index("\0")].count("\n") + 1
            raise BadInput(
                "the file holds a NUL byte", where=f"{path}:{line}", mend="only text files can be repaired"
            )
        try:
            content.encode()
        except UnicodeEncodeError as error:
            line = content[: error.start].count("\n") + 1
            raise BadInput(
                "the file is not valid UTF-8", where=f"{path}:{line}", mend="save the file as UTF-8"
            ) from error


def _lock(session: Session, task_id: int) -> None:
    """Take the task's row; a lock that foreign keys of other writers do not wait for."""
    locked = session.execute(select(Task.id).where(Task.id == task_id).with_for_update(key_share=True))
    if locked.scalar_one_or_none() is None:
        raise NotFound(f"there is no task {task_id}", mend="see `opmend status` for the tasks of a run")


def _manifest(session: Session, tree: str) -> dict[str, str]:
    manifest: dict[str, str] = json.loads(get_blob(session, tree))
    return manifest


def _file_ids(session: Session, task_id: int, paths: list[str]) -> dict[str, int]:
    session.execute(
        text(
            "INSERT INTO files (task_id, path) SELECT :task_id, unnest(CAST(:paths AS text[])) "
            "ON CONFLICT (task_id, path) DO NOTHING"
        ),
        {"task_id": task_id, "paths": paths},
    )
    rows = session.execute(select(File.path, File.id).where(File.task_id == task_id, File.path.in_(paths)))
    return {row.path: row.id for row in rows}


def _live(session: Session, file_ids: dict[str, int]) -> dict[str, _Live]:
    live = {path: _Live(file_id=file_id, keys=[], lines=[]) for path, file_id in file_ids.items()}
    paths = {file_id: path for path, file_id in file_ids.items()}
    for file_id, key, content in session.execute(
        select(Snippet.file_id, Snippet.position_key, Snippet.content)
        .where(Snippet.file_id.in_(paths), Snippet.disabled_revision.is_(None))
        .order_by(Snippet.file_id, Snippet.position_key)
    ):
        live[paths[file_id]].keys.append(key)
        live[paths[file_id]].lines.append(content)
    return live


def _restored(
    session: Session, task_id: int, restores: int | None, files: Mapping[str, str]
) -> dict[tuple[str, int], _Key]:
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
        if files.get(path) == "".join(snippet.content for snippet in snippets)
        for index, snippet in enumerate(snippets)
    }


class _Revising:
    """One revision being written: fresh keys, tombstones, edges and failures of the changed files."""

    def __init__(
        self,
        session: Session,
        task_id: int,
        revision: int,
        round: int,
        texts: Mapping[str, str],
        live: Mapping[str, _Live],
    ) -> None:
        self.session = session
        self.task_id, self.revision, self.round = task_id, revision, round
        self.live = live
        self.texts = texts
        self.fresh: dict[tuple[str, int], _Key] = {}  # new place → its row

    def write(
        self,
        operations: Sequence[Operation],
        failures: Sequence[FailureCause],
        restored: Mapping[tuple[str, int], _Key],
    ) -> None:
        self._choose_keys(operations)
        self._insert_snippets()
        gone = [self._old(operation.old) for operation in operations if _goes(operation) and operation.old]
        self._disable(gone)
        edges: dict[tuple[_Key, _Key], str] = {}
        changed: list[_Key] = []
        for operation in operations:
            if operation.change is Change.EQUAL:
                continue
            if operation.new is None:
                assert operation.old is not None
                changed.append(self._old(operation.old))
                continue
            place = (operation.new.path, operation.new.index)
            child = self.fresh[place]
            changed.append(child)
            for part in operation.merged:
                edges[child, self._old(part)] = "merged"
            if operation.split is not None:
                edges[child, self._old(operation.split)] = "split"
            if operation.old is not None:
                edges[child, self._old(operation.old)] = str(operation.change)
            if place in restored:
                edges[child, restored[place]] = "restored"
        self._insert_edges(edges)
        self._insert_failures(changed, failures)

    def _old(self, place: Place) -> _Key:
        rows = self.live[place.path]
        return rows.file_id, rows.keys[place.index]

    def _choose_keys(self, operations: Sequence[Operation]) -> None:
        """Give each run of new lines keys right after the tombstones before the next kept line (D1)."""
        gaps: list[tuple[str, list[int], str | None]] = []
        previous: tuple[str, int] | None = None
        for operation in reversed(operations):
            # Operations come by path and index, so backwards the next kept line is known.
            if operation.new is None:
                continue
            path, index = operation.new.path, operation.new.index
            if operation.change is Change.EQUAL:
                assert operation.old is not None
                gaps.append((path, [], self.live[path].keys[operation.old.index]))
            else:
                if previous is None or previous[0] != path:
                    gaps.append((path, [], None))
                gaps[-1][1].append(index)
            previous = (path, index)
        gaps = [gap for gap in gaps if gap[1]]
        for (path, indices, hi), lo in zip(gaps, self._predecessors(gaps), strict=True):
            indices.reverse()
            keys = keys_between(lo, hi, len(indices))
            for index, key in zip(indices, keys, strict=True):
                self.fresh[path, index] = (self.live[path].file_id, key)

    def _predecessors(self, gaps: Sequence[tuple[str, list[int], str | None]]) -> list[str | None]:
        """The last row before each gap's end, tombstones included; None at the start of a file."""
        rows = self.session.execute(
            text(
                "SELECT (SELECT s.position_key FROM snippets s WHERE s.file_id = g.file_id "
                "        AND (g.hi IS NULL OR s.position_key < g.hi) ORDER BY s.position_key DESC LIMIT 1) "
                "FROM unnest(CAST(:file_ids AS bigint[]), CAST(:his AS text[])) WITH ORDINALITY "
                "     AS g (file_id, hi, number) ORDER BY g.number"
            ),
            {
                "file_ids": [self.live[path].file_id for path, _, _ in gaps],
                "his": [hi for _, _, hi in gaps],
            },
        )
        return list(rows.scalars())

    def _insert_snippets(self) -> None:
        if not self.fresh:
            return
        lines = {path: split_lines(content) for path, content in self.texts.items()}
        rows: dict[str, set[int]] = {}
        for path, index in self.fresh:
            rows.setdefault(path, set()).add(index)
        syntax: dict[str, list[LineSyntax]] = {
            path: syntax_of_lines(path, self.texts[path], wanted) for path, wanted in rows.items()
        }
        self.session.execute(
            text(
                "INSERT INTO snippets (file_id, position_key, content, created_revision, created_round, "
                "                      scope, node_kind) "
                "SELECT file_id, position_key, content, :revision, :round, scope, node_kind FROM unnest("
                "CAST(:file_ids AS bigint[]), CAST(:keys AS text[]), CAST(:contents AS text[]), "
                "CAST(:scopes AS text[]), CAST(:kinds AS text[])) "
                "AS u (file_id, position_key, content, scope, node_kind)"
            ),
            {
                "revision": self.revision,
                "round": self.round,
                "file_ids": [file_id for file_id, _ in self.fresh.values()],
                "keys": [key for _, key in self.fresh.values()],
                "contents": [lines[path][index] for path, index in self.fresh],
                "scopes": [syntax[path][index].scope for path, index in self.fresh],
                "kinds": [syntax[path][index].node_kind for path, index in self.fresh],
            },
        )

    def _disable(self, gone: Sequence[_Key]) -> None:
        if gone:
            self.session.execute(
                text(
                    "UPDATE snippets s SET disabled_revision = :revision, disabled_round = :round "
                    "FROM unnest(CAST(:file_ids AS bigint[]), CAST(:keys AS text[])) AS u (file_id, key) "
                    "WHERE s.file_id = u.file_id AND s.position_key = u.key"
                ),
                {"revision": self.revision, "round": self.round, **_columns(gone)},
            )

    def _insert_edges(self, edges: Mapping[tuple[_Key, _Key], str]) -> None:
        if edges:
            self.session.execute(
                text(
                    "INSERT INTO lineage (child_file_id, child_key, parent_file_id, parent_key, kind) "
                    "SELECT * FROM unnest(CAST(:file_ids AS bigint[]), CAST(:keys AS text[]), "
                    "CAST(:parent_ids AS bigint[]), CAST(:parent_keys AS text[]), CAST(:kinds AS text[]))"
                ),
                {
                    **_columns([child for child, _ in edges]),
                    "parent_ids": [parent[0] for _, parent in edges],
                    "parent_keys": [parent[1] for _, parent in edges],
                    "kinds": list(edges.values()),
                },
            )

    def _insert_failures(self, changed: Sequence[_Key], failures: Sequence[FailureCause]) -> None:
        if not changed or not failures:
            return
        outputs: dict[int, str] = {}
        for failure in failures:
            output = _storable(failure.output)
            known = outputs.get(failure.benchmark_id)
            outputs[failure.benchmark_id] = output if known is None else f"{known}\n{output}"
        blobs = [
            put_blob(self.session, output.encode(), media_type="text/plain; charset=utf-8")
            if len(output) > FAILURE_CHARACTERS
            else None
            for output in outputs.values()
        ]
        self.session.execute(
            text(
                "INSERT INTO snippet_failures (file_id, position_key, revision, round, benchmark_id, "
                "                              failure_output, failure_blob) "
                "SELECT s.file_id, s.key, :revision, :round, b.id, b.output, b.blob "
                "FROM unnest(CAST(:file_ids AS bigint[]), CAST(:keys AS text[])) AS s (file_id, key) "
                "CROSS JOIN unnest(CAST(:ids AS bigint[]), CAST(:outputs AS text[]), CAST(:blobs AS text[])) "
                "AS b (id, output, blob)"
            ),
            {
                "revision": self.revision,
                "round": self.round,
                **_columns(changed),
                "ids": list(outputs),
                "outputs": [_capped(output) for output in outputs.values()],
                "blobs": blobs,
            },
        )


def _goes(operation: Operation) -> bool:
    """Does the old row become a tombstone?"""
    return operation.change in (Change.MODIFIED, Change.MOVED, Change.DELETED)


def _capped(output: str) -> str:
    return output if len(output) <= FAILURE_CHARACTERS else output[: FAILURE_CHARACTERS - 1] + "…"


def _columns(keys: Sequence[_Key]) -> dict[str, list[Any]]:
    return {"file_ids": [file_id for file_id, _ in keys], "keys": [key for _, key in keys]}

"""One revision on its way into the store: fresh keys, tombstones, lineage edges and failure rows.

`schema.snippets.write_revision` is the door; this module knows the rows behind it.
"""

import json
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg import Cursor
from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.blobs import send_blobs
from schema.canonical import digest
from schema.diff import Change, Difference, Operation, Place
from schema.languages import language_of
from schema.last_states import LiveRows, NewLines, Stamp
from schema.pairing import Stretch
from schema.pipeline import Pipeline
from schema.position_keys import keys_between
from schema.redaction import storable_message
from schema.texts import bytes_of, is_showable, shown

# A row's failure text is for people; a whole compiler log goes to a blob, once.
FAILURE_CHARACTERS = 1_000


@dataclass(frozen=True, kw_only=True)
class FailureCause:
    """A failed benchmark that made a revision necessary.

    Attributes:
        benchmark_id: row of the benchmark (`benchmark_id` below makes one).
        output: the failure in the benchmark's words: the deviation, expected and got, or the log.
    """

    benchmark_id: int
    output: str


SnippetKey = tuple[int, str]  # file id, position key

# "~" is after every key; an OR in its place would keep the index from finding the row at once.
_PREDECESSORS = text("""
SELECT (SELECT s.position_key FROM snippets s
        WHERE s.file_id = g.file_id AND s.position_key < coalesce(g.hi, '~')
        ORDER BY s.position_key DESC LIMIT 1)
FROM json_to_recordset(CAST(:rows AS json)) AS g (number integer, file_id bigint, hi text)
ORDER BY g.number
""")

_EVERY = text("""
SELECT g.id, coalesce((SELECT string_agg(s.position_key, ' ' ORDER BY s.position_key) FROM snippets s
                       WHERE s.file_id = g.id), '')
FROM unnest(CAST(:file_ids AS bigint[])) AS g (id)
""")

# Few statements, each with many rows: one more is one more start of the server's executor. The revision comes first,
# as the seals of the others ask for it, with the tombstones. Each is
# looked up by its key: of a join the planner thinks that it touches half of the table, and reads all of it.
_REVISION = b"""
WITH explained AS (
    INSERT INTO snippet_explanations (task_id, revision, round, explanation, entry_ids, direction, model)
    SELECT %(task_id)s, %(revision)s, %(round)s, explanation, entry_ids, direction, model
    FROM json_to_recordset(%(explanations)s::json)
         AS u (explanation text, entry_ids text[], direction text, model text)
), gone AS (
    UPDATE snippets SET disabled_revision = %(revision)s, disabled_round = %(round)s
    WHERE ctid = ANY(ARRAY(
        SELECT (SELECT s.ctid FROM snippets s WHERE s.file_id = u.file_id AND s.position_key = u.key)
        FROM json_to_recordset(%(gone)s::json) AS u (file_id bigint, key text)))
)
INSERT INTO revisions (task_id, revision, round, cause, tree)
VALUES (%(task_id)s, %(revision)s, %(round)s, %(cause)s, %(tree)s)
RETURNING xmin::text, created_at
"""

_ROWS = b"""
WITH fresh AS (
    INSERT INTO snippets (file_id, position_key, content, raw, created_revision, created_round)
    SELECT file_id, key, content, decode(raw, 'base64'), %(revision)s, %(round)s
    FROM json_to_recordset(%(fresh)s::json)
         AS u (file_id bigint, key text, content text, raw text)
), edges AS (
    INSERT INTO lineage (child_file_id, child_key, parent_file_id, parent_key, kind)
    SELECT file_id, key, parent_id, parent_key, kind
    FROM json_to_recordset(%(edges)s::json)
         AS u (file_id bigint, key text, parent_id bigint, parent_key text, kind text)
)
INSERT INTO snippet_failures (file_id, position_key, revision, round, benchmark_id, failure_output, failure_blob)
SELECT s.file_id, s.key, %(revision)s, %(round)s, b.id, b.output, b.blob
FROM json_to_recordset(%(changed)s::json) AS s (file_id bigint, key text)
CROSS JOIN json_to_recordset(%(failures)s::json) AS b (id bigint, output text, blob text)
"""


@dataclass(frozen=True, kw_only=True)
class RevisionRow:
    """A revision as it is stored, beside its lines.

    Attributes:
        explanation: as in `write_revision`, and so are entry_ids, direction and model; all text can be stored.
    """

    task_id: int
    revision: int
    round: int
    cause: str
    tree: str
    explanation: str
    entry_ids: Sequence[str]
    direction: str
    model: str


class Revising:
    """One revision being written: fresh keys, tombstones, edges and failures of the changed files.

    Args:
        session: an open transaction that holds the task's row.
        pipeline: sends to the same transaction.
        row: the revision.
        lines: path → lines of each changed file that is.
        digests: before and after: path → digest of each file that is.
        live: path → rows before, of each changed file.
        own: whether this process wrote the revision before as well, so that all keys are worth being known.
    """

    def __init__(
        self,
        session: Session,
        pipeline: Pipeline,
        row: RevisionRow,
        lines: Mapping[str, Sequence[str]],
        digests: tuple[Mapping[str, str], Mapping[str, str]],
        live: Mapping[str, LiveRows],
        *,
        own: bool,
    ) -> None:
        self.session, self.pipeline = session, pipeline
        self.row = row
        self.live = dict(live)
        self.lines, self.digests = lines, digests
        self.own = own
        self.fresh: dict[tuple[str, int], SnippetKey] = {}  # new place → its row

    def write(
        self,
        difference: Difference,
        failures: Sequence[FailureCause],
        restored: Mapping[tuple[str, int], SnippetKey],
    ) -> tuple[Stamp, dict[str, LiveRows]]:
        """Write the rows of one revision, and wait until they are.

        Args:
            difference: what became of the lines of the changed files.
            failures: the failed benchmarks behind the change.
            restored: new place (path, index) → the snippet that comes back there.

        Returns:
            What tells the revision from others, and the rows of the changed files as they are now.
        """
        operations = difference.operations
        self._choose_keys(difference.stretches)
        gone = [self._old(operation.old) for operation in operations if _goes(operation) and operation.old]
        written = self._send_revision(gone)
        # A line that stayed comes back from nowhere: a new one beside it, alike, is no restored one.
        staying = (
            {(rows.file_id, key) for rows in self.live.values() for key in rows.keys} if restored else set()
        )
        staying.difference_update(gone)
        edges: dict[tuple[SnippetKey, SnippetKey], str] = {}
        changed: list[SnippetKey] = []
        for operation in operations:
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
            if place in restored and restored[place] not in staying:
                edges[child, restored[place]] = "restored"
        if changed:
            self.pipeline.send(
                _ROWS,
                {
                    "revision": self.row.revision,
                    "round": self.row.round,
                    "fresh": _json(self._fresh_rows()),
                    "edges": _json(_edge_rows(edges)),
                    "changed": _json(_rows(changed) if failures else []),
                    "failures": _json(self._failure_rows(failures)),
                },
            )
        after = self._rows_after(difference.stretches)
        self.pipeline.wait()
        answer = written.fetchone()
        assert answer is not None
        transaction, created_at = answer
        stamp = Stamp(
            revision=self.row.revision, transaction=transaction, created_at=created_at, tree=self.row.tree
        )
        return stamp, after

    def _send_revision(self, gone: Sequence[SnippetKey]) -> Cursor[Any]:
        """The revision itself, why it was made, and the tombstones it makes."""
        row = self.row
        told = row.explanation or row.entry_ids or row.direction or row.model
        explanation = {
            "explanation": row.explanation,
            "entry_ids": list(row.entry_ids),
            "direction": row.direction,
            "model": row.model,
        }
        return self.pipeline.send(
            _REVISION,
            {
                "task_id": row.task_id,
                "revision": row.revision,
                "round": row.round,
                "cause": row.cause,
                "tree": row.tree,
                "explanations": _json([explanation] if told else []),
                "gone": _json(_rows(gone)),
            },
        )

    def _old(self, place: Place) -> SnippetKey:
        rows = self.live[place.path]
        return rows.file_id, rows.keys[place.index]

    def _choose_keys(self, stretches: Mapping[str, Sequence[Stretch]]) -> None:
        """Give each run of new lines keys right after the tombstones before the next kept line (D1)."""
        gaps: list[tuple[str, range, str | None]] = []
        for path, found in stretches.items():
            keys = self.live[path].keys
            for stretch in found:
                if stretch.new:
                    end = stretch.old.stop
                    gaps.append((path, stretch.new, keys[end] if end < len(keys) else None))
        for (path, indices, hi), lo in zip(gaps, self._predecessors(gaps), strict=True):
            for index, key in zip(indices, keys_between(lo, hi, len(indices)), strict=True):
                self.fresh[path, index] = (self.live[path].file_id, key)

    def _predecessors(self, gaps: Sequence[tuple[str, range, str | None]]) -> list[str | None]:
        """The last row before each gap's end, tombstones included; None at the start of a file."""
        unknown = {path for path, _, _ in gaps if self.live[path].every is None}
        if unknown:
            self.pipeline.wait()
            if not self.own:
                rows = [
                    {"number": number, "file_id": self.live[path].file_id, "hi": hi}
                    for number, (path, _, hi) in enumerate(gaps)
                ]
                return list(self.session.connection().execute(_PREDECESSORS, {"rows": _json(rows)}).scalars())
            paths = {self.live[path].file_id: path for path in unknown}
            for file_id, keys in self.session.connection().execute(_EVERY, {"file_ids": sorted(paths)}):
                path = paths[file_id]
                self.live[path] = replace(self.live[path], every=keys.split(" ") if keys else [])
        found: list[str | None] = []
        for path, _, hi in gaps:
            every = self.live[path].every
            assert every is not None
            end = len(every) if hi is None else bisect_left(every, hi)
            found.append(every[end - 1] if end else None)
        return found

    def _rows_after(self, stretches: Mapping[str, Sequence[Stretch]]) -> dict[str, LiveRows]:
        """The rows of the changed files once the revision is written."""
        fresh: dict[str, list[str]] = {path: [] for path in self.live}
        for (path, _), (_, key) in self.fresh.items():
            fresh[path].append(key)
        after = {}
        for path, rows in self.live.items():
            keys: list[str] = []
            if path in self.lines:
                start = 0
                for stretch in stretches[path]:
                    keys += rows.keys[start : stretch.old.start]
                    keys += [self.fresh[path, index][1] for index in stretch.new]
                    start = stretch.old.stop
                keys += rows.keys[start:]
            after[path] = LiveRows(
                file_id=rows.file_id,
                keys=keys,
                lines=self.lines.get(path, ()),
                # Two ascending runs, which sorting only has to merge.
                every=None if rows.every is None else sorted([*rows.every, *fresh[path]]),
            )
        return after

    def new_lines(self, stretches: Mapping[str, Sequence[Stretch]]) -> tuple[NewLines, ...]:
        """The lines that the revision brought, to be described once it is committed."""
        keys: dict[str, dict[int, str]] = {}
        for (path, index), (_, key) in self.fresh.items():
            keys.setdefault(path, {})[index] = key
        before, after = self.digests
        return tuple(
            NewLines(
                file_id=self.live[path].file_id,
                language=language,
                keys=of_file,
                lines=self.lines[path],
                digest=after[path],
                follows=(before[path], [(stretch.old, stretch.new) for stretch in stretches[path]])
                if path in before
                else None,
            )
            for path, of_file in keys.items()
            if (language := language_of(path)) is not None
        )

    def _fresh_rows(self) -> list[dict[str, Any]]:
        fresh: list[dict[str, Any]] = []
        for (path, index), (file_id, key) in self.fresh.items():
            line = self.lines[path][index]
            row = {"file_id": file_id, "key": key, "content": shown(line)}
            if not is_showable(line):
                row["raw"] = b64encode(bytes_of(line)).decode()
            fresh.append(row)
        return fresh

    def _failure_rows(self, failures: Sequence[FailureCause]) -> list[dict[str, Any]]:
        outputs: dict[int, str] = {}
        for failure in failures:
            output = storable_message(failure.output)
            known = outputs.get(failure.benchmark_id)
            outputs[failure.benchmark_id] = output if known is None else f"{known}\n{output}"
        blobs: dict[str, tuple[str, bytes]] = {}
        rows = []
        for identifier, output in outputs.items():
            blob = None
            if len(output) > FAILURE_CHARACTERS:
                whole = output.encode()
                blob = digest(whole)
                blobs[blob] = ("text/plain; charset=utf-8", whole)
            rows.append({"id": identifier, "output": _capped(output), "blob": blob})
        send_blobs(self.pipeline, blobs)
        return rows


def _goes(operation: Operation) -> bool:
    """Does the old row become a tombstone?"""
    return operation.change in (Change.MODIFIED, Change.MOVED, Change.DELETED)


def _capped(output: str) -> str:
    return output if len(output) <= FAILURE_CHARACTERS else output[: FAILURE_CHARACTERS - 1] + "…"


def _rows(keys: Sequence[SnippetKey]) -> list[dict[str, Any]]:
    return [{"file_id": file_id, "key": key} for file_id, key in keys]


def _edge_rows(edges: Mapping[tuple[SnippetKey, SnippetKey], str]) -> list[dict[str, Any]]:
    return [
        {"file_id": child[0], "key": child[1], "parent_id": parent[0], "parent_key": parent[1], "kind": kind}
        for (child, parent), kind in edges.items()
    ]


def _json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows for json_to_recordset: one parameter, written in C, where an array a column is written in Python."""
    return json.dumps(rows, ensure_ascii=False)

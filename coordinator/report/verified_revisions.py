"""Revisions put together again from their snippets, and compared with the stored hashes.

One pass: the rows of a file are read once, in the order of their keys; revision by revision what it created comes in
and what it disabled goes out, and where a file changed, its bytes are hashed. So the time grows with rows + changed
bytes, and not with rows × revisions.
"""

import bisect
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from coordinator.report.faults import Fault
from schema.canonical import digest
from schema.diff import split_lines
from schema.position_keys import is_valid
from schema.tables import Blob, File, Revision, Snippet
from schema.texts import text_of

# After this many faults of one file its other revisions are not looked at line by line any more.
_DETAILS = 20
_BLOBS_AT_ONCE = 2_000
_UNKNOWN = "unknown"

_FAILURE_TEXTS = text("""
SELECT DISTINCT ON (x.failure_blob) x.failure_blob, f.path, x.position_key
FROM snippet_failures x JOIN files f ON f.id = x.file_id
WHERE f.task_id = :task_id AND x.failure_blob IS NOT NULL ORDER BY x.failure_blob, x.id
""")


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one file, by position key: parallel lists."""

    path: str
    keys: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    created: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    disabled: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was looked at, and what is wrong with it."""

    revisions: int
    snippets: int
    faults: list[Fault]


def check_revisions(
    session: Session, task_id: int, *, trees: Mapping[str, str], blobs: Mapping[str, str]
) -> Found:
    """Check every revision, blob and snippet row of a task.

    Args:
        session: an open transaction.
        task_id: whose.
        trees: further trees that the task's records name: digest → who names it.
        blobs: further blobs that they name.
    """
    revisions = list(
        session.execute(
            select(Revision).where(Revision.task_id == task_id).order_by(Revision.revision)
        ).scalars()
    )
    faults = _order(revisions)
    used = {**trees, **{row.tree: f"revision {row.revision}" for row in reversed(revisions)}}
    manifests = _manifests(session, used, faults)
    _check_blobs(session, task_id, manifests, used, blobs, faults)
    rows, count = _read(session, task_id, {row.revision: row.round for row in revisions}, faults)
    for path in sorted({*rows, *(path for row in revisions for path in manifests.get(row.tree, ()))}):
        _replay(session, rows.get(path, Rows(path=path)), revisions, manifests, faults)
    return Found(revisions=len(revisions), snippets=count, faults=faults)


def _order(revisions: list[Revision]) -> list[Fault]:
    """Numbers count from 0 without a gap, rounds never go back, and the first one is the baseline."""
    faults = []
    for number, row in enumerate(revisions):
        where = f"revision {row.revision}"
        if row.revision != number:
            faults.append(Fault(kind="revision", where=where, what=f"revision {number} is missing before it"))
            break
        if number == 0 and (row.cause, row.round) != ("initial", 0):
            what = (
                f"the first revision is by {row.cause} of round {row.round}, not the initial one of round 0"
            )
            faults.append(Fault(kind="revision", where=where, what=what))
        if number and row.round < revisions[number - 1].round:
            what = f"its round {row.round} comes after round {revisions[number - 1].round}"
            faults.append(Fault(kind="revision", where=where, what=what))
    return faults


def _manifests(session: Session, used: Mapping[str, str], faults: list[Fault]) -> dict[str, dict[str, str]]:
    """The manifests of trees: digest → path → digest. Those that are not whole are left out."""
    manifests: dict[str, dict[str, str]] = {}
    for part in _parts(used):
        found = session.execute(select(Blob.digest, Blob.data).where(Blob.digest.in_(part)))
        rows = {key: bytes(data) for key, data in found}
        for key in part:
            data = rows.get(key)
            if data is None:
                what = f"its tree {key[:16]}… is not in the store"
            elif digest(data) != key:
                what = f"its tree {key[:16]}… does not hash to its digest"
            else:
                manifests[key] = json.loads(data)
                continue
            faults.append(Fault(kind="blob", where=used[key], what=what))
    return manifests


def _check_blobs(
    session: Session,
    task_id: int,
    manifests: Mapping[str, Mapping[str, str]],
    used: Mapping[str, str],
    blobs: Mapping[str, str],
    faults: list[Fault],
) -> None:
    """Hash every file of every tree, every whole failure text and every other blob again, where they lie."""
    wanted: dict[str, str] = {}
    for tree, manifest in manifests.items():
        for path, key in manifest.items():
            wanted.setdefault(key, f"{used[tree]}, {path}")
    texts = session.execute(_FAILURE_TEXTS, {"task_id": task_id})
    for found, path, position_key in texts:
        wanted.setdefault(found, f"the whole text of a failure of {path}@{position_key}")
    wanted = {**blobs, **wanted}
    for part in _parts(wanted):
        rows = session.execute(
            select(
                Blob.digest,
                func.encode(func.sha256(Blob.data), "hex") == Blob.digest,
                func.length(Blob.data) == Blob.size,
            ).where(Blob.digest.in_(part))
        ).all()
        whole = {key: (hashes, sized) for key, hashes, sized in rows}
        for key in part:
            if key not in whole:
                what = f"blob {key[:16]}… is not in the store"
            elif not whole[key][0]:
                what = f"blob {key[:16]}… does not hash to its digest"
            elif not whole[key][1]:
                what = f"blob {key[:16]}… does not have the size on record"
            else:
                continue
            faults.append(Fault(kind="blob", where=wanted[key], what=what))


def _parts(keys: Iterable[str]) -> Iterable[list[str]]:
    ordered = list(keys)
    return (ordered[start : start + _BLOBS_AT_ONCE] for start in range(0, len(ordered), _BLOBS_AT_ONCE))


def _read(
    session: Session, task_id: int, rounds: Mapping[int, int], faults: list[Fault]
) -> tuple[dict[str, Rows], int]:
    """All snippet rows of a task by path, each checked by itself."""
    found: dict[str, Rows] = {}
    count = 0
    query = (
        select(
            File.path,
            Snippet.position_key,
            Snippet.content,
            Snippet.raw,
            Snippet.created_revision,
            Snippet.created_round,
            Snippet.disabled_revision,
            Snippet.disabled_round,
        )
        .join(File, File.id == Snippet.file_id)
        .where(File.task_id == task_id)
        .order_by(File.path, Snippet.position_key)
    )
    for path, key, content, raw, created, created_round, disabled, disabled_round in session.execute(query):
        count += 1
        rows = found.setdefault(path, Rows(path=path))
        where = f"{path}@{key}"
        if not is_valid(key):
            faults.append(Fault(kind="position-key", where=where, what="it breaks the grammar of keys"))
        # By bytes, whatever the database's collation makes of them: the order of the keys is the order of the lines.
        if rows.keys and key <= rows.keys[-1]:
            faults.append(Fault(kind="position-key", where=where, what=f"it stands after {rows.keys[-1]}"))
        what = ""
        if rounds.get(created) != created_round:
            what = f"created in revision {created} of round {created_round}, which is not on record"
        elif disabled is not None and disabled <= created:
            what = f"disabled in revision {disabled}, before or as it was created in {created}"
        elif disabled is not None and rounds.get(disabled) != disabled_round:
            what = f"disabled in revision {disabled} of round {disabled_round}, which is not on record"
        if what:
            faults.append(Fault(kind="snippet", where=where, what=what))
        number = len(rows.keys)
        rows.keys.append(key)
        rows.lines.append(content.encode() if raw is None else bytes(raw))
        rows.created[created].append(number)
        if disabled is not None:
            rows.disabled[disabled].append(number)
    return found, count


def _replay(
    session: Session,
    rows: Rows,
    revisions: list[Revision],
    manifests: Mapping[str, Mapping[str, str]],
    faults: list[Fault],
) -> None:
    """Let the revisions of one file pass by, and compare its bytes with the hash of each that changed it."""
    live: list[int] = []
    stored: str | None = None
    named: set[str] = set()
    for row in revisions:
        gone, come = rows.disabled.get(row.revision, ()), rows.created.get(row.revision, ())
        for number in gone:
            at = bisect.bisect_left(live, number)
            if at < len(live) and live[at] == number:
                del live[at]
        for number in come:
            bisect.insort(live, number)
        manifest = manifests.get(row.tree)
        if manifest is None:
            stored = _UNKNOWN  # its tree is a fault of its own
            continue
        before, stored = stored, manifest.get(rows.path)
        if not gone and not come and stored == before:
            continue
        data = b"".join([rows.lines[number] for number in live])
        if stored is None and not live:
            continue
        if stored is None:
            fault, name = f"{len(live)} lines of a file that its tree does not have", ""
        elif digest(data) != stored:
            fault, name = (
                _first_difference(session, rows, live, stored) if len(named) < _DETAILS else ("", "")
            )
        else:
            continue
        if name in named:
            continue  # the same line, seen at a later revision
        named.add(name)
        where = f"revision {row.revision}, {rows.path}"
        faults.append(
            Fault(kind="tree", where=where, what=fault or "it does not come back from its snippets")
        )


def _first_difference(session: Session, rows: Rows, live: list[int], stored: str) -> tuple[str, str]:
    """Where the snippets leave the stored file: in words, and the key there."""
    data = session.execute(select(Blob.data).where(Blob.digest == stored)).scalar_one_or_none()
    if data is None or digest(bytes(data)) != stored:
        return "it does not come back from its snippets, and its blob is not whole", "-"
    lines = split_lines(text_of(bytes(data)))
    ours = [rows.lines[number] for number in live]
    for number, one in enumerate(lines):
        if number >= len(ours):
            return f"its snippets end before line {number + 1} of the stored file", f"+{number}"
        if text_of(ours[number]) != one:
            key = rows.keys[live[number]]
            return f"line {number + 1} (key {key}) differs from the stored file", key
    key = rows.keys[live[len(lines)]]
    return f"its snippets go on after the stored file, with key {key}", key


def count_edges(session: Session, task_id: int) -> tuple[int, int]:
    """How many lineage edges and failure rows a task has."""
    query = text(
        "SELECT (SELECT count(*) FROM lineage l JOIN files f ON f.id = l.child_file_id WHERE f.task_id = :task_id),"
        " (SELECT count(*) FROM snippet_failures x JOIN files f ON f.id = x.file_id WHERE f.task_id = :task_id)"
    )
    edges, failures = session.execute(query, {"task_id": task_id}).one()
    return edges, failures

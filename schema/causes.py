"""What why, blame and history share: the failures behind rows, and where a file is to be found.

The readers of a task's provenance ask with a path and a revision. Whether that revision has the file, and
if not, which one does, is answered here once, so that all of them refuse in the same words.

A line may have a thousand revisions. So the readers ask past SQLAlchemy's rows, by `asking`: plain tuples, and the
server looks up one thing while another is put together here.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import psycopg
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from schema.errors import NotFound
from schema.reading import revision_at
from schema.tables import Blob, File, Revision

SnippetKey = tuple[int, str]  # file id, position key
Question = tuple[str, Mapping[str, object]]  # a statement with %(name)s in it, and what to put there
Answer = psycopg.Cursor[tuple[Any, ...]]
Told = TypeVar("Told")

_NEAR_NAMES = 3


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed benchmark behind a change.

    Attributes:
        benchmark: its name.
        output: what it said, capped.
        blob: digest of the whole text, if it was capped.
    """

    benchmark: str
    output: str
    blob: str | None


@dataclass(frozen=True, kw_only=True)
class Located:
    """A file at a revision.

    Attributes:
        newest: whether the revision is the task's last one.
    """

    file_id: int
    revision: int
    round: int
    newest: bool


def filled(kind: type[Told], fields: dict[str, object]) -> Told:
    """As `kind(**fields)` for a frozen dataclass, in a third of the time; the object keeps the dictionary.

    The constructor of a frozen dataclass passes each field through `object.__setattr__`, and a thousand steps have
    16,000 fields. All fields must be given, defaults too: nothing looks after it but the tests of the chain.
    """
    told = object.__new__(kind)
    object.__setattr__(told, "__dict__", fields)
    return told


@contextmanager
def asking(session: Session, *questions: Question) -> Iterator[list[Answer]]:
    """Send statements to the server all at once, and read their rows after the block.

    What the block does is done while the server looks up, and all of it takes one round trip. The statements belong
    to the session's transaction, whose objects must have been flushed.

    Yields:
        One cursor a question, with nothing to fetch before the block has ended.

    Raises:
        DBAPIError: of SQLAlchemy, of the class that its own statements raise, so that nobody need know of this way.
    """
    # The pool is that of `schema.database`, which knows no other driver.
    connection = cast(
        "psycopg.Connection[tuple[Any, ...]]", session.connection().connection.driver_connection
    )
    cursors = [connection.cursor() for _ in questions]
    try:
        with connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext():
            for cursor, (statement, columns) in zip(cursors, questions, strict=True):
                cursor.execute(statement.encode(), columns)
            yield cursors
    except psycopg.Error as error:
        raise DBAPIError.instance(
            ";".join(statement for statement, _ in questions), None, error, psycopg.Error
        ) from error


def ask(session: Session, statement: str, **columns: object) -> list[tuple[Any, ...]]:
    """The rows of one statement, as `asking` has them."""
    with asking(session, (statement, columns)) as (answer,):
        pass
    return answer.fetchall()


# For a transaction whose statements the planner takes to be endless, as it does with every walk of a whole file: the
# server would compile them for longer than they run.
PLAINLY: Question = ("SELECT set_config('jit', 'off', true)", {})

# OFFSET 0 keeps the look-up of each row by index: for many rows the planner would rather read the whole table, of all
# tasks, and hash it.
_FAILURES = """
SELECT x.id, x.file_id, x.position_key, x.revision, b.name, x.failure_output, x.failure_blob
FROM unnest(CAST(string_to_array(%(file_ids)s, ',') AS bigint[]), string_to_array(%(keys)s, ',')) AS u (file_id, key)
CROSS JOIN LATERAL (
    SELECT * FROM snippet_failures f WHERE f.file_id = u.file_id AND f.position_key = u.key OFFSET 0
) x
JOIN benchmarks b ON b.id = x.benchmark_id
"""

# As above: the benchmarks are few, and each is looked up once.
_FAILURES_OF_RANGE = """
SELECT x.id, x.file_id, x.position_key, x.revision, b.name, x.failure_output, x.failure_blob
FROM (
    SELECT * FROM snippet_failures
    WHERE file_id = %(file_id)s AND position_key >= %(low)s AND position_key <= %(high)s OFFSET 0
) x
JOIN benchmarks b ON b.id = x.benchmark_id
"""


class Range(NamedTuple):
    """The rows of a file from one position key to another, both included."""

    file_id: int
    low: str
    high: str


def as_columns(keys: Iterable[SnippetKey]) -> dict[str, str]:
    """Keys as two parameters: a key has no comma, and a driver takes its time over every element of an array."""
    wanted = list(keys)
    return {
        "file_ids": ",".join([str(file_id) for file_id, _ in wanted]),
        "keys": ",".join([key for _, key in wanted]),
    }


def failures_question(keys: Iterable[SnippetKey]) -> Question:
    """What to ask for the failures on rows; `failures_by_row` reads the answer."""
    return _FAILURES, as_columns(keys)


def failures_of_range_question(rows: Range) -> Question:
    """As `failures_question`, for all rows of a range: a thousand of them in a fifth of the time."""
    return _FAILURES_OF_RANGE, rows._asdict()


def failures_questions(keys: Iterable[SnippetKey], ranges: Sequence[Range]) -> list[Question]:
    """What to ask for the failures on rows of which most of those in some ranges are wanted, and some others."""
    scattered = list(keys)
    for one in ranges:
        scattered = [key for key in scattered if key[0] != one.file_id or not one.low <= key[1] <= one.high]
    return [failures_question(scattered), *(failures_of_range_question(one) for one in ranges)]


def failures_by_row(*answers: Answer) -> dict[tuple[int, str, int], tuple[Failure, ...]]:
    """The failures on rows: (file id, position key, revision) → failures, in the order they were written.

    A row may be in several of the answers: it is told once.

    A row has failures of the revision that made it, and, if it was deleted, of the one that took it away. Failures
    that say the same are one object: a line that fails alike for a thousand revisions has the text once.
    """
    found = [row for answer in answers for row in answer.fetchall()]
    found.sort()  # by the id, which tells the order they were written in: cheaper here than for the server
    known: dict[tuple[str, str, str | None], tuple[Failure]] = {}
    of_rows: dict[tuple[int, str, int], tuple[Failure, ...]] = {}
    last = None
    for identifier, file_id, key, revision, name, output, blob in found:
        if identifier == last:
            continue
        last = identifier
        said = (name, output, blob)
        failure = known.get(said)
        if failure is None:
            failure = known[said] = (Failure(benchmark=name, output=output, blob=blob),)
        here = (file_id, key, revision)
        before = of_rows.get(here)
        of_rows[here] = failure if before is None else before + failure
    return of_rows


_LOCATE = """
SELECT f.id, r.revision, r.round, newest.revision, b.data
FROM (SELECT max(revision) FROM revisions WHERE task_id = %(task_id)s) AS newest (revision)
JOIN revisions r ON r.task_id = %(task_id)s
    AND r.revision = coalesce(CAST(%(revision)s AS integer), newest.revision)
JOIN files f ON f.task_id = %(task_id)s AND f.path = %(path)s
JOIN blobs b ON b.digest = r.tree
"""


def locate(session: Session, task_id: int, path: str, revision: int | None) -> Located:
    """Find a file at a revision.

    Args:
        session: an open transaction.
        task_id: whose file.
        path: as the task knows it ("kernel/add.cpp").
        revision: None for the last one.

    Raises:
        NotFound: no such task or revision, or it does not have the file; the message says which round has it, or
            which files there are.
    """
    with asking(session, locating(task_id, path, revision)) as (answer,):
        pass
    return located(session, task_id, path, revision, answer)


def locating(task_id: int, path: str, revision: int | None) -> Question:
    """What `locate` asks, to be sent with other questions; `located` reads the answer."""
    return _LOCATE, {"task_id": task_id, "path": path, "revision": revision}


def located(session: Session, task_id: int, path: str, revision: int | None, answer: Answer) -> Located:
    """As `locate`, from the answer to `locating`."""
    for file_id, at_revision, round, newest, manifest in answer:
        if path in json.loads(manifest):
            return Located(file_id=file_id, revision=at_revision, round=round, newest=at_revision == newest)
    at = revision_at(session, task_id, revision=revision)
    file_ever(session, task_id, path)
    raise _elsewhere(session, task_id, path, at)


def file_ever(session: Session, task_id: int, path: str) -> int:
    """The id of a file that some revision of a task had.

    Raises:
        NotFound: the task never had it; the message names the nearest of its files.
    """
    file_id = session.execute(
        select(File.id).where(File.task_id == task_id, File.path == path)
    ).scalar_one_or_none()
    if file_id is None:
        known = session.execute(select(File.path).where(File.task_id == task_id)).scalars().all()
        raise NotFound(
            f"there is no such file: task {task_id} never had it", where=path, mend=suggestion(path, known)
        )
    return file_id


def suggestion(path: str, known: Sequence[str]) -> str:
    """Which of the known paths may have been meant, in words."""
    if not known:
        return "there are no files yet"
    by_name: dict[str, list[str]] = {}
    for one in sorted(set(known)):
        by_name.setdefault(one.rpartition("/")[2].lower(), []).append(one)
    whole = difflib.get_close_matches(path, sorted(set(known)), n=_NEAR_NAMES, cutoff=0.7)
    names = difflib.get_close_matches(path.rpartition("/")[2].lower(), by_name, n=_NEAR_NAMES, cutoff=0.6)
    near = list(dict.fromkeys([*whole, *(one for name in names for one in by_name[name])]))[:_NEAR_NAMES]
    if near:
        return f"did you mean {' or '.join(near)}?"
    shown = sorted(set(known))
    return f"its files: {', '.join(shown[:12])}" + (" …" if len(shown) > 12 else "")


def _elsewhere(session: Session, task_id: int, path: str, at: Revision) -> NotFound:
    """Why a revision lacks a file that others of the task have, and which round shows it."""
    rows = session.execute(
        select(Revision.revision, Revision.round, Revision.tree)
        .where(Revision.task_id == task_id)
        .order_by(Revision.revision)
    ).all()
    trees = session.execute(select(Blob.digest, Blob.data).where(Blob.digest.in_({row.tree for row in rows})))
    having = {digest for digest, data in trees if path in json.loads(bytes(data))}
    last_of_round = {row.round: row for row in rows}
    showing = [round for round, row in last_of_round.items() if row.tree in having]
    earlier = [row for row in rows if row.revision < at.revision and row.tree in having]
    later = [row for row in rows if row.revision > at.revision and row.tree in having]
    if earlier:
        gone = next(row for row in rows if row.revision > earlier[-1].revision)
        what = f"the file vanished in round {gone.round} (revision {gone.revision})"
        best = max((round for round in showing if round <= earlier[-1].round), default=None)
    elif later:
        what = f"the file first appears in round {later[0].round} (revision {later[0].revision})"
        best = min((round for round in showing if round >= later[0].round), default=None)
    else:
        what, best = "no revision of the task has the file", None
    if best is None:
        return NotFound(what, where=path, mend="it was gone again within a round; `opmend history` tells it")
    return NotFound(what, where=path, mend=f"--round {best} shows it")

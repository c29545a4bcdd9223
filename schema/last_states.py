"""What this process knows of the last revision of the tasks it writes, so that it need not read it back.

One process writes the revisions of a task one after another, and nobody else changes what a revision holds. So
what was written last is what the next revision starts from, if that revision is still the last one: who asks
compares the `Stamp`, which no two revisions share, also if one was rolled back and its number was given anew, or if
the database behind an address is another one. The memory saves work, and never answers in place of the store.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

# So many tasks, and about so many bytes of them, are known; a larger task is not.
KEPT_TASKS = 8
KEPT_BYTES = 16 << 20
# So many files with new lines wait for being described. Of a task whose writer does it more seldom, none is kept: what
# is not told yet is looked up then.
MOST_UNDESCRIBED = 16
# A key or a line of some characters, as Python has it.
_BYTES_A_STRING = 70


@dataclass(frozen=True, kw_only=True, slots=True)
class Stamp:
    """What tells one revision from all others.

    Attributes:
        revision: its number in its task.
        transaction: the number of the transaction that wrote it; a savepoint has its own.
        created_at: when that began.
        tree: digest of its files.
    """

    revision: int
    transaction: str
    created_at: datetime
    tree: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveRows:
    """The visible rows of a file, in order; nobody changes the lists.

    Attributes:
        file_id: the file.
        keys: position key of each row.
        lines: its line byte for byte, as `schema.texts` has it.
        every: the keys of all rows of the file in order, tombstones included; None: not known.
    """

    file_id: int
    keys: Sequence[str]
    lines: Sequence[str]
    every: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLines:
    """What one revision brought to one file.

    Attributes:
        language: of the file, which has one ("cpp" or "python").
        keys: index in the file → position key of each new line.
        lines: the whole file; nobody changes the list.
        digest: of the file.
        follows: the digest of the file before, and which of its lines became which lines now, as `schema.parsing` has
            it; None for a new file.
    """

    file_id: int
    language: str
    keys: Mapping[int, str]
    lines: Sequence[str]
    digest: str
    follows: tuple[str, Sequence[tuple[range, range]]] | None


@dataclass(frozen=True, kw_only=True)
class LastState:
    """The last revision of a task.

    Attributes:
        stamp: which one it is.
        round: its round.
        manifest: path → digest of each of its files.
        files: rows of files that are or were part of the task; not of all.
        undescribed: what the last revisions brought whose place in their programs is not told yet, in order; None: it
            is not known what is told and what is not.
    """

    stamp: Stamp
    round: int
    manifest: Mapping[str, str]
    files: Mapping[str, LiveRows] = field(default_factory=dict)
    undescribed: tuple[NewLines, ...] | None = None

    def size(self) -> int:
        """About how many bytes it takes."""
        of_rows = sum(
            _characters(rows.lines) + _BYTES_A_STRING * (2 * len(rows.lines) + len(rows.every or ()))
            for rows in self.files.values()
        )
        # The newest of these is among the rows already.
        return of_rows + sum(_characters(new.lines) for new in (self.undescribed or ())[:-1])


def _characters(lines: Sequence[str]) -> int:
    return sum(map(len, lines))


_Task = tuple[str, int]  # address of the database, task id

_states: OrderedDict[_Task, tuple[int, LastState]] = OrderedDict()
_lock = Lock()


def recall(address: str, task_id: int) -> LastState | None:
    """The state this process wrote last; the last one of the task only if the store has the same stamp."""
    with _lock:
        found = _states.get((address, task_id))
    return None if found is None else found[1]


def remember(address: str, task_id: int, state: LastState) -> None:
    """Keep a state in place of the one before, and forget those of other tasks that there is no room for."""
    size = state.size()
    with _lock:
        _states.pop((address, task_id), None)
        if size > KEPT_BYTES:
            return
        _states[address, task_id] = (size, state)
        room = KEPT_BYTES - sum(known for known, _ in _states.values())
        while room < 0 or len(_states) > KEPT_TASKS:
            _, (freed, _) = _states.popitem(last=False)
            room += freed


def forget() -> None:
    """Know nothing."""
    with _lock:
        _states.clear()

"""Lines of a task over all its revisions: their numbers, their ancestors, and what lives on of them."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LineId = tuple[int, str]  # file id, position key

# Where a line has several parents, its history is told along the first of these (schema.lineage does so too).
_CLOSENESS = ("restored", "modified", "moved", "merged", "split")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One snippet.

    Attributes:
        content: its text for people; the file's own bytes are in its tree.
        created: the revision that made it. disabled: the one that made it a tombstone, if it is one.
    """

    file_id: int
    path: str
    key: str
    content: str
    created: int
    disabled: int | None
    scope: str
    node_kind: str

    @property
    def id(self) -> LineId:
        """What edges name it by."""
        return self.file_id, self.key


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """`child` follows from `parent`."""

    child: LineId
    parent: LineId
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """What one revision did to one file.

    Attributes:
        new: (line number, line) of the lines that it made, in order. gone: its new tombstones.
    """

    new: tuple[tuple[int, Line], ...]
    gone: tuple[Line, ...]


class Lines:
    """The lines of a task up to one revision, tombstones included."""

    def __init__(self, lines: Sequence[Line], edges: Iterable[Edge]) -> None:
        """Take lines in the order of path and key, and edges in the order they were written."""
        self.all = tuple(lines)
        self.by_id = {line.id: line for line in lines}
        # Edges of later revisions lead to lines that this export does not know.
        self.edges = tuple(edge for edge in edges if edge.child in self.by_id)
        self._parents: dict[LineId, list[Edge]] = {}
        self._children: dict[LineId, list[LineId]] = {}
        for edge in self.edges:
            self._parents.setdefault(edge.child, []).append(edge)
            self._children.setdefault(edge.parent, []).append(edge.child)

    def changes(self, revisions: int) -> Iterator[dict[str, Changed]]:
        """For each revision from 0 on, path → what it did to that file; line numbers are those after it."""
        new: dict[int, list[Line]] = {}
        gone: dict[int, list[Line]] = {}
        for line in self.all:
            new.setdefault(line.created, []).append(line)
            if line.disabled is not None:
                gone.setdefault(line.disabled, []).append(line)
        order: dict[int, list[str]] = {}
        for revision in range(revisions):
            for line in gone.get(revision, ()):
                keys = order[line.file_id]
                del keys[bisect_left(keys, line.key)]
            for line in new.get(revision, ()):
                insort(order.setdefault(line.file_id, []), line.key)
            paths: dict[str, tuple[list[tuple[int, Line]], list[Line]]] = {}
            for line in new.get(revision, ()):
                number = bisect_left(order[line.file_id], line.key) + 1
                paths.setdefault(line.path, ([], []))[0].append((number, line))
            for line in gone.get(revision, ()):
                paths.setdefault(line.path, ([], []))[1].append(line)
            yield {
                path: Changed(new=tuple(made), gone=tuple(ended))
                for path, (made, ended) in sorted(paths.items())
            }

    def at(self, revision: int) -> dict[str, list[Line]]:
        """Path → the lines that are visible at a revision, in order."""
        found: dict[str, list[Line]] = {}
        for line in self.all:
            if line.created <= revision and (line.disabled is None or line.disabled > revision):
                found.setdefault(line.path, []).append(line)
        return found

    def written(self, line: Line) -> Line:
        """The line as it was first written: a restored one leads to the line that it restores."""
        while True:
            edges = self._parents.get(line.id, ())
            restored = next((edge for edge in edges if edge.kind == "restored"), None)
            if restored is None:
                return line
            line = self.by_id[restored.parent]

    def root(self, line: Line) -> Line:
        """The oldest ancestor, along the closest parents."""
        while edges := self._parents.get(line.id):
            line = self.by_id[min(edges, key=_rank).parent]
        return line

    def living(self, lines: Iterable[Line]) -> list[Line]:
        """What is left of lines at the end: themselves, else what followed from them; by path and key."""
        seen: set[LineId] = set()
        found: list[Line] = []
        queue = [line.id for line in lines]
        while queue:
            one = queue.pop()
            if one in seen or one not in self.by_id:
                continue
            seen.add(one)
            if self.by_id[one].disabled is None:
                found.append(self.by_id[one])
            else:
                queue += self._children.get(one, ())
        return sorted(found, key=lambda line: (line.path, line.key))


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Line numbers as (first, last) of their runs, in order."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _rank(edge: Edge) -> tuple[int, LineId]:
    closeness = _CLOSENESS.index(edge.kind) if edge.kind in _CLOSENESS else len(_CLOSENESS)
    return closeness, edge.parent

"""Which old line each new line follows from: what the passes of `schema.diff` have found so far.

A line that stayed in its place is on its file's spine, with the line it was; the pairs of a spine are in order. A line
that came from elsewhere is paired off the spine.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from schema.matching import Lines, Run, alphanumerics

# A slide over more lines than this is no slide.
SLIDE_REACH = 400
# Of longer blocks, not every line is counted.
FEW_LINES = 8

Line = tuple[str, int]  # path, index
LinePair = tuple[Line, Line]  # old, new


@dataclass(kw_only=True, slots=True)
class Spine:
    """The lines of a file that stayed in order. -1: not one of them.

    Attributes:
        olds: a new line's old index.
        news: an old line's new index.
        changed: new indices whose old line reads otherwise.
        runs: equal lines that were paired as a whole, in order: most of a file. What is between them is found without
            a look at each of their lines.
        version: how often it was changed.
    """

    olds: list[int]
    news: list[int]
    changed: set[int] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    version: int = 0

    def pair_runs(self, runs: Iterable[Run]) -> None:
        """Put runs of equal lines, in order, on a spine that has no pair yet."""
        self.version += 1
        self.runs = list(runs)
        for one, other, length in self.runs:
            self.olds[other : other + length] = range(one, one + length)
            self.news[one : one + length] = range(other, other + length)

    def part_runs(self, runs: Sequence[Run]) -> None:
        """Take whole runs off the spine."""
        self.version += 1
        parted = set(runs)
        self.runs = [run for run in self.runs if run not in parted]
        for one, other, length in runs:
            self.olds[other : other + length] = self.news[one : one + length] = [-1] * length

    def pair(self, one: int, other: int, *, equal: bool) -> None:
        """Put an old and a new line on the spine."""
        self.leave_run(other)
        self.version += 1
        self.olds[other] = one
        self.news[one] = other
        if not equal:
            self.changed.add(other)

    def part(self, one: int, other: int) -> None:
        """Take an old and a new line off the spine."""
        self.leave_run(other)
        self.version += 1
        self.olds[other] = self.news[one] = -1
        self.changed.discard(other)

    def leave_run(self, other: int) -> None:
        """Take a new line out of its run, if it is in one: its pair is about to change."""
        if self.olds[other] < 0:
            return
        number = bisect_right(self.runs, other, key=itemgetter(1)) - 1
        if number < 0:
            return
        one, start, length = self.runs[number]
        before = other - start
        if before < length:
            halves = ((one, start, before), (one + before + 1, other + 1, length - before - 1))
            self.runs[number : number + 1] = [half for half in halves if half[2]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Lines of a file between two on the spine: those that went and those that came."""

    path: str
    old: range
    new: range


class Pairing:
    """The pairs found so far.

    Args:
        old: path → lines before.
        new: path → lines after.
    """

    def __init__(self, old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> None:
        self.old = {path: old.get(path, ()) for path in sorted({*old, *new})}
        self.new = {path: new.get(path, ()) for path in self.old}
        self.spines = {
            path: Spine(olds=[-1] * len(self.new[path]), news=[-1] * len(lines))
            for path, lines in self.old.items()
        }
        self.far: dict[Line, Line] = {}  # new line → old line, off the spine
        self.left: dict[Line, Line] = {}  # old line → new line, off the spine
        self._stretches: dict[tuple[str, bool], tuple[int, list[Stretch]]] = {}
        self._counts: dict[str, tuple[Counter[str], Counter[str]]] = {}

    def gone(self, line: Line) -> bool:
        """Is there such an old line, and is it unpaired?"""
        path, index = line
        news = self.spines[path].news
        return 0 <= index < len(news) and news[index] < 0 and line not in self.left

    def come(self, line: Line) -> bool:
        """Is there such a new line, and is it unpaired?"""
        path, index = line
        olds = self.spines[path].olds
        return 0 <= index < len(olds) and olds[index] < 0 and line not in self.far

    def alike(self, origin: Line, place: Line) -> bool:
        """Are both there, unpaired, and equal but for outer white space?"""
        return (
            self.gone(origin)
            and self.come(place)
            and self.old[origin[0]][origin[1]].strip() == self.new[place[0]][place[1]].strip()
        )

    def stretches(self, path: str, *, equal: bool) -> list[Stretch]:
        """The stretches of a file between two equal lines, or (`equal` false) between any two on the spine."""
        spine = self.spines[path]
        # The same is asked again and again, and mostly nothing has changed since.
        key = (path, equal and bool(spine.changed))
        version, found = self._stretches.get(key, (-1, []))
        if version == spine.version:
            return found
        apart = spine.changed if key[1] else frozenset()
        found = []
        one = other = begin = 0  # behind the last pair; behind the last run
        for first, start, length in (*spine.runs, (len(spine.news), len(spine.olds), 0)):
            for index in range(begin, start):
                partner = spine.olds[index]
                if partner < 0 or index in apart:
                    continue
                if partner > one or index > other:
                    found.append(Stretch(path=path, old=range(one, partner), new=range(other, index)))
                one, other = partner + 1, index + 1
            if first > one or start > other:
                found.append(Stretch(path=path, old=range(one, first), new=range(other, start)))
            one, other = first + length, start + length
            begin = other
        self._stretches[key] = (spine.version, found)
        return found

    def take(self, origin: Line, place: Line) -> None:
        """Pair two lines off the spine."""
        self.far[place] = origin
        self.left[origin] = place

    def bridge(self, origin: Line, place: Line, length: int) -> bool:
        """Pair the lines between two blocks that moved alike with each other, whatever they were paired with in place.

        Args:
            origin: the first old line between, and `place` the first new one.
            length: how many lines there are between.

        Returns:
            Whether all of them read alike, and are paired now.
        """
        olds = [(origin[0], origin[1] + step) for step in range(length)]
        news = [(place[0], place[1] + step) for step in range(length)]
        for one, other in zip(olds, news, strict=True):
            if one in self.left or other in self.far:
                return False
            if self.old[one[0]][one[1]].strip() != self.new[other[0]][other[1]].strip():
                return False
        for one, other in zip(olds, news, strict=True):
            partner = self.spines[one[0]].news[one[1]]
            if partner >= 0:
                self.spines[one[0]].part(one[1], partner)
            self.release(other)
            self.take(one, other)
        return True

    def loosen(self, origin: Line, place: Line) -> bool:
        """Free two lines that read alike, by giving their partners on the spine others of the same text.

        Returns:
            Whether both are free now. If not, as many lines are paired as before.
        """
        old, new = self.old[origin[0]], self.new[place[0]]
        if not (0 <= origin[1] < len(old) and 0 <= place[1] < len(new)):
            return False
        if old[origin[1]].strip() != new[place[1]].strip() or origin in self.left or place in self.far:
            return False
        here, there = self.spines[origin[0]], self.spines[place[0]]
        partner = here.news[origin[1]]
        if partner >= 0:
            if (origin[0], partner) == place:
                return False
            other = _another(origin, old, here.news, here.olds, self.left)
            if other is None:
                return False
            here.news[origin[1]] = -1
            here.pair(other, partner, equal=partner not in here.changed)
        counterpart = there.olds[place[1]]
        if counterpart >= 0:
            other = _another(place, new, there.olds, there.news, self.far)
            if other is None:
                return False
            there.leave_run(place[1])
            there.olds[place[1]] = -1
            there.pair(counterpart, other, equal=place[1] not in there.changed)
            there.changed.discard(place[1])
        return True

    def origin_of(self, place: Line) -> Line | None:
        """The old line that a new one is paired with, on the spine or off it."""
        one = self.spines[place[0]].olds[place[1]]
        return (place[0], one) if one >= 0 else self.far.get(place)

    def place_of(self, origin: Line) -> Line | None:
        """The new line that an old one is paired with, on the spine or off it; None also if there is no such line."""
        news = self.spines[origin[0]].news
        if not 0 <= origin[1] < len(news):
            return None
        other = news[origin[1]]
        return (origin[0], other) if other >= 0 else self.left.get(origin)

    def join(self, origin: Line, place: Line, step: int) -> None:
        """Pair two lines as the pair beside them (`step` back) is paired: on the spine or off it."""
        spine = self.spines[place[0]]
        beside = spine.olds[place[1] - step] if 0 <= place[1] - step < len(spine.olds) else -1
        if origin[0] == place[0] and beside == origin[1] - step and beside >= 0:
            equal = self.old[origin[0]][origin[1]] == self.new[place[0]][place[1]]
            spine.pair(origin[1], place[1], equal=equal)
        else:
            self.take(origin, place)

    def release(self, place: Line) -> None:
        """Take a new line's pair apart, if it has one."""
        origin = self.origin_of(place)
        if origin is None:
            return
        if place in self.far:
            del self.far[place], self.left[origin]
        else:
            self.spines[place[0]].part(origin[1], place[1])

    def weight(self, place: Line, length: int, *, least: float = 0) -> float:
        """Alphanumerics of a block of new lines, shared out among the places where it could come from.

        A block that is found again and again proves little about where it was. If even the plain sum is below
        `least`, that sum.
        """
        path, first = place
        lines = self.new[path][first : first + length]
        total = sum(map(alphanumerics, lines))
        if total < least:
            return total
        if length <= FEW_LINES:
            # No block is found more often than its rarest line; there is mostly one that is there once.
            rarest = min(self._count(line) for line in lines)
            if rarest <= 1 or length == 1:
                return total / max(1, rarest)
        return total / max(1, self._occurrences.most([line.strip() for line in lines]))

    def _count(self, line: str) -> int:
        # A re-indented line is another one here: a little rarer than it is.
        counts = [self.counts(path) for path in self.spines]
        return max(sum(before[line] for before, _ in counts), sum(after[line] for _, after in counts))

    def counts(self, path: str) -> tuple[Counter[str], Counter[str]]:
        """How often each line is in a file, before and after."""
        found = self._counts.get(path)
        if found is None:
            old, new = self.old[path], self.new[path]
            before = old.counts if isinstance(old, Lines) else Counter(old)
            # Equal lines need not be counted twice.
            after = before.copy()
            for stretch in self.stretches(path, equal=True):
                after.update(new[stretch.new.start : stretch.new.stop])
                after.subtract(old[stretch.old.start : stretch.old.stop])
            if isinstance(new, Lines):
                for line in [line for line, count in after.items() if not count]:
                    del after[line]
                new.counts = after
            found = self._counts[path] = (before, after)
        return found

    @cached_property
    def _occurrences(self) -> "_Occurrences":
        return _Occurrences(self.old.values(), self.new.values())


def _another(
    line: Line,
    lines: Sequence[str],
    across: Sequence[int],
    back: Sequence[int],
    moved: Mapping[Line, Line],
) -> int | None:
    """Another unpaired line of the same text that `line`'s partner could have, with all pairs still in order.

    A slide gives one line at one end of a gap for one at the other end: nothing else is looked at.

    Args:
        line: the line to be freed.
        lines: the lines of its side; `across` leads from them over the spine, `back` leads here.
        moved: that side's lines that are paired off the spine.
    """
    path, index = line
    partner = across[index]
    before = _paired(back, range(partner - 1, max(-1, partner - SLIDE_REACH), -1))
    after = _paired(back, range(partner + 1, min(len(back), partner + SLIDE_REACH)))
    if (before is None and partner >= SLIDE_REACH) or (after is None and partner + SLIDE_REACH < len(back)):
        return None
    first = 0 if before is None else back[before] + 1
    last = len(lines) - 1 if after is None else back[after] - 1
    for candidate in (first, last):
        if (
            candidate != index
            and across[candidate] < 0
            and lines[candidate] == lines[index]
            and (path, candidate) not in moved
        ):
            return candidate
    return None


def _paired(back: Sequence[int], indices: range) -> int | None:
    """The first of the indices that is on the spine."""
    return next((index for index in indices if back[index] >= 0), None)


class _Occurrences:
    """How often stripped lines, and blocks of them, are found before and after a change.

    One character a distinct line turns files into strings, and a block into a substring.
    """

    def __init__(self, *sides: Iterable[Sequence[str]]) -> None:
        stripped = [[list(map(str.strip, lines)) for lines in files] for files in sides]
        distinct = dict.fromkeys(line for files in stripped for lines in files for line in lines)
        # More distinct lines than there are characters share some: a block then seems a little more common.
        self._characters = {line: chr(number % 0x110000) for number, line in enumerate(distinct)}
        self._sides = [
            ["".join([self._characters[line] for line in lines]) for lines in files] for files in stripped
        ]

    def most(self, block: Iterable[str]) -> int:
        """How often the block is there, on the side that has more of it. Its lines are stripped."""
        part = "".join([self._characters[line] for line in block])
        return max(sum(text.count(part) for text in files) for files in self._sides)

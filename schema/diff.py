"""What became of each line: equal, modified, moved, inserted or deleted, over several files at once.

Pure: lines in, operations out. Four passes (research/provenance.md, "Diffs"):

1. libgit2's patience diff of each file finds the equal lines. It runs on tokens, one a distinct line, so
   neither encoding, nor length, nor a missing last terminator can disturb it.
2. Blocks of at least 20 alphanumerics that vanished in one place and appear in another, in any file, moved.
3. Inside a replaced stretch a monotone alignment pairs lines whose similarity is at least 50 (of 100).
   Where as many lines went as came, what is still unpaired between two pairs is paired in order.
4. The move pass again, for blocks that changed places inside one stretch.
5. What is left over in a stretch but whole inside another of its lines was merged into it, or split off it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pygit2
from pygit2.enums import DiffOption
from rapidfuzz import fuzz

MOVED_BLOCK_ALPHANUMERICS = 20
SIMILARITY = 50.0
# A rewritten file must not cost minutes: beyond this many comparisons only a band around the diagonal is seen.
COMPARISONS_PER_STRETCH = 250_000
CANDIDATES_PER_LINE = 32
COMPARED_CHARACTERS = 2_000
# A part of a line below this many alphanumerics ("i++") is found anywhere and proves nothing.
PART_ALPHANUMERICS = 8


class Change(StrEnum):
    """What became of a line (TraceCoder 4.4)."""

    EQUAL = "equal"
    MODIFIED = "modified"
    MOVED = "moved"
    INSERTED = "inserted"
    DELETED = "deleted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One line of one file; `index` counts from 0."""

    path: str
    index: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One line's fate.

    Attributes:
        change: what became of it.
        old: where it was; None when inserted.
        new: where it is; None when deleted.
        merged: deleted lines that the new line holds whole.
        split: changed line that an inserted line was a part of.
    """

    change: Change
    old: Place | None
    new: Place | None
    merged: tuple[Place, ...] = ()
    split: Place | None = None


@dataclass(kw_only=True)
class _Stretch:
    """Lines between two equal lines of a file, as indices: those that went and those that came."""

    path: str
    old: list[int]
    new: list[int]


def split_lines(text: str) -> list[str]:
    r"""Split after each "\n" and nowhere else, terminators kept, so that "".join gives the text back.

    `str.splitlines` also splits at form feeds and U+2028, which no compiler counts as a line.
    """
    lines = text.split("\n")
    last = lines.pop()
    kept = [line + "\n" for line in lines]
    if last:
        kept.append(last)
    return kept


def align(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> tuple[Operation, ...]:
    """Tell what became of every line of `old` and where every line of `new` comes from.

    Args:
        old: path → lines with terminators, before.
        new: path → lines with terminators, after.

    Returns:
        Every old line and every new line in exactly one operation: first those with a new place, by path and
        index, then the deleted ones, by path and index.
    """
    return _Alignment(old, new).operations()


class _Alignment:
    """The pairs found so far, pass by pass."""

    def __init__(self, old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> None:
        self.old, self.new = old, new
        self.pairs: dict[tuple[str, int], tuple[str, int, Change]] = {}  # new place → old place
        self.stretches: list[_Stretch] = []
        # Unpaired places, each with the number of its stretch.
        self.gone: dict[tuple[str, int], int] = {}
        self.come: dict[tuple[str, int], int] = {}
        for path in sorted({*old, *new}):
            self._match_equal(path)
        for number, stretch in enumerate(self.stretches):
            self.gone.update(((stretch.path, index), number) for index in stretch.old)
            self.come.update(((stretch.path, index), number) for index in stretch.new)
        self._match_moves(inside=False)
        for stretch in self.stretches:
            self._match_similar(stretch)
        self._match_moves(inside=True)
        self.merged: dict[tuple[str, int], list[Place]] = defaultdict(list)
        self.split: dict[tuple[str, int], Place] = {}
        for stretch in self.stretches:
            self._find_parts(stretch)

    def operations(self) -> tuple[Operation, ...]:
        result = []
        for path in sorted(self.new):
            for index in range(len(self.new[path])):
                place = Place(path=path, index=index)
                pair = self.pairs.get((path, index))
                merged = tuple(self.merged.get((path, index), ()))
                if pair is None:
                    split = self.split.get((path, index))
                    result.append(
                        Operation(change=Change.INSERTED, old=None, new=place, merged=merged, split=split)
                    )
                else:
                    old = Place(path=pair[0], index=pair[1])
                    result.append(Operation(change=pair[2], old=old, new=place, merged=merged))
        result.extend(
            Operation(change=Change.DELETED, old=Place(path=path, index=index), new=None)
            for path, index in sorted(self.gone)
        )
        return tuple(result)

    def _pair(self, old: tuple[str, int], new: tuple[str, int], change: Change) -> None:
        self.pairs[new] = (*old, change)
        self.gone.pop(old, None)
        self.come.pop(new, None)

    def _match_equal(self, path: str) -> None:
        old, new = self.old.get(path, ()), self.new.get(path, ())
        gone, come = _patience(old, new)
        one = other = 0
        while one < len(old) or other < len(new):
            stretch = _Stretch(path=path, old=[], new=[])
            while one in gone:
                stretch.old.append(one)
                one += 1
            while other in come:
                stretch.new.append(other)
                other += 1
            if stretch.old or stretch.new:
                self.stretches.append(stretch)
            if one < len(old) and other < len(new):
                self.pairs[path, other] = (path, one, Change.EQUAL)
                one += 1
                other += 1

    def _match_moves(self, *, inside: bool) -> None:
        """Pair blocks of equal stripped lines; those of one stretch only if `inside`."""
        origins = defaultdict(list)
        for place in self.gone:
            origins[self.old[place[0]][place[1]].strip()].append(place)
        for seed in sorted(self.come):
            if seed not in self.come:
                continue
            text = self.new[seed[0]][seed[1]].strip()
            if not _alphanumerics(text):
                continue
            best: list[tuple[tuple[str, int], tuple[str, int]]] = []
            best_weight = 0
            candidates = [place for place in origins.get(text, ()) if place in self.gone]
            for candidate in candidates[:CANDIDATES_PER_LINE]:
                if not inside and self.gone[candidate] == self.come[seed]:
                    continue  # a line that stays in its stretch was modified (re-indented), not moved
                block = self._block(candidate, seed, inside=inside)
                weight = sum(_alphanumerics(self.new[place[0]][place[1]]) for _, place in block)
                if weight > best_weight:
                    best, best_weight = block, weight
            if best_weight >= MOVED_BLOCK_ALPHANUMERICS:
                for origin, place in best:
                    self._pair(origin, place, Change.MOVED)

    def _block(
        self, old: tuple[str, int], new: tuple[str, int], *, inside: bool
    ) -> list[tuple[tuple[str, int], tuple[str, int]]]:
        """The longest run of unpaired lines around one pair that are equal but for outer white space."""
        block = [(old, new)]
        for step in (1, -1):
            distance = step
            while True:
                one, other = (old[0], old[1] + distance), (new[0], new[1] + distance)
                if one not in self.gone or other not in self.come:
                    break
                if not inside and self.gone[one] == self.come[other]:
                    break
                if self.old[one[0]][one[1]].strip() != self.new[other[0]][other[1]].strip():
                    break
                block.append((one, other))
                distance += step
        return block

    def _match_similar(self, stretch: _Stretch) -> None:
        """Pair the similar lines of one stretch, in order."""
        path = stretch.path
        old = [index for index in stretch.old if (path, index) in self.gone]
        new = [index for index in stretch.new if (path, index) in self.come]
        if not old or not new:
            return
        pairs = _similar(
            [_compared(self.old[path][index]) for index in old],
            [_compared(self.new[path][index]) for index in new],
        )
        if len(stretch.old) == len(stretch.new):
            pairs = _fill(pairs, len(old), len(new))
        for one, other in pairs:
            self._pair((path, old[one]), (path, new[other]), Change.MODIFIED)

    def _find_parts(self, stretch: _Stretch) -> None:
        """Find leftover lines that are whole inside another line of their stretch."""
        path = stretch.path
        if not stretch.old or not stretch.new:
            return
        if len(stretch.old) * len(stretch.new) > COMPARISONS_PER_STRETCH:
            return
        old = {index: _squeezed(self.old[path][index]) for index in stretch.old}
        new = {index: _squeezed(self.new[path][index]) for index in stretch.new}
        for index, part in old.items():
            if (path, index) in self.gone and _alphanumerics(part) >= PART_ALPHANUMERICS:
                whole = next((other for other, line in new.items() if part in line), None)
                if whole is not None:
                    self.merged[path, whole].append(Place(path=path, index=index))
        for index, part in new.items():
            if (path, index) in self.come and _alphanumerics(part) >= PART_ALPHANUMERICS:
                whole = next((other for other, line in old.items() if part in line), None)
                if whole is not None:
                    self.split[path, index] = Place(path=path, index=whole)


def _alphanumerics(text: str) -> int:
    return sum(map(str.isalnum, text))


def _compared(line: str) -> str:
    """The part of a line that similarity looks at: a megabyte of data must not cost a square of it."""
    text = line.strip()
    if len(text) > COMPARED_CHARACTERS:
        return text[: COMPARED_CHARACTERS // 2] + text[-COMPARED_CHARACTERS // 2 :]
    return text


def _squeezed(line: str) -> str:
    """A line without white space: what a formatter moves between lines."""
    return "".join(line[: 2 * COMPARED_CHARACTERS].split())


def _patience(old: Sequence[str], new: Sequence[str]) -> tuple[set[int], set[int]]:
    """Indices of old lines that went and of new lines that came, by libgit2's patience diff."""
    if not old or not new:
        return set(range(len(old))), set(range(len(new)))
    tokens: dict[str, int] = {}
    sides = [
        "".join(f"{tokens.setdefault(line, len(tokens)):x}\n" for line in lines).encode()
        for lines in (old, new)
    ]
    gone: set[int] = set()
    come: set[int] = set()
    if sides[0] == sides[1]:
        return gone, come
    patch = pygit2.Patch.create_from(
        sides[0],
        sides[1],
        context_lines=0,
        flag=DiffOption.PATIENCE | DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT,
    )
    for hunk in patch.hunks:
        # With no context every line of a hunk is a change; an empty side names the line before it.
        gone.update(range(hunk.old_start - 1, hunk.old_start - 1 + hunk.old_lines))
        come.update(range(hunk.new_start - 1, hunk.new_start - 1 + hunk.new_lines))
    return gone, come


def _similar(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The monotone pairing with the greatest total of similarity above the threshold.

    Points above the threshold count, not similarity itself, so that two poor pairs never displace a good one.
    """
    rows, columns = len(old), len(new)
    reach = columns if rows * columns <= COMPARISONS_PER_STRETCH else COMPARISONS_PER_STRETCH // (2 * rows)
    best_above = [0.0] * (columns + 1)
    choices: list[
        tuple[int, list[int]]
    ] = []  # a row: its first column, then 0 = skip new, 1 = skip old, 2 = pair
    for row in range(rows):
        center = row * columns // rows
        first, last = max(0, center - reach), min(columns, center + reach + 1)
        best = best_above.copy()
        choice = []
        for column in range(first, last):
            value, step = best_above[column + 1], 1
            if best[column] > value:
                value, step = best[column], 0
            score = fuzz.ratio(old[row], new[column], score_cutoff=SIMILARITY)
            if score >= SIMILARITY and best_above[column] + score - SIMILARITY + 1 > value:
                value, step = best_above[column] + score - SIMILARITY + 1, 2
            best[column + 1] = value
            choice.append(step)
        for column in range(last, columns):
            # Outside the band nothing new is paired, but a row's total never falls to the right.
            best[column + 1] = max(best[column + 1], best[column])
        choices.append((first, choice))
        best_above = best
    return _walk(choices, columns)


def _walk(choices: list[tuple[int, list[int]]], columns: int) -> list[tuple[int, int]]:
    """Follow the choices back from the last row and column."""
    pairs = []
    row, column = len(choices) - 1, columns - 1
    while row >= 0 and column >= 0:
        first, choice = choices[row]
        if column < first:
            row -= 1
            continue
        if column >= first + len(choice):
            column -= 1
            continue
        step = choice[column - first]
        if step == 2:
            pairs.append((row, column))
            row, column = row - 1, column - 1
        elif step == 1:
            row -= 1
        else:
            column -= 1
    pairs.reverse()
    return pairs


def _fill(pairs: list[tuple[int, int]], rows: int, columns: int) -> list[tuple[int, int]]:
    """Pair what lies between two pairs in order, where both sides have as many."""
    filled: list[tuple[int, int]] = []
    one = other = 0
    for row, column in [*pairs, (rows, columns)]:
        if row - one == column - other:
            filled.extend(zip(range(one, row), range(other, column), strict=True))
        if row < rows:
            filled.append((row, column))
        one, other = row + 1, column + 1
    return filled

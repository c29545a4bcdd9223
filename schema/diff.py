"""What became of each line: equal, modified, moved, inserted or deleted, over several files at once.

Pure: lines in, operations out. Passes (research/provenance.md, "Diffs"):

1. The spine of each file: pairs of lines in order. libgit2's patience diff gives the equal ones. Equal lines
   that prove nothing (a lone brace between two changes) are let go, to be paired again with what is around them.
   Then lines that differ in their outer white space alone join: a block that was indented stays in its place.
2. Blocks of at least 20 alphanumerics that vanished in one place and appear in another, in any file, moved;
   the heaviest first. Where a block could begin a line earlier or later, it is slid until both sides fit.
   Lines beside a moved block that are like their counterparts were edited on the way: modified, from afar.
3. Inside a replaced stretch a monotone alignment pairs lines whose similarity is at least 50 (of 100).
   Where as many lines went as came, what is still unpaired between two pairs is paired in order.
4. What is left over in a stretch but whole inside another of its lines was merged into it, or split off it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO
from itertools import islice

from schema.matching import COMPARED_CHARACTERS, Lines, Run, alphanumerics, equal_runs, similar_pairs
from schema.moves import match_moves
from schema.pairing import Pairing, Stretch

# An equal run of so few lines between two changes is no anchor if it has so few alphanumerics ("}", "else {"), or,
# with a few more, is found in so many places that each gets as few.
WEAK_LINES = 3
WEAK_ALPHANUMERICS = 4
WEAK_COMMON = 60
# Merged and split lines are looked for in stretches up to this many pairs.
PARTS_PER_STRETCH = 250_000
# A part of a line below this many alphanumerics ("i++") is found anywhere and proves nothing.
PART_ALPHANUMERICS = 8

# Blank lines, and those of brackets alone.
_FRAME = re.compile(r"[\s{}()\[\];,:]*")


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
        change: what became of it. A line that was moved and edited is modified: that it moved shows in its places.
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


def split_lines(text: str) -> Lines:
    r"""Split after each "\n" and nowhere else, terminators kept, so that "".join gives the text back.

    `str.splitlines` also splits at form feeds and U+2028, which no compiler counts as a line.
    """
    return Lines(StringIO(text, newline="\n"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What became of the lines of several files.

    Attributes:
        operations: one for each line that is not equal: first those with a new place, by path and index, then the
            deleted ones, by path and index.
        stretches: path → the stretches of its lines that are not equal, in order. Between two of them, and before the
            first and after the last one, the old and the new lines are equal one by one.
    """

    operations: tuple[Operation, ...]
    stretches: Mapping[str, Sequence[Stretch]]


def align(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> tuple[Operation, ...]:
    """Tell what became of every line of `old` and where every line of `new` comes from.

    Args:
        old: path → lines with terminators, before.
        new: path → lines with terminators, after.

    Returns:
        Every old line and every new line in exactly one operation: first those with a new place, by path and
        index, then the deleted ones, by path and index. The equal ones of a file keep their order.
    """
    found = difference(old, new)
    changed = iter(found.operations)
    result: list[Operation] = []
    for path in sorted(new):
        one = other = 0
        end = Stretch(path=path, old=range(len(old.get(path, ())), 0), new=range(len(new[path]), 0))
        for stretch in (*found.stretches[path], end):
            result.extend(
                Operation(
                    change=Change.EQUAL,
                    old=Place(path=path, index=one + step),
                    new=Place(path=path, index=other + step),
                )
                for step in range(stretch.new.start - other)
            )
            result.extend(islice(changed, len(stretch.new)))
            one, other = stretch.old.stop, stretch.new.stop
    return (*result, *changed)


def difference(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> Difference:
    """The same without an operation for each equal line, of which there are many.

    Args:
        old: path → lines with terminators, before.
        new: path → lines with terminators, after.
    """
    pairing = Pairing(old, new)
    for path in pairing.spines:
        _match_in_place(pairing, path)
    match_moves(pairing)
    for path in pairing.spines:
        _match_similar(pairing, path)
    merged: dict[tuple[str, int], list[Place]] = defaultdict(list)
    split: dict[tuple[str, int], Place] = {}
    stretches: dict[str, tuple[Stretch, ...]] = {}
    coming: list[Operation] = []
    going: list[Operation] = []
    for path in pairing.spines:
        stretches[path] = tuple(pairing.stretches(path, equal=True))
        for stretch in stretches[path]:
            _find_parts(pairing, stretch, merged, split)
        for stretch in stretches[path]:
            for line in ((path, index) for index in stretch.new):
                coming.append(_operation(pairing, line, tuple(merged.get(line, ())), split.get(line)))
            going += [
                Operation(change=Change.DELETED, old=Place(path=path, index=index), new=None)
                for index in stretch.old
                if pairing.gone((path, index))
            ]
    return Difference(operations=(*coming, *going), stretches=stretches)


def _operation(
    pairing: Pairing, line: tuple[str, int], merged: tuple[Place, ...], split: Place | None
) -> Operation:
    """The fate of a new line that is not equal."""
    path, index = line
    place = Place(path=path, index=index)
    one = pairing.spines[path].olds[index]
    if one >= 0:
        old = Place(path=path, index=one)
        return Operation(change=Change.MODIFIED, old=old, new=place, merged=merged)
    origin = pairing.far.get(line)
    if origin is None:
        return Operation(change=Change.INSERTED, old=None, new=place, merged=merged, split=split)
    moved = pairing.old[origin[0]][origin[1]].strip() == pairing.new[path][index].strip()
    return Operation(
        change=Change.MOVED if moved else Change.MODIFIED,
        old=Place(path=origin[0], index=origin[1]),
        new=place,
        merged=merged,
    )


def _match_in_place(pairing: Pairing, path: str) -> None:
    """Pass 1: the spine."""
    old, new, spine = pairing.old[path], pairing.new[path], pairing.spines[path]
    runs = equal_runs(old, new)
    spine.pair_runs(runs)
    spine.part_runs([run for run in runs if _is_weak(pairing, path, run)])
    for stretch in pairing.stretches(path, equal=True):
        before = [old[index].strip() for index in stretch.old]
        after = [new[index].strip() for index in stretch.new]
        shared = set(before).intersection(after)
        if sum(alphanumerics(line) for line in before if line in shared) < PART_ALPHANUMERICS:
            continue
        for one, other, count in equal_runs(before, after):
            if sum(map(alphanumerics, before[one : one + count])) >= PART_ALPHANUMERICS:
                for step in range(count):
                    here, there = stretch.old[one + step], stretch.new[other + step]
                    spine.pair(here, there, equal=old[here] == new[there])


def _is_weak(pairing: Pairing, path: str, run: Run) -> bool:
    """Say whether a run of equal lines is one between two changes that proves nothing."""
    one, other, count = run
    old, new = pairing.old[path], pairing.new[path]
    between = (one or other) and (one + count < len(old) or other + count < len(new))
    if not between or count > WEAK_LINES:
        return False
    lines = old[one : one + count]
    told: float = sum(map(alphanumerics, lines))
    if WEAK_ALPHANUMERICS < told <= WEAK_COMMON:
        before, after = pairing.counts(path)
        told /= min(max(before[line], after[line]) for line in lines)
    return told <= WEAK_ALPHANUMERICS


def _match_similar(pairing: Pairing, path: str) -> None:
    """Pass 3: likeness."""
    old, new, spine = pairing.old[path], pairing.new[path], pairing.spines[path]
    for stretch in pairing.stretches(path, equal=False):
        gone = [index for index in stretch.old if (path, index) not in pairing.left]
        come = [index for index in stretch.new if (path, index) not in pairing.far]
        if not gone or not come:
            continue
        for one, other in similar_pairs([old[index] for index in gone], [new[index] for index in come]):
            spine.pair(gone[one], come[other], equal=old[gone[one]] == new[come[other]])
    for stretch in pairing.stretches(path, equal=True):
        if len(stretch.old) == len(stretch.new):
            _fill(pairing, stretch)


def _fill(pairing: Pairing, stretch: Stretch) -> None:
    """Pair what lies between two pairs in order, where both sides have as many."""
    path, spine = stretch.path, pairing.spines[stretch.path]
    gone: list[int] = []
    come: list[int] = []
    rest = iter([*stretch.old, -1])
    for index in [*stretch.new, -1]:
        partner = spine.olds[index] if index >= 0 else -1
        if index >= 0 and partner < 0:
            if (path, index) not in pairing.far:
                come.append(index)
            continue
        for one in rest:
            if one == partner:
                break
            if (path, one) not in pairing.left:
                gone.append(one)
        if len(gone) == len(come):
            for one, other in zip(gone, come, strict=True):
                before, after = pairing.old[path][one], pairing.new[path][other]
                # A statement in a brace's or a blank line's place was not made from it.
                if bool(_FRAME.fullmatch(before)) == bool(_FRAME.fullmatch(after)):
                    spine.pair(one, other, equal=before == after)
        gone, come = [], []


def _find_parts(
    pairing: Pairing,
    stretch: Stretch,
    merged: dict[tuple[str, int], list[Place]],
    split: dict[tuple[str, int], Place],
) -> None:
    """Pass 4: leftover lines that are whole inside another line of their stretch."""
    path = stretch.path
    old, new = pairing.old[path], pairing.new[path]
    if not 0 < len(stretch.old) * len(stretch.new) <= PARTS_PER_STRETCH:
        return
    gone = [index for index in stretch.old if pairing.gone((path, index))]
    come = [index for index in stretch.new if pairing.come((path, index))]
    if gone:
        wholes = {index: _squeezed(new[index]) for index in stretch.new}
        for index in gone:
            whole = _whole_of(old[index], wholes)
            if whole is not None:
                merged[path, whole].append(Place(path=path, index=index))
    if come:
        wholes = {index: _squeezed(old[index]) for index in stretch.old}
        for index in come:
            whole = _whole_of(new[index], wholes)
            if whole is not None:
                split[path, index] = Place(path=path, index=whole)


def _squeezed(line: str) -> str:
    """A line without white space: what a formatter moves between lines."""
    return "".join(line[: 2 * COMPARED_CHARACTERS].split())


def _whole_of(line: str, wholes: Mapping[int, str]) -> int | None:
    """The first of `wholes` that holds the line."""
    part = _squeezed(line)
    if alphanumerics(part) < PART_ALPHANUMERICS:
        return None
    return next((index for index, whole in wholes.items() if part in whole), None)

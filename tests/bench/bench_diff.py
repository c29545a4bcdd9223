"""Diff quality and speed against difflib, git's patience diff, and pairing in place, on edits of known truth.

The inputs are those of research/provenance.md ("Diffs"), made anew: 5,000 lines, 200 scattered edits with moves;
degenerate repetitive files; and what people do to programs (tests/bench/edits.py). Means over fixed seeds.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import pygit2
from pygit2.enums import DiffOption

from schema.diff import Change, align, difference
from schema.matching import Run
from tests.bench.edits import Edited, Place, hard_cases, scattered
from tests.bench.measure import Measure, median_seconds

SEEDS = range(8)
Found = Mapping[Place, tuple[Place, Change]]  # new line → old line, and how it follows from it


@dataclass(frozen=True, kw_only=True)
class Score:
    """How a diff did on one input.

    Attributes:
        false: equal lines that were paired with another old line than theirs.
        missed: lines that stayed and were not found to.
        lost: moved, unedited lines that were not traced to where they had been.
        right, wrong: edited lines in unequal replacements whose predecessor was found; lines given one that is not.
        changed: lines deleted and inserted.
    """

    false: int
    missed: int
    lost: int
    right: int
    wrong: int
    changed: int


def score(edited: Edited, found: Found) -> Score:
    """Hold what was found against the truth."""
    false = missed = lost = right = wrong = 0
    for place, change in edited.changes.items():
        origin, pair = edited.origins.get(place), found.get(place)
        good = pair is not None and pair[0] == origin
        if pair is not None and pair[1] is Change.EQUAL:
            false += not good
        elif pair is not None:
            wrong += not good
        missed += change is Change.EQUAL and not good
        lost += change is Change.MOVED and not good
        right += place in edited.in_unequal and good
    lines = sum(map(len, edited.old.values())) + sum(map(len, edited.new.values()))
    return Score(
        false=false, missed=missed, lost=lost, right=right, wrong=wrong, changed=lines - 2 * len(found)
    )


def ours(edited: Edited) -> Found:
    """This project's diff."""
    return {
        (operation.new.path, operation.new.index): (
            (operation.old.path, operation.old.index),
            operation.change,
        )
        for operation in align(edited.old, edited.new)
        if operation.old is not None and operation.new is not None
    }


def _by_runs(
    edited: Edited, runs: Callable[[Sequence[str], Sequence[str]], list[Run]], *, fill: bool
) -> Found:
    """A diff that knows equal runs alone; with `fill`, the lines between are paired in place, one by one."""
    found: dict[Place, tuple[Place, Change]] = {}
    for path, after in edited.new.items():
        before = edited.old.get(path, ())
        one = other = 0
        for first, second, count in [*runs(before, after), (len(before), len(after), 0)]:
            if fill:
                for step in range(min(first - one, second - other)):
                    found[path, other + step] = ((path, one + step), Change.MODIFIED)
            for step in range(count):
                found[path, second + step] = ((path, first + step), Change.EQUAL)
            one, other = first + count, second + count
    return found


def _difflib(*, autojunk: bool) -> Callable[[Sequence[str], Sequence[str]], list[Run]]:
    def runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=autojunk).get_matching_blocks()
        return [(block.a, block.b, block.size) for block in blocks if block.size]

    return runs


def _patience(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """libgit2's patience diff of the files as they are."""
    patch = pygit2.Patch.create_from(
        "".join(old).encode(), "".join(new).encode(), context_lines=0, flag=DiffOption.PATIENCE
    )
    runs = []
    one = other = 0
    for hunk in patch.hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        runs.append((one, other, start - one))
        other += start - one + hunk.new_lines
        one = start + hunk.old_lines
    return [*runs, (one, other, len(old) - one)]


def difflib_found(edited: Edited) -> Found:
    """difflib without its junk heuristic, replaced lines paired in place."""
    return _by_runs(edited, _difflib(autojunk=False), fill=True)


def patience_found(edited: Edited) -> Found:
    """Plain patience, replaced lines paired in place."""
    return _by_runs(edited, _patience, fill=True)


def measures() -> Iterator[Measure]:
    """Quality on known truth, then time."""
    yield from _degenerate()
    for program in ("cpp", "python"):
        for seen in (0.0, 0.5):
            yield from _scattered(program, seen)
    yield from _hard()
    yield from _time()


def _degenerate() -> Iterator[Measure]:
    lines = ["a\n", "b\n"] * 100
    old, new = {"f": lines}, {"f": [*lines[:77], "new line\n", *lines[77:]]}
    matcher = difflib.SequenceMatcher(None, old["f"], new["f"])
    yield Measure(
        name="['a','b']*100 and one insertion: lines not found equal",
        ours=sum(operation.change is not Change.EQUAL for operation in align(old, new)),
        against=sum(two for tag, _, _, one, two in matcher.get_opcodes() if tag != "equal"),
        unit="lines",
        peer="difflib",
        at_most=0.05,
    )
    for seed in SEEDS[:3]:
        edited = scattered(seed, program="repeated")
        whole = sum(map(len, edited.old.values()))
        for peer, against, at_most in (
            ("truth", whole - len(edited.origins), 1.5),
            ("difflib", whole - len(_by_runs(edited, _difflib(autojunk=True), fill=False)), 272 / 4_987),
            ("patience", whole - len(_by_runs(edited, _patience, fill=False)), 1),
        ):
            yield Measure(
                name=f"5,000 lines of eight kinds, 200 edits, seed {seed}: lines deleted",
                ours=sum(operation.change is Change.DELETED for operation in align(edited.old, edited.new)),
                against=against,
                unit="lines",
                peer=peer,
                at_most=at_most,
            )


def _scattered(program: str, seen: float) -> Iterator[Measure]:
    inputs = [scattered(seed, program=program, seen=seen) for seed in SEEDS]
    us = [score(edited, ours(edited)) for edited in inputs]
    plain = [score(edited, patience_found(edited)) for edited in inputs]
    # difflib is quadratic: two inputs.
    other = [score(edited, difflib_found(edited)) for edited in inputs[:2]]
    what = f"{program}, 5,000 lines, 200 edits" + (
        f", {seen:.0%} of the new lines seen before" if seen else ""
    )
    edited_lines = mean(len(edited.in_unequal) for edited in inputs)
    moved = mean(sum(change is Change.MOVED for change in edited.changes.values()) for edited in inputs)

    def told(
        name: str,
        figure: str,
        peer: str,
        against: float,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> Measure:
        return Measure(
            name=f"{what}: {name}",
            ours=mean(getattr(one, figure) for one in us),
            against=against,
            unit="lines",
            peer=peer,
            at_most=at_most,
            at_least=at_least,
        )

    yield told("false matches", "false", "patience", mean(one.false for one in plain), at_most=1)
    yield told("false matches", "false", "difflib", mean(one.false for one in other))
    if not seen:
        yield told("false matches", "false", "limit of the issue", 6, at_most=1)
    yield told("moved lines lost", "lost", "patience", mean(one.lost for one in plain), at_most=8.6 / 106)
    yield told("moved lines lost", "lost", "all that moved", moved)
    yield told("right predecessors", "right", "all there are", edited_lines, at_least=0.9)
    yield told(
        "right predecessors", "right", "paired in place", mean(one.right for one in plain), at_least=149 / 104
    )
    yield told(
        "wrong predecessors",
        "wrong",
        "paired in place",
        mean(one.wrong for one in plain),
        # In Python the new lines are unlike the old ones; one for one in a place, they count as replaced all the same.
        at_most=0.2 if seen else 0.1,
    )
    yield told("wrong predecessors", "wrong", "difflib", mean(one.wrong for one in other))


def _hard() -> Iterator[Measure]:
    found: dict[str, list[tuple[int, int]]] = {}
    for seed in SEEDS:
        for name, edited in hard_cases(seed):
            marks = [score(edited, one(edited)) for one in (ours, patience_found)]
            us, them = ((mark.false + mark.missed + mark.lost + mark.wrong) for mark in marks)
            found.setdefault(name, []).append((us, them))
    for name, pairs in found.items():
        yield Measure(
            name=f"{name}: lines with a wrong or no origin",
            ours=mean(us for us, _ in pairs),
            against=max(mean(them for _, them in pairs), 0.5),
            unit="lines",
            peer="patience, paired in place",
            at_most=1,
        )


def _time() -> Iterator[Measure]:
    edited = scattered(0)
    old, new = edited.old["kernel"], edited.new["kernel"]
    seconds = median_seconds(lambda: difference(edited.old, edited.new), runs=9)
    for peer, work, runs, at_most in (
        ("difflib, autojunk=False", lambda: _difflib(autojunk=False)(old, new), 1, 0.2),
        ("patience alone: no moves, no predecessors", lambda: _patience(old, new), 9, 20),
    ):
        yield Measure(
            name="time for 5,000 lines, 200 edits",
            ours=seconds * 1_000,
            against=median_seconds(work, runs=runs, warm=0) * 1_000,
            unit="ms",
            peer=peer,
            at_most=at_most,
        )

"""Pairing two sequences of lines in order: by identity, and by likeness.

Pure: lines in, pairs of indices out. `schema.diff` calls it for files, stretches and moved blocks.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import pygit2
from pygit2.enums import DiffOption
from rapidfuzz import fuzz, process
from rapidfuzz.distance import LCSseq

SIMILARITY = 50.0
# A rewritten file must not cost minutes: with more comparisons, or longer lines, only a band around the
# diagonal is seen.
COMPARISONS = 1_000_000
CHARACTERS_SQUARED = 4_000_000_000
COMPARED_CHARACTERS = 2_000
# Larger files are told in tokens, which are short.
PLAIN_CHARACTERS = 1_000_000
# A line of this many letters and digits says as much about its place as any longer one.
TELLING_ALPHANUMERICS = 24

# Up to so many lines are compared quicker one by one than as a batch.
FEW_RIGHT = 8

# How much the words that two lines share count beside their letters.
WORDS = 4.0

_WORD = re.compile(r"\w+|[^\w\s]")

Run = tuple[int, int, int]  # first old index, first new index, count
Pair = tuple[int, int]  # old index, new index


def alphanumerics(text: str) -> int:
    """How many letters and digits a line has: braces and blanks are found anywhere and prove nothing."""
    return sum(map(str.isalnum, text))


def compared(line: str) -> str:
    """The part of a line that likeness looks at: a megabyte of data must not cost a square of it."""
    text = line.strip()
    if len(text) > COMPARED_CHARACTERS:
        return text[: COMPARED_CHARACTERS // 2] + text[-COMPARED_CHARACTERS // 2 :]
    return text


def equal_runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """The runs of equal lines in libgit2's patience diff, in order.

    Where a change can slide up or down, git's heuristic puts it where a person would.
    """
    if not old or not new:
        return []
    before, after = _plain(old), _plain(new)
    if before is None or after is None:
        before, after = _as_tokens(old, new)
    if before == after:
        return [(0, 0, len(old))]
    patch = pygit2.Patch.create_from(
        before,
        after,
        context_lines=0,
        flag=DiffOption.PATIENCE | DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT,
    )
    runs = []
    one = other = 0
    for hunk in patch.hunks:
        # With no context every line of a hunk is a change; an empty side names the line before it.
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        if start > one:
            runs.append((one, other, start - one))
        other += start - one + hunk.new_lines
        one = start + hunk.old_lines
    if one < len(old):
        runs.append((one, other, len(old) - one))
    return runs


class Lines(list[str]):
    """The lines of a file, which nobody changes, and what was found out about them: the next revision asks again."""

    @cached_property
    def plain(self) -> bytes | None:
        """As one file in which libgit2 sees the same lines; None if it would see others."""
        return _joined(self)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each line is there."""
        return Counter(self)


def _plain(lines: Sequence[str]) -> bytes | None:
    return lines.plain if isinstance(lines, Lines) else _joined(lines)


def _joined(lines: Sequence[str]) -> bytes | None:
    text = "".join(lines)
    if not text.endswith("\n") or text.count("\n") != len(lines) or len(text) > PLAIN_CHARACTERS:
        return None
    return text.encode("utf-8", "surrogatepass")


def _as_tokens(old: Sequence[str], new: Sequence[str]) -> tuple[bytes, bytes]:
    """Files with one short token a distinct line, whatever is in the lines, and whether or not they end.

    A token keeps its line's indentation, and that of a blank line is blank, for git's heuristic.
    """
    tokens: dict[str, str] = {}
    blanks = 0
    for line in dict.fromkeys((*old, *new)):
        text = line.lstrip()
        if text:
            indent = len(line) - len(text)
            if "\t" in line[:indent]:
                indent = len(line[:indent].expandtabs())
            tokens[line] = " " * min(indent, 100) + f"{len(tokens):x}"
        else:
            tokens[line] = " " * blanks
            blanks += 1
    before, after = ("\n".join([tokens[line] for line in lines]) + "\n" for lines in (old, new))
    return before.encode(), after.encode()


def similar_pairs(old: Sequence[str], new: Sequence[str], *, cutoff: float = SIMILARITY) -> list[Pair]:
    """The pairing in order with the greatest total of likeness.

    Args:
        old: lines before.
        new: lines after.
        cutoff: rapidfuzz ratio, 0 to 100, below which two lines are no pair.

    Returns:
        Pairs with ascending old and new indices. What counts is how far a ratio is above the cutoff, so that two
        poor pairs never displace a good one, and how much the lines tell: a brace never displaces a statement.
    """
    rows, columns = len(old), len(new)
    if not rows or not columns:
        return []
    left, right = [compared(line) for line in old], [compared(line) for line in new]
    reach = _reach(left, right)
    whole: dict[str, list[tuple[float, int]]] = {}
    found: list[list[tuple[float, int]]] = []
    for row, text in enumerate(left):
        first, last = 0, columns
        if reach < columns:
            center = row * columns // rows
            first, last = max(0, center - reach), min(columns, center + reach + 1)
            found.append(_like(text, right, first, last, cutoff))
            continue
        if text not in whole:
            whole[text] = _like(text, right, first, last, cutoff)
        found.append(whole[text])
    plain = [(row, hits[0][1]) for row, hits in enumerate(found) if hits]
    if all(len(hits) <= 1 for hits in found) and all(one[1] < other[1] for one, other in pairwise(plain)):
        return plain  # nothing to choose from
    return _heaviest(old, new, left, right, found, cutoff)


def _heaviest(
    old: Sequence[str],
    new: Sequence[str],
    left: Sequence[str],
    right: Sequence[str],
    found: Sequence[Sequence[tuple[float, int]]],
    cutoff: float,
) -> list[Pair]:
    """Of the pairs found for each row, those of the heaviest chain."""
    tells = [1.0 + min(alphanumerics(text), TELLING_ALPHANUMERICS) for text in right]
    words = _Words()
    spoken: list[str | None] = [None] * len(right)
    chain = _Chain()
    for row, hits in enumerate(found):
        if not hits:
            continue
        told, said = 1.0 + min(alphanumerics(left[row]), TELLING_ALPHANUMERICS), words.spell(left[row])
        for score, column in hits:
            heard = spoken[column]
            if heard is None:
                heard = spoken[column] = words.spell(right[column])
            weight = (score - cutoff + 1) * (1 + WORDS * _kept_words(said, heard)) * min(told, tells[column])
            if old[row] == new[column]:
                weight *= 1.1
            chain.add(row, column, weight)
    return chain.best()


class _Alphabet(dict[str, str]):
    """A character a word; a word that has none gets the next one."""

    def __missing__(self, word: str) -> str:
        character = self[word] = chr(1 + len(self) % 0x10FFFF)
        return character


class _Words:
    """Lines as strings of one character a word or sign, so that likeness by words is likeness of strings."""

    def __init__(self) -> None:
        self._known = _Alphabet()

    def spell(self, line: str) -> str:
        return "".join(map(self._known.__getitem__, _WORD.findall(line)))


def _kept_words(old: str, new: str) -> float:
    """The share of words of the line that has fewer that are found, in order, in the other one.

    An edit that wraps an argument or adds a remark keeps all; another call of the same shape does not.
    """
    fewer = min(len(old), len(new))
    return LCSseq.similarity(old, new) / fewer if fewer else 1.0


def _reach(left: Sequence[str], right: Sequence[str]) -> int:
    """How far from the diagonal lines are compared."""
    rows, columns = len(left), len(right)
    squared = sum(map(len, left)) * sum(map(len, right))
    share = min(1.0, COMPARISONS / (rows * columns), CHARACTERS_SQUARED / max(squared, 1))
    return columns if share >= 1 else max(1, int(share * columns / 2))


def _like(text: str, right: Sequence[str], first: int, last: int, cutoff: float) -> list[tuple[float, int]]:
    """Ratios and columns of the lines like this one, the last column first."""
    if not text:
        return [(100.0, column) for column in range(last - 1, first - 1, -1) if not right[column]]
    window = right if (first, last) == (0, len(right)) else right[first:last]
    if len(window) <= FEW_RIGHT:
        scores = [fuzz.ratio(text, other, score_cutoff=cutoff) for other in window]
        return [
            (scores[index], first + index)
            for index in range(len(scores) - 1, -1, -1)
            if scores[index] >= cutoff
        ]
    found = process.extract(text, window, scorer=fuzz.ratio, score_cutoff=cutoff, limit=None)
    return sorted(((score, first + index) for _, score, index in found), key=lambda hit: -hit[1])


class _Chain:
    """The heaviest chain of pairs with ascending rows and columns; pairs come by row, last column first."""

    def __init__(self) -> None:
        # Column and total of each best chain so far, both ascending: a front that no chain on it is beaten on.
        self._columns: list[int] = [-1]
        self._totals: list[float] = [0.0]
        self._ends: list[int] = [-1]
        self._pairs: list[tuple[int, int, int]] = []  # row, column, number of the pair before

    def add(self, row: int, column: int, weight: float) -> None:
        before = bisect_left(self._columns, column) - 1
        total = self._totals[before] + weight
        position = before + 1
        known = position < len(self._columns) and self._columns[position] == column
        if known and self._totals[position] >= total:
            return
        self._pairs.append((row, column, self._ends[before]))
        beaten = position
        while beaten < len(self._columns) and self._totals[beaten] <= total:
            beaten += 1
        self._columns[position:beaten] = [column]
        self._totals[position:beaten] = [total]
        self._ends[position:beaten] = [len(self._pairs) - 1]

    def best(self) -> list[Pair]:
        pairs = []
        number = self._ends[-1]
        while number >= 0:
            row, column, number = self._pairs[number]
            pairs.append((row, column))
        pairs.reverse()
        return pairs

"""The grammar of position keys: alphabets, validity, and how two keys are taken apart.

A key (TraceCoder, section 4.2) is a non-empty sequence of atoms; an atom is a linear character of the alphabet
or a tree node, which is an opening sign, a key, and a closing sign. In base 62 the signs are "." and "-"; both
sort before every linear character and "-" before ".", so at any place end < tree node < linear character, and
plain ASCII order of the strings (collation "C") is the order of keys.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from schema.errors import PositionKeyError

# Strings up to this length are compared character by character; a bisection of slices has a higher start-up.
_SHORT = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Alphabet:
    """The characters of a base, in ASCII order.

    Attributes:
        linear: linear characters, ascending.
        opening: opens a tree node; sorts before every linear character.
        closing: closes a tree node; sorts before `opening`.
        middle: the key of the first item: the middle character ("V" in base 62).
        rank: index of each linear character in `linear`.
        successor: the next linear character of each but the last.
        predecessor: the previous linear character of each but the first.
    """

    linear: str
    opening: str
    closing: str
    middle: str
    rank: dict[str, int]
    successor: dict[str, str]
    predecessor: dict[str, str]


def _alphabet(characters: str) -> Alphabet:
    ascending = "".join(sorted(characters))
    if len(set(ascending)) != len(ascending):
        raise ValueError("a character occurs twice")
    linear = ascending[2:]
    return Alphabet(
        linear=linear,
        closing=ascending[0],
        opening=ascending[1],
        middle=linear[len(linear) // 2],
        rank={character: index for index, character in enumerate(linear)},
        successor=dict(pairwise(linear)),
        predecessor={after: before for before, after in pairwise(linear)},
    )


# Base 62 has 62 linear characters and two signs of its own; base 94 is all printable ASCII, signs included.
BASES: dict[int, Alphabet] = {
    62: _alphabet("-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    94: _alphabet("".join(map(chr, range(33, 127)))),
}


def alphabet_of(base: int) -> Alphabet:
    """The alphabet of `base`.

    Raises:
        PositionKeyError: there is no such base.
    """
    alphabet = BASES.get(base)
    if alphabet is None:
        raise PositionKeyError(f"there is no base {base}", mend=f"use one of {sorted(BASES)}")
    return alphabet


def fault_of(key: str, alphabet: Alphabet, limit: int | None) -> str | None:
    """Say what breaks the grammar (D8: an empty node leaves no key before it), or None."""
    if not key:
        return "it is empty"
    if limit is not None and len(key) > limit:
        return f"it has {len(key)} characters, more than {limit}"
    if not key.isascii():
        return f"{next(one for one in key if not one.isascii())!r} is not in the alphabet"
    opening, closing = ord(alphabet.opening), ord(alphabet.closing)
    depth = 0
    for sign in key.encode().translate(None, delete=alphabet.linear.encode()):
        if sign == opening:
            depth += 1
        elif sign != closing:
            return f"{chr(sign)!r} is not in the alphabet"
        elif depth:
            depth -= 1
        else:
            return "it closes a tree node that it did not open"
    if alphabet.opening + alphabet.closing in key:
        return "it holds an empty tree node"
    return "a tree node is left open" if depth else None


def diverge(lo: str, hi: str) -> int:
    """Index of the first character at which two strings differ; the shorter's length if it is a prefix."""
    shortest = min(len(lo), len(hi))
    if shortest <= _SHORT:
        index = 0
        for one, other in zip(lo, hi, strict=False):
            if one != other:
                break
            index += 1
        return index
    if lo[:shortest] == hi[:shortest]:
        return shortest
    low, high = 0, shortest  # lo[:low] == hi[:low] and lo[:high] != hi[:high]
    while high - low > 1:
        center = (low + high) // 2
        if lo[low:center] == hi[low:center]:
            low = center
        else:
            high = center
    return low


def node_end(key: str, start: int, alphabet: Alphabet) -> int:
    """Index of the sign that closes the node open at `start`."""
    end = key.find(alphabet.closing, start)
    if key.find(alphabet.opening, start, end) < 0 <= end:
        return end
    depth = 1
    for index in range(start, len(key)):
        character = key[index]
        if character == alphabet.opening:
            depth += 1
        elif character == alphabet.closing:
            depth -= 1
            if depth == 0:
                return index
    raise PositionKeyError(f"{key[:60]!r} is no position key: a tree node is left open")


def innermost_open(key: str, at: int, alphabet: Alphabet) -> int:
    """Index after the opening sign of the innermost node that `key` has open at `at`."""
    start = key.rfind(alphabet.opening, 0, at)
    if key.rfind(alphabet.closing, 0, at) < start:
        return start + 1
    closed = 0
    for index in range(at - 1, -1, -1):
        if key[index] == alphabet.closing:
            closed += 1
        elif key[index] == alphabet.opening:
            if not closed:
                return index + 1
            closed -= 1
    raise PositionKeyError(f"{key[:60]!r} is no position key: a tree node is not opened")


class Divergence(NamedTuple):
    """Where two neighbours part, inside the innermost tree node that both are in.

    Attributes:
        outer: what precedes that node, its opening sign included.
        suffix: the signs that close the nodes open in `outer`.
        lo: the rest of the lower key inside that node; "" if there is none before `hi`.
        hi: the rest of the upper key inside that node.
        at: index of the first character at which `lo` and `hi` differ. `hi[at]` is linear.
    """

    outer: str
    suffix: str
    lo: str
    hi: str
    at: int


def part(lo: str, hi: str, alphabet: Alphabet) -> Divergence:
    """Find where `lo` ("" for none) and `hi` part; nodes that both are in, and case 1 of the paper, are entered."""
    opening, closing = alphabet.opening, alphabet.closing
    if opening not in hi:
        return Divergence("", "", lo, hi, diverge(lo, hi))
    outer = ""
    depth = 0  # nodes open in `outer`
    while True:
        at = diverge(lo, hi)
        opened = hi.count(opening, 0, at)
        if opened:
            opened -= hi.count(closing, 0, at)
        if opened:
            # Both keys leave a node open here: the question is about the innermost one's key alone.
            inner = innermost_open(lo, at, alphabet)
            outer, depth = outer + lo[:inner], depth + opened
            lo = lo[inner : node_end(lo, inner, alphabet)]
            hi = hi[inner : node_end(hi, inner, alphabet)]
        elif hi[at] == opening:
            # Case 1: lo is used up and hi has a node there. Nothing but a node fits.
            outer, depth = outer + hi[: at + 1], depth + 1
            lo, hi = "", hi[at + 1 : node_end(hi, at + 1, alphabet)]
        else:
            return Divergence(outer, closing * depth, lo, hi, at)

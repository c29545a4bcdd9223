"""Position keys: names of snippets that sort in file order and never change.

The grammar is TraceCoder's FIS (section 4.2). A key is a non-empty sequence of atoms; an atom is a linear
character of the alphabet or a tree node, which is an opening sign, a key, and a closing sign. In base 62 the
signs are "." and "-"; both sort before every linear character and "-" before ".", so at any place
end < tree node < linear character, and plain ASCII order of the strings (collation "C") is the order of keys.

How keys are chosen differs from the paper, whose rules collide with tombstones or grow by a character every
few insertions (research/provenance.md, table D1-D11). `literal` keeps the paper's rules for comparison. Ours:

- At the two ends of a file keys are integers with a head that tells their length, so n appends or prepends
  cost O(log n) characters (D3, D4).
- Inside a gap insertions bisect, whichever side they fall on; only a long run against one side (five or more
  keys) turns to counting. An alternating writer needs the one, a one-sided writer the other: with both, 10,000
  insertions in one place need 6 characters from one side; from both sides one more every six, near the bound
  of log2(62) bits a character.
- n keys are asked for at once and laid out by balanced bisection (D3).
- A bound that goes on past the divergence is used itself as the key when that is shorter (D6, D7).

Callers give neighbours among ALL rows, tombstones included (D1), and take a lock per file, because equal
bounds give equal keys (D11).
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from schema.errors import PositionKeyError

# A btree row of Postgres holds 2,704 bytes; the tables CHECK the same limit.
MAX_KEY_LENGTH = 1000


@dataclass(frozen=True, kw_only=True)
class Alphabet:
    """The characters of a base, in ASCII order.

    Attributes:
        linear: linear characters, ascending.
        opening: opens a tree node; sorts before every linear character.
        closing: closes a tree node; sorts before `opening`.
        rank: index of each linear character in `linear`.
    """

    linear: str
    opening: str
    closing: str
    rank: dict[str, int]

    @property
    def middle(self) -> str:
        """The key of the first item: the middle character ("V" in base 62)."""
        return self.linear[len(self.linear) // 2]


def _alphabet(characters: str) -> Alphabet:
    ascending = "".join(sorted(characters))
    if len(set(ascending)) != len(ascending):
        raise ValueError("a character occurs twice")
    linear = ascending[2:]
    return Alphabet(
        linear=linear,
        closing=ascending[0],
        opening=ascending[1],
        rank={character: index for index, character in enumerate(linear)},
    )


# Base 62 has 62 linear characters and two signs of its own; base 94 is all printable ASCII, signs included.
BASES: dict[int, Alphabet] = {
    62: _alphabet("-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    94: _alphabet("".join(map(chr, range(33, 127)))),
}


@cache
def _of_base(base: int) -> Alphabet:
    if base not in BASES:
        raise PositionKeyError(f"there is no base {base}", mend=f"use one of {sorted(BASES)}")
    return BASES[base]


def _fault(key: str, alphabet: Alphabet, limit: int | None) -> str | None:
    """Say what breaks the grammar (D8: an empty node leaves no key before it), or None."""
    if not key:
        return "it is empty"
    if limit is not None and len(key) > limit:
        return f"it has {len(key)} characters, more than {limit}"
    depth = 0
    previous = ""
    for character in key:
        if character == alphabet.opening:
            depth += 1
        elif character == alphabet.closing:
            if previous == alphabet.opening:
                return "it holds an empty tree node"
            depth -= 1
            if depth < 0:
                return "it closes a tree node that it did not open"
        elif character not in alphabet.rank:
            return f"{character!r} is not in the alphabet"
        previous = character
    return "a tree node is left open" if depth else None


def is_valid(key: str, *, base: int = 62, limit: int | None = MAX_KEY_LENGTH) -> bool:
    """Say whether `key` is a FIS key of `base` with at most `limit` characters (None: any number)."""
    return _fault(key, _of_base(base), limit) is None


def _checked(key: str | None, alphabet: Alphabet) -> None:
    if key is None:
        return
    if not key.isascii() or not key.isalnum() or len(alphabet.linear) != 62:
        fault = _fault(key, alphabet, None)
        if fault:
            raise PositionKeyError(
                f"{key[:60]!r} is no position key: {fault}", mend="take keys from the store only"
            )


def keys_between(
    lo: str | None,
    hi: str | None,
    count: int,
    *,
    base: int = 62,
    literal: bool = False,
    limit: int | None = MAX_KEY_LENGTH,
) -> list[str]:
    """Give `count` new keys in ascending order, strictly between two neighbours.

    Args:
        lo: the neighbour before; None at the start of the file.
        hi: the neighbour after; None at the end of the file. Both are neighbours among ALL rows.
        count: how many keys, at least 0.
        base: 62 or 94.
        literal: the paper's algorithm (TraceCoder 4.3) one key at a time, left to right, faults included.
        limit: the most characters a key may have; None for any number.

    Returns:
        Keys k with lo < k[0] < k[1] < ... < hi in plain ASCII order.

    Raises:
        PositionKeyError: a bound breaks the grammar, lo is not before hi, or a key would pass `limit`.
    """
    alphabet = _of_base(base)
    _checked(lo, alphabet)
    _checked(hi, alphabet)
    if lo is not None and hi is not None and lo >= hi:
        raise PositionKeyError(
            f"no key lies between {lo[:60]!r} and {hi[:60]!r}",
            mend="give two neighbours in ascending ASCII order (collation C)",
        )
    if count <= 0:
        return []
    if literal:
        keys = _literal_run(lo, hi, count, alphabet, limit)
    elif hi is None:
        if lo is None:
            # A fresh file grows both ways from the middle, so both ends stay near it.
            before = _run_before(alphabet.middle, count // 2, alphabet)
            keys = [*before, alphabet.middle, *_run_after(alphabet.middle, count - 1 - count // 2, alphabet)]
        else:
            keys = _run_after(lo, count, alphabet)
    elif lo is None:
        keys = _run_before(hi, count, alphabet)
    else:
        keys = _bisect(lo, hi, count, alphabet)
    if limit is not None:
        longest = max(map(len, keys))
        if longest > limit:
            raise PositionKeyError(
                f"a key between {(lo or '')[:40]!r} and {(hi or '')[:40]!r} needs {longest} characters, "
                f"more than {limit}",
                mend="the gap is used up; store the file under a new path, which starts with short keys",
            )
    return keys


def key_between(
    lo: str | None,
    hi: str | None,
    *,
    base: int = 62,
    literal: bool = False,
    limit: int | None = MAX_KEY_LENGTH,
) -> str:
    """Give one new key strictly between `lo` and `hi` (None at the ends); see `keys_between`."""
    return keys_between(lo, hi, 1, base=base, literal=literal, limit=limit)[0]


def key_before(hi: str, *, base: int = 62, literal: bool = False, limit: int | None = MAX_KEY_LENGTH) -> str:
    """Give a key before `hi`, the first of all rows (the paper names it but defines none: D10)."""
    return keys_between(None, hi, 1, base=base, literal=literal, limit=limit)[0]


def key_after(lo: str, *, base: int = 62, literal: bool = False, limit: int | None = MAX_KEY_LENGTH) -> str:
    """Give a key after `lo`, the last of all rows."""
    return keys_between(lo, None, 1, base=base, literal=literal, limit=limit)[0]


# --- The ends of a file: integers with a head -------------------------------------------------------------


@cache
def _end_digits(distance: int) -> int:
    """Digits that follow a head `distance` characters from the middle.

    Few keys of one character, about 2,100 of two (a long source file), 38,000 of three, then unbounded.
    """
    if distance <= 5:
        return 0
    if distance <= 22:
        return 1
    return 2 if distance <= 27 else distance - 25


def _linear_run(key: str, start: int, most: int, alphabet: Alphabet) -> str:
    """The linear characters of `key` from `start`, up to the first tree node and at most `most`."""
    run = key[start : start + most]
    for index, character in enumerate(run):
        if character == alphabet.opening:
            return run[:index]
    return run


def _increment(digits: str, alphabet: Alphabet) -> str | None:
    """The next string of equal length, or None after the last."""
    linear = alphabet.linear
    stripped = digits.rstrip(linear[-1])
    if not stripped:
        return None
    successor = linear[alphabet.rank[stripped[-1]] + 1]
    return stripped[:-1] + successor + linear[0] * (len(digits) - len(stripped))


def _decrement(digits: str, alphabet: Alphabet) -> str | None:
    """The previous string of equal length, or None before the first."""
    linear = alphabet.linear
    stripped = digits.rstrip(linear[0])
    if not stripped:
        return None
    predecessor = linear[alphabet.rank[stripped[-1]] - 1]
    return stripped[:-1] + predecessor + linear[-1] * (len(digits) - len(stripped))


def _end_after(lo: str, alphabet: Alphabet) -> str:
    """A key after `lo` where nothing follows."""
    linear, rank = alphabet.linear, alphabet.rank
    last, middle = len(linear) - 1, len(linear) // 2
    start = 0
    while start < len(lo) and lo[start] == linear[last]:
        start += 1
    if start == len(lo) or lo[start] == alphabet.opening:
        # Linear characters all follow a leading node (D5): the middle is after it and shorter.
        return lo[:start] + alphabet.middle
    head = rank[lo[start]]
    if head < middle:
        return lo[:start] + alphabet.middle
    need = _end_digits(head - middle)
    digits = _linear_run(lo, start + 1, need, alphabet)
    following = digits.ljust(need, linear[0]) if len(digits) < need else _increment(digits, alphabet)
    if following is not None:
        return lo[: start + 1] + following
    if head + 1 == last:
        return lo[:start] + linear[last] + alphabet.middle
    return lo[:start] + linear[head + 1] + linear[0] * _end_digits(head + 1 - middle)


def _end_before(hi: str, alphabet: Alphabet) -> str:
    """A key before `hi` where nothing precedes."""
    linear, rank = alphabet.linear, alphabet.rank
    middle = len(linear) // 2
    head = rank.get(hi[0], 0)
    if head == 0:
        return _between("", hi, alphabet)
    if head > middle:
        return alphabet.middle
    need = _end_digits(middle - head)
    digits = _linear_run(hi, 1, need, alphabet)
    if len(digits) == need and len(hi) > 1 + need:
        return hi[: 1 + need]
    preceding = _decrement(digits.ljust(need, linear[0]), alphabet)
    if preceding is not None:
        return hi[0] + preceding
    if head == 1:
        return linear[0] + alphabet.middle
    return linear[head - 1] + linear[-1] * _end_digits(middle - head + 1)


def _run_after(lo: str, count: int, alphabet: Alphabet) -> list[str]:
    keys = []
    for _ in range(count):
        lo = _end_after(lo, alphabet)
        keys.append(lo)
    return keys


def _run_before(hi: str, count: int, alphabet: Alphabet) -> list[str]:
    keys = []
    for _ in range(count):
        hi = _end_before(hi, alphabet)
        keys.append(hi)
    keys.reverse()
    return keys


# --- Inside a gap -----------------------------------------------------------------------------------------


def _bisect(lo: str, hi: str, count: int, alphabet: Alphabet) -> list[str]:
    """Lay `count` keys out as a balanced binary tree, so that depth (and length) is logarithmic."""
    keys: list[str] = [""] * (count + 2)
    keys[0], keys[-1] = lo, hi
    spans = [(0, count + 1)]
    while spans:
        left, right = spans.pop()
        if right - left < 2:
            continue
        center = (left + right) // 2
        keys[center] = _between(keys[left], keys[right], alphabet)
        spans.append((left, center))
        spans.append((center, right))
    return keys[1:-1]


def _diverge(lo: str, hi: str) -> int:
    """Index of the first character at which two strings differ."""
    shortest = min(len(lo), len(hi))
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


def _node_end(key: str, start: int, depth: int, alphabet: Alphabet) -> int:
    """Index of the sign that closes the `depth` nodes open at `start`."""
    for index in range(start, len(key)):
        character = key[index]
        if character == alphabet.opening:
            depth += 1
        elif character == alphabet.closing:
            depth -= 1
            if depth == 0:
                return index
    raise PositionKeyError(f"{key[:60]!r} is no position key: a tree node is left open")


def _between(lo: str, hi: str, alphabet: Alphabet) -> str:
    """A key strictly between `lo` ("" for none) and `hi`, by the three cases of the paper, mended."""
    linear, rank = alphabet.linear, alphabet.rank
    opening, closing = alphabet.opening, alphabet.closing
    outer = ""  # what precedes the node we are in, its opening sign included
    depth = 0  # nodes open in `outer`
    while True:
        at = _diverge(lo, hi)
        opened = lo.count(opening, 0, at) - lo.count(closing, 0, at)
        if opened:
            # Both keys leave a node open here: the question is about the innermost one's key alone.
            inner = _innermost_open(lo, at, alphabet)
            outer, depth = outer + lo[:inner], depth + opened
            lo = lo[inner : _node_end(lo, inner, 1, alphabet)]
            hi = hi[inner : _node_end(hi, inner, 1, alphabet)]
            continue
        common = hi[:at]
        before = lo[at] if at < len(lo) else ""
        after = hi[at]
        if after == opening:
            # Case 1: lo is used up and hi has a node there. Nothing but a node fits.
            end = _node_end(hi, at + 1, 1, alphabet)
            outer, depth = outer + common + opening, depth + 1
            lo, hi = "", hi[at + 1 : end]
            continue
        upper = rank[after]
        goes_on = len(hi) > at + 1
        if before == "" or before == opening:
            if upper:
                key = common + _inner_before(hi[at:], depth, alphabet)
            elif goes_on:
                key = common + after  # D6
            elif before == "":
                key = common + opening + alphabet.middle + closing
            else:
                # Case 2: only a later node fits between a node and the lowest character.
                end = _node_end(lo, at + 1, 1, alphabet)
                node = lo[at + 1 : end]
                key = common + opening + _inner_after(node, alphabet) + closing
            return outer + key + closing * depth
        lower = rank[before]
        if upper - lower > 1:
            key = common + linear[(lower + upper) // 2]
        elif goes_on:
            key = common + after  # D7
        else:
            key = common + before + _inner_after(lo[at + 1 :], alphabet)  # D2
        return outer + key + closing * depth


def _innermost_open(key: str, at: int, alphabet: Alphabet) -> int:
    """Index after the opening sign of the innermost node that `key` has open at `at`."""
    closed = 0
    for index in range(at - 1, -1, -1):
        if key[index] == alphabet.closing:
            closed += 1
        elif key[index] == alphabet.opening:
            if not closed:
                return index + 1
            closed -= 1
    raise PositionKeyError(f"{key[:60]!r} is no position key: a tree node is not opened")


@cache
def _inner_digits(distance: int, rounds: int) -> int:
    """Digits that follow a head `distance` characters past the last bisection; more each time round."""
    if distance == 0:
        return 0
    if distance <= 7:
        return rounds
    return rounds + 1 if distance <= 12 else rounds + distance - 11


def _inner_after(tail: str, alphabet: Alphabet) -> str:
    """A key after `tail` below the next character of the level above.

    Bisections towards the top first (V k s w y z). Behind the last character, where only a one-sided writer
    comes, two more (zV zk), then heads with digits, then the last character once more and longer digits.
    """
    linear, rank = alphabet.linear, alphabet.rank
    size = len(linear)
    rounds = 0
    while rounds < len(tail) and tail[rounds] == linear[-1]:
        rounds += 1
    prefix = tail[:rounds]
    if rounds == len(tail) or tail[rounds] == alphabet.opening:
        # Linear characters all follow a leading node (D5): the middle is after it and shorter.
        return prefix + alphabet.middle
    head = rank[tail[rounds]]
    if not rounds:
        return linear[(head + size) // 2]
    quarter = (size // 2 + size) // 2
    if head < quarter:
        return prefix + linear[min((head + size) // 2, quarter)]
    need = _inner_digits(head - quarter, rounds)
    digits = _linear_run(tail, rounds + 1, need, alphabet)
    following = digits.ljust(need, linear[0]) if len(digits) < need else _increment(digits, alphabet)
    if following is not None:
        return prefix + linear[head] + following
    if head + 2 == size:
        return prefix + linear[-1] + alphabet.middle
    return prefix + linear[head + 1] + linear[0] * _inner_digits(head + 1 - quarter, rounds)


def _inner_before(tail: str, rounds: int, alphabet: Alphabet) -> str:
    """A key before `tail`, whose first character is linear and not the lowest; the mirror of `_inner_after`.

    `rounds` is the number of tree nodes around, which only a one-sided writer opens.
    """
    linear, rank = alphabet.linear, alphabet.rank
    head = rank[tail[0]]
    if not rounds:
        # Nothing but a node fits before a bare lowest character, so it comes last of all (D6).
        return linear[head // 2] if head > 1 else linear[0] + alphabet.middle
    quarter = len(linear) // 4
    if head > quarter:
        return linear[max(head // 2, quarter)]
    need = _inner_digits(quarter - head, rounds)
    digits = _linear_run(tail, 1, need, alphabet)
    if len(digits) == need and len(tail) > 1 + need:
        return tail[: 1 + need]
    preceding = _decrement(digits.ljust(need, linear[0]), alphabet)
    if preceding is not None:
        return tail[0] + preceding
    if head == 1:
        return linear[0]
    return linear[head - 1] + linear[-1] * _inner_digits(quarter - head + 1, rounds)


# --- The paper's algorithm, for comparison ----------------------------------------------------------------


def _literal_run(
    lo: str | None, hi: str | None, count: int, alphabet: Alphabet, limit: int | None
) -> list[str]:
    keys = []
    for _ in range(count):
        lo = _literal_after(lo or "", alphabet) if hi is None else _literal_between(lo or "", hi, alphabet)
        keys.append(lo)
        # It can double a key with each insertion: what is too long already must not grow on.
        if limit is not None and len(lo) > limit:
            break
    return keys


def _literal_after(lo: str, alphabet: Alphabet) -> str:
    """KeyAfter of section 4.3, its recursion written as a loop."""
    linear, rank = alphabet.linear, alphabet.rank
    start = 0
    while start < len(lo) and lo[start] == linear[-1]:
        start += 1
    if start == len(lo):
        return lo + alphabet.middle
    if lo[start] == alphabet.opening:
        return lo + alphabet.middle
    return lo[:start] + linear[(rank[lo[start]] + len(linear)) // 2]


def _literal_between(lo: str, hi: str, alphabet: Alphabet) -> str:
    """KeyBetween of section 4.3, its recursion written as a loop."""
    linear, rank = alphabet.linear, alphabet.rank
    opening, closing = alphabet.opening, alphabet.closing
    outer, depth = "", 0
    while True:
        at = _diverge(lo, hi)
        opened = lo.count(opening, 0, at) - lo.count(closing, 0, at)
        if opened:
            inner = _innermost_open(lo, at, alphabet)
            outer, depth = outer + lo[:inner], depth + opened
            lo = lo[inner : _node_end(lo, inner, 1, alphabet)]
            hi = hi[inner : _node_end(hi, inner, 1, alphabet)]
            continue
        common = hi[:at]
        before = lo[at] if at < len(lo) else ""
        if before == "" and hi[at] == opening:
            outer, depth = outer + common + opening, depth + 1
            lo, hi = "", hi[at + 1 : _node_end(hi, at + 1, 1, alphabet)]
            continue
        upper = rank[hi[at]]
        if before == "":
            key = common + (linear[upper // 2] if upper else opening + alphabet.middle + closing)
        elif before == opening:
            node = lo[at + 1 : _node_end(lo, at + 1, 1, alphabet)]
            key = common + opening + _literal_after(node, alphabet) + closing
        elif upper - rank[before] > 1:
            key = common + linear[(rank[before] + upper) // 2]
        else:
            key = lo + _literal_after(lo[at + 1 :], alphabet)
        return outer + key + closing * depth


def are_ascending(keys: list[str]) -> bool:
    """Say whether keys are strictly ascending in plain ASCII order."""
    return all(one < other for one, other in pairwise(keys))

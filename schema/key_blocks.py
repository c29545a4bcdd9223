"""Many position keys at once, spread evenly over a gap or counted on from an end (D3).

A large block is a complete tree: every string behind a prefix up to some length, and of the next length as many as
are still missing. That is the least mean length behind the prefix but for strings that end with the lowest
character, which are left out: only a tree node would fit before them. A short hunk is spread over cells of equal
width from one neighbour to the other, and each key is the shortest of its cell. Both take whole strings of
characters at a time; bisection key by key is left for gaps whose past shows a one-sided writer.
"""

from functools import cache
from itertools import product

from schema.key_ends import MARGIN, end_after, end_before, linear_run
from schema.key_gaps import between
from schema.key_grammar import Alphabet, node_end, part

# Fewer keys than this are a hunk: it uses the room on both sides of a gap, not that behind one prefix.
FEW = 24

# From here on it pays to list all pairs of characters.
_MANY = 256


def run_after(lo: str, count: int, alphabet: Alphabet) -> list[str]:
    """`count` keys after `lo` where nothing follows, each the `end_after` of the one before."""
    linear = alphabet.linear
    keys: list[str] = []
    while len(keys) < count:
        lo = end_after(lo, alphabet)
        keys.append(lo)
        tail = lo[-2:]
        if len(lo) > 2 and tail in (linear[0] * 2, linear[:2]) and count - len(keys) >= _MANY:
            # A head of two or more digits whose last two begin anew: they run through all pairs.
            begin = 2 if tail == linear[:2] else 1
            keys += [lo[:-2] + pair for pair in _pairs(linear)[begin : count - len(keys) + begin]]
            lo = keys[-1]
    return keys


def run_before(hi: str, count: int, alphabet: Alphabet) -> list[str]:
    """`count` keys before `hi` where nothing precedes, each the one before of the one after; ascending."""
    linear = alphabet.linear
    keys: list[str] = []
    while len(keys) < count:
        before = end_before(hi, alphabet)
        if before is None:
            # The line is used up, or a node comes first: all the rest lies in the gap below.
            return [*between_many("", hi, count - len(keys), alphabet), *reversed(keys)]
        hi = before
        keys.append(hi)
        if len(hi) > 2 and hi[-2:] == linear[-1] * 2 and count - len(keys) >= _MANY:
            keys += [hi[:-2] + pair for pair in _pairs(linear)[-2 : -2 - (count - len(keys)) : -1]]
            hi = keys[-1]
    keys.reverse()
    return keys


def between_many(lo: str, hi: str, count: int, alphabet: Alphabet) -> list[str]:
    """`count` keys strictly between `lo` ("" for none) and `hi`, evenly spread."""
    if count < FEW:
        return (count > 1 and _cells(lo, hi, count, alphabet)) or bisect(lo, hi, count, alphabet)
    prefix, first, last, suffix = _room(lo, hi, alphabet)
    return fill(prefix, first, last, suffix, count, alphabet)


def bisect(lo: str, hi: str, count: int, alphabet: Alphabet) -> list[str]:
    """Lay `count` keys out as a balanced binary tree, so that depth (and length) is logarithmic."""
    keys: list[str] = [""] * (count + 2)
    keys[0], keys[-1] = lo, hi
    spans = [(0, count + 1)]
    while spans:
        left, right = spans.pop()
        if right - left < 2:
            continue
        center = (left + right) // 2
        keys[center] = between(keys[left], keys[right], alphabet)
        spans.append((left, center))
        spans.append((center, right))
    return keys[1:-1]


def fill(prefix: str, first: int, last: int, suffix: str, count: int, alphabet: Alphabet) -> list[str]:
    """`count` keys of `prefix`, a character of rank `first` to `last`, any more characters, and `suffix`.

    No key ends with the lowest character where that can be helped: only a tree node would fit before it.
    """
    linear, digits = alphabet.linear, alphabet.linear[1:]
    tops = linear[max(first, 1) : last + 1] or linear[0]
    if count <= len(tops):
        return [prefix + top + suffix for top in _evenly(tops, count)]
    # All keys of up to `depth` characters behind the prefix are taken; of one more, as many as are missing.
    depth, taken, leaves = 1, len(tops), len(tops)
    while count - taken > leaves * len(digits):
        depth += 1
        leaves *= len(digits)
        taken += leaves
    each, more = divmod(count - taken, leaves)
    fewer = [suffix, *(digit + suffix for digit in _evenly(digits, each))]
    greater = [suffix, *(digit + suffix for digit in _evenly(digits, each + 1))] if more else fewer
    keys: list[str] = []
    owed = 0
    for top in tops:
        for inner in _tree(digits, depth - 1):
            stem = prefix + top + inner
            if len(inner) < depth - 1:
                keys.append(stem + suffix)
                continue
            owed += more
            if owed >= leaves:
                owed -= leaves
                keys += [stem + end for end in greater]
            else:
                keys += [stem + end for end in fewer]
    return keys


def _evenly(characters: str, count: int) -> list[str]:
    """`count` of the characters, evenly spread."""
    return [characters[(2 * index + 1) * len(characters) // (2 * count)] for index in range(count)]


@cache
def _pairs(linear: str) -> list[str]:
    """All strings of two characters, ascending."""
    return ["".join(pair) for pair in product(linear, repeat=2)]


def _tree(digits: str, depth: int) -> list[str]:
    """All strings of at most `depth` characters, ascending."""
    strings = [""]
    for _ in range(depth):
        strings = ["", *(digit + string for digit in digits for string in strings)]
    return strings


def _cells(lo: str, hi: str, count: int, alphabet: Alphabet) -> list[str] | None:
    """`count` keys, each the shortest of its cell, in cells of equal width between two neighbours.

    None where a neighbour is so near a side of the gap, or the gap begins a tree node, that the past shows a
    one-sided writer, whom halving leads to counting (`key_gaps`); and where the gap is narrow.
    """
    linear, rank = alphabet.linear, alphabet.rank
    size = len(linear)
    outer, suffix, lo, hi, at = part(lo, hi, alphabet)
    low = [rank[character] for character in linear_run(lo, at, len(lo), alphabet)]
    high = [rank[character] for character in linear_run(hi, at, len(hi), alphabet)]
    if not low:
        one_sided = high[0] == 0 or (suffix != "" and at == 0)
    else:
        bare = len(hi) == at + 1 and high[0] - low[0] == 1
        one_sided = bare and len(low) > 1 and low[1] == size - 1
    digits = 1
    while (span := _number(high, digits, size) - _number(low, digits, size)) <= count + 1:
        digits += 1
        if digits > 3:
            return None
    if one_sided:
        return None
    keys = []
    # All in parts of 1 / (count + 1); half a width to either side, exclusive, keeps neighbours apart.
    center = _number(low, digits, size) * (count + 1)
    steps = [(length, (count + 1) * size ** (digits - length)) for length in range(1, digits + 1)]
    for _ in range(count):
        center += span
        for length, step in steps:
            number = (2 * center + step) // (2 * step)
            if 2 * abs(number * step - center) < span:
                keys.append(outer + hi[:at] + _spelled(number, length, linear) + suffix)
                break
    return keys


def _spelled(number: int, digits: int, linear: str) -> str:
    """`number` in `digits` linear characters."""
    spelled = ""
    for _ in range(digits):
        number, digit = divmod(number, len(linear))
        spelled = linear[digit] + spelled
    return spelled


def _number(ranks: list[int], digits: int, size: int) -> int:
    """The first `digits` ranks as a number of base `size`; what is missing counts as 0."""
    number = 0
    for index in range(digits):
        number = number * size + (ranks[index] if index < len(ranks) else 0)
    return number


def _room(lo: str, hi: str, alphabet: Alphabet) -> tuple[str, int, int, str]:
    """Room for any number of keys between two neighbours.

    Returns:
        A prefix, the ranks of a first and a last character, and a suffix: a key made of the prefix, a character
        of these, any linear characters and the suffix lies between the two.
    """
    rank = alphabet.rank
    outer, suffix, lo, hi, at = part(lo, hi, alphabet)
    upper = rank[hi[at]]
    lower = rank.get(lo[at], -1) if at < len(lo) else -1
    if upper - lower > 1:
        return outer + hi[:at], lower + 1, upper - 1, suffix
    room = _room_before(hi, at + 1, alphabet)
    if lower >= 0:
        above = _room_after(lo, at + 1, alphabet)
        # The shorter prefix, then the wider.
        if room is None or (len(above[0]), above[1] - above[2]) <= (len(room[0]), room[1] - room[2]):
            room = above
    elif room is None:
        # Bare lowest characters: only a node fits, behind the lower neighbour's if it has one here.
        inner = lo[at + 1 : node_end(lo, at + 1, alphabet)] if at < len(lo) else ""
        prefix, first, last = _room_after(inner, 0, alphabet)
        return outer + hi[:at] + alphabet.opening + prefix, first, last, alphabet.closing + suffix
    prefix, first, last = room
    return outer + prefix, first, last, suffix


def _room_after(lo: str, start: int, alphabet: Alphabet) -> tuple[str, int, int]:
    """Prefix and ranks of room behind `lo`, whose characters before `start` are kept."""
    top = len(alphabet.linear) - 1
    while start < len(lo) and lo[start] == alphabet.linear[top]:
        start += 1
    return lo[:start], alphabet.rank.get(lo[start], -1) + 1 if start < len(lo) else 0, top


def _room_before(hi: str, start: int, alphabet: Alphabet) -> tuple[str, int, int] | None:
    """Prefix and ranks of room before `hi` behind its characters before `start`; None if these end it, or a node."""
    run = linear_run(hi, start, len(hi), alphabet)
    zeros = len(run) - len(run.lstrip(alphabet.linear[0]))
    if zeros == len(run):
        return None
    start += zeros
    return hi[:start], 0, alphabet.rank[hi[start]] - 1


def fresh(count: int, alphabet: Alphabet) -> list[str]:
    """`count` keys for a file that has none: in the zone, so that both ends stay near it."""
    return fill("", MARGIN, len(alphabet.linear) - 1 - MARGIN, "", count, alphabet)

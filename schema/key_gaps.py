"""One position key inside a gap between two neighbours: the three cases of the paper, mended.

Where to put the key is a guess at who writes. A writer in a random place is served best by halving the gap; one
who comes back to the same side by counting from that side; one who alternates between the sides by counting from
both. Halving spells out the writer's past in the key itself (right at 46, right at 53, right at 57 ...), so the
past needs no other memory: a long run on one side, or a long alternation, shows in the last characters, and only
such a past turns halving into counting. A wrong guess costs some characters once. Nobody can do without: against
a writer who knows the guess, keys grow by a character every log2(62) insertions at best (research/provenance.md).
"""

from functools import cache

from schema.key_ends import decrement, first_count, increment, linear_run
from schema.key_grammar import Alphabet, node_end, part

# Alternations that fill this many characters of a key show a writer who alternates.
_ALTERNATING_CHARACTERS = 3


def between(lo: str, hi: str, alphabet: Alphabet) -> str:
    """A key strictly between `lo` ("" for none) and `hi`."""
    linear, rank = alphabet.linear, alphabet.rank
    outer, suffix, lo, hi, at = part(lo, hi, alphabet)
    upper = rank[hi[at]]
    lower = rank.get(lo[at], -1) if at < len(lo) else -1
    goes_on = len(hi) > at + 1
    if upper - lower > 1:
        key = hi[:at]
        counted = (
            _alternating(key, lo[at:], hi[at:], alphabet)
            if at >= _ALTERNATING_CHARACTERS and upper > 1
            else None
        )
        if counted is not None:
            key += counted
        elif lower >= 0:
            key += linear[(lower + upper) // 2]
        else:
            # Nodes that begin one in another, with nothing between, come of a writer on this side.
            rounds = 0 if at or not suffix else len(outer) - len(outer.rstrip(alphabet.opening))
            key += _inner_before(hi[at:], rounds, alphabet)
    elif goes_on:
        key = hi[: at + 1]  # D6, D7
    elif lower >= 0:
        key, tail = lo[: at + 1], lo[at + 1 :]
        counted = _alternating(key, tail, "", alphabet) if at >= _ALTERNATING_CHARACTERS - 1 else None
        key += _inner_after(tail, alphabet) if counted is None else counted  # D2
    elif at == len(lo):
        key = lo + alphabet.opening + alphabet.middle + alphabet.closing
    else:
        # Case 2: only a later node fits between a node and the lowest character.
        node = lo[at + 1 : node_end(lo, at + 1, alphabet)]
        key = lo[: at + 1] + _inner_after(node, alphabet) + alphabet.closing
    return outer + key + suffix if suffix else key


# --- One-sided writers ------------------------------------------------------------------------------------

# By the distance of a head from the last halving, from 0.
_MORE_DIGITS = (0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 4)


def _inner_digits(distance: int, rounds: int) -> int:
    """Digits that follow a head `distance` characters past the last halving; more each time round.

    The cap is far beyond any file, and keeps keys short that a stranger made near the end of the line.
    """
    if distance == 0:
        return 0
    return rounds + _MORE_DIGITS[min(distance, len(_MORE_DIGITS) - 1)]


def _inner_after(tail: str, alphabet: Alphabet) -> str:
    """A key after `tail` below the next character of the level above.

    Halves towards the top first (V k s w y z). Behind the last character, where only a one-sided writer comes,
    two more (zV zk), then heads with digits, then the last character once more and longer digits.
    """
    linear, rank = alphabet.linear, alphabet.rank
    size = len(linear)
    if not tail or tail[0] == alphabet.opening:
        # Linear characters all follow a leading node (D5): the middle is after it and shorter.
        return alphabet.middle
    head = rank[tail[0]]
    if head < size - 1:
        return linear[(head + size) // 2]
    rounds = len(tail) - len(tail.lstrip(linear[-1]))
    prefix = tail[:rounds]
    if rounds == len(tail) or tail[rounds] == alphabet.opening:
        return prefix + alphabet.middle
    head = rank[tail[rounds]]
    quarter = (size // 2 + size) // 2
    if head < quarter:
        return prefix + linear[min((head + size) // 2, quarter)]
    need = _inner_digits(head - quarter, rounds)
    digits = linear_run(tail, rounds + 1, need, alphabet)
    short = need - len(digits)
    following = digits + first_count(short, alphabet) if short else increment(digits, alphabet)
    if following is not None:
        return prefix + linear[head] + following
    if head + 2 == size:
        return prefix + linear[-1] + alphabet.middle
    return prefix + linear[head + 1] + first_count(_inner_digits(head + 1 - quarter, rounds), alphabet)


def _inner_before(tail: str, rounds: int, alphabet: Alphabet) -> str:
    """A key before `tail`, whose first character is linear and not the lowest; the mirror of `_inner_after`.

    `rounds` is the number of tree nodes that begin right before it, one in another; only a one-sided writer opens
    such nodes.
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
    digits = linear_run(tail, 1, need, alphabet)
    if len(digits) == need and len(tail) > 1 + need:
        return tail[: 1 + need]
    preceding = decrement(digits.ljust(need, linear[0]), alphabet)
    if preceding is not None:
        return tail[0] + preceding
    if head == 1:
        return linear[0]
    return linear[head - 1] + linear[-1] * _inner_digits(quarter - head + 1, rounds)


# --- Alternating writers ----------------------------------------------------------------------------------


def _alternating(stem: str, lo: str, hi: str, alphabet: Alphabet) -> str | None:
    """`_count_inwards` if the last characters of `stem` spell an alternation, else None."""
    lower_first = _alternation(alphabet.linear).get(stem[-_ALTERNATING_CHARACTERS:])
    return None if lower_first is None else _count_inwards(lo, hi, lower_first, alphabet)


@cache
def _alternation(linear: str) -> dict[str, bool]:
    """What halving leaves in the last characters of a key when the two sides take turns.

    Returns:
        The characters, and whether the key after them becomes the lower neighbour (else the upper).
    """
    size = len(linear)
    found: dict[str, bool] = {}
    for turn in (True, False):
        spelled = ""
        lower, upper = -1, size
        while len(spelled) < _ALTERNATING_CHARACTERS + 2:
            key = upper // 2 if lower < 0 else (lower + upper) // 2
            lower, upper = (key, upper) if turn else (lower, key)
            turn = not turn
            if upper - lower == 1:
                # Used up: the next key has one more character, behind the lower one's.
                spelled += linear[lower]
                lower, upper = -1, size
                if len(spelled) >= _ALTERNATING_CHARACTERS:
                    found[spelled[-_ALTERNATING_CHARACTERS:]] = turn
    return found


@cache
def _mirror(linear: str) -> dict[int, str]:
    """A translation of each character to the one as far from the other end."""
    return {ord(character): other for character, other in zip(linear, reversed(linear), strict=True)}


def _is_count(tail: str, alphabet: Alphabet) -> bool:
    """Is `tail` a head in the lower half, with as many digits as its rank?"""
    head = alphabet.rank.get(tail[0], 0)
    return 0 < head < len(alphabet.linear) // 2 - 1 and len(tail) == 1 + head and alphabet.opening not in tail


def _count(tail: str, alphabet: Alphabet) -> str | None:
    """The count after `tail` ("" for none); None after the last, which is astronomically far."""
    linear, rank = alphabet.linear, alphabet.rank
    if not tail:
        return linear[1] + first_count(1, alphabet)
    digits = increment(tail[1:], alphabet)
    if digits is not None:
        return tail[0] + digits
    head = rank[tail[0]] + 1
    return linear[head] + first_count(head, alphabet) if head < len(linear) // 2 - 1 else None


def _count_inwards(lo: str, hi: str, lower_first: bool, alphabet: Alphabet) -> str | None:
    """The next count of a writer who alternates: upwards behind `lo`, or downwards before `hi`.

    Args:
        lo: what the lower neighbour has behind the stem: "" or an upward count.
        hi: what the upper neighbour has behind the stem: "" if it lies outside, or a downward count.
        lower_first: whether the first count of the stem was an upward one.

    Returns:
        The characters behind the stem; None if the neighbours are no counts, or the counts are used up.
    """
    mirror = _mirror(alphabet.linear)
    down = hi.translate(mirror)
    if (lo and not _is_count(lo, alphabet)) or (down and not _is_count(down, alphabet)):
        return None
    # Counts compare like strings, for the head tells the length.
    if (lo <= down) if lower_first else (lo < down):
        return _count(lo, alphabet)
    counted = _count(down, alphabet)
    return counted and counted.translate(mirror)

"""Position keys at the two ends of a file, where nothing follows or nothing precedes.

The first characters form a line of numbers. Around the middle lies a zone of keys of one character, which
appends and prepends halve (V e j m ...): a writer who comes back to the inside finds wide gaps there. Beyond the
zone the character is a head that tells how many digits follow, and writers count: n appends or prepends cost
O(log n) characters, where the paper's rule costs O(n) (D3, D4). Behind the last head the line starts anew.
"""

from schema.key_grammar import Alphabet

# Digits behind each head outside the zone, from the zone outwards; the outermost character starts a new line.
# 62 keys of two characters, 7,688 of three (a long source file), 238,328 of four, 15 million of five; more heads
# would take characters from the zone, whose width is the room between the lines of a fresh file.
_END_DIGITS = (1, 2, 2, 3, 4)

# Heads, and the outermost character, outside the zone on either side.
MARGIN = len(_END_DIGITS) + 1


def linear_run(key: str, start: int, most: int, alphabet: Alphabet) -> str:
    """The linear characters of `key` from `start`, up to the first tree node and at most `most`."""
    run = key[start : start + most]
    node = run.find(alphabet.opening)
    return run if node < 0 else run[:node]


def first_count(digits: int, alphabet: Alphabet) -> str:
    """The digits that a count behind a new head begins with: 1, not 0, for the head alone may become a key (D7)."""
    return alphabet.linear[0] * (digits - 1) + alphabet.linear[1] if digits else ""


def increment(digits: str, alphabet: Alphabet) -> str | None:
    """The next string of equal length, or None after the last."""
    linear = alphabet.linear
    stripped = digits.rstrip(linear[-1])
    if not stripped:
        return None
    return stripped[:-1] + alphabet.successor[stripped[-1]] + linear[0] * (len(digits) - len(stripped))


def decrement(digits: str, alphabet: Alphabet) -> str | None:
    """The previous string of equal length, or None before the first."""
    linear = alphabet.linear
    stripped = digits.rstrip(linear[0])
    if not stripped:
        return None
    return stripped[:-1] + alphabet.predecessor[stripped[-1]] + linear[-1] * (len(digits) - len(stripped))


def end_after(lo: str, alphabet: Alphabet) -> str:
    """A key after `lo` where nothing follows."""
    linear, rank = alphabet.linear, alphabet.rank
    top = len(linear) - 1
    edge = top - MARGIN
    first = rank.get(lo[0], -1)
    if edge < first < top and len(lo) == 1 + _END_DIGITS[first - edge - 1]:
        # The common step of a one-sided writer, first because it is asked for most.
        following = alphabet.successor.get(lo[-1])
        if following is not None:
            return lo[:-1] + following
    start = 0 if first < top else len(lo) - len(lo.lstrip(linear[top]))
    if start == len(lo) or lo[start] == alphabet.opening:
        # Linear characters all follow a leading node (D5): the middle is after it and shorter.
        return lo[:start] + alphabet.middle
    head = rank[lo[start]]
    if head < len(linear) // 2:
        return lo[:start] + alphabet.middle
    if head < edge:
        return lo[:start] + linear[(head + edge + 1) // 2]
    if head > edge:
        need = _END_DIGITS[head - edge - 1]
        digits = linear_run(lo, start + 1, need, alphabet)
        if len(digits) < need:
            return lo[: start + 1] + digits + first_count(need - len(digits), alphabet)
        successor = increment(digits, alphabet)
        if successor is not None:
            return lo[: start + 1] + successor
    if head + 1 == top:
        return lo[:start] + linear[top] + alphabet.middle
    return lo[:start] + linear[head + 1] + first_count(_END_DIGITS[head - edge], alphabet)


def end_before(hi: str, alphabet: Alphabet) -> str | None:
    """A key before `hi` where nothing precedes; None where `hi` begins with the lowest character or a node."""
    linear, rank = alphabet.linear, alphabet.rank
    head = rank.get(hi[0], 0)
    if head == 0:
        return None
    if head > MARGIN:
        if head > len(linear) // 2:
            return alphabet.middle
        # A key that goes on past its first character has that character before it (D6).
        return hi[0] if len(hi) > 1 else linear[(head + MARGIN) // 2]
    need = _END_DIGITS[MARGIN - 1 - head] if head < MARGIN else 0
    if len(hi) == 1 + need and need:
        preceding = alphabet.predecessor.get(hi[-1])
        if preceding is not None:
            return hi[:-1] + preceding
    digits = linear_run(hi, 1, need, alphabet)
    if len(digits) == need and len(hi) > 1 + need:
        return hi[: 1 + need]
    predecessor = decrement(digits.ljust(need, linear[0]), alphabet)
    if predecessor is not None:
        return hi[0] + predecessor
    if head == 1:
        return linear[0] + alphabet.middle
    return linear[head - 1] + linear[-1] * _END_DIGITS[MARGIN - head]

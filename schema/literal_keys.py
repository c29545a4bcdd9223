"""The paper's own algorithm for position keys (TraceCoder, section 4.3), faults included, for comparison.

Nothing of the store uses it: it collides with tombstones, and its keys grow by a character every few
insertions and double in the worst case (research/provenance.md, table D1-D11). Its recursions are written as
loops, which changes no key. The paper names KeyBefore but defines none: it is KeyBetween of nothing and hi.
"""

from schema.key_grammar import Alphabet, node_end, part


def literal_run(
    lo: str | None, hi: str | None, count: int, alphabet: Alphabet, limit: int | None
) -> list[str]:
    """Give `count` keys between two neighbours, one at a time from left to right.

    Stops after the first key of more than `limit` characters: the algorithm can double a key with each
    insertion, and what is too long already must not grow on.
    """
    keys = []
    for _ in range(count):
        lo = literal_after(lo or "", alphabet) if hi is None else literal_between(lo or "", hi, alphabet)
        keys.append(lo)
        if limit is not None and len(lo) > limit:
            break
    return keys


def literal_after(lo: str, alphabet: Alphabet) -> str:
    """KeyAfter of section 4.3."""
    linear, rank = alphabet.linear, alphabet.rank
    start = len(lo) - len(lo.lstrip(linear[-1]))
    if start == len(lo) or lo[start] == alphabet.opening:
        return lo + alphabet.middle
    return lo[:start] + linear[(rank[lo[start]] + len(linear)) // 2]


def literal_between(lo: str, hi: str, alphabet: Alphabet) -> str:
    """KeyBetween of section 4.3; `lo` is "" for none."""
    linear, rank = alphabet.linear, alphabet.rank
    opening, closing = alphabet.opening, alphabet.closing
    outer, suffix, lo, hi, at = part(lo, hi, alphabet)
    common, upper = hi[:at], rank[hi[at]]
    if at == len(lo):
        key = common + (linear[upper // 2] if upper else opening + alphabet.middle + closing)
    elif lo[at] == opening:
        node = lo[at + 1 : node_end(lo, at + 1, alphabet)]
        key = common + opening + literal_after(node, alphabet) + closing
    elif upper - rank[lo[at]] > 1:
        key = common + linear[(rank[lo[at]] + upper) // 2]
    else:
        key = lo + literal_after(lo[at + 1 :], alphabet)
    return outer + key + suffix

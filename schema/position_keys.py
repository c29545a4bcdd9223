"""Position keys: names of snippets that sort in file order and never change.

The grammar is TraceCoder's FIS (`key_grammar`). How keys are chosen differs from the paper, whose rules collide
with tombstones or grow by a character every few insertions (research/provenance.md, table D1-D11); `literal`
keeps the paper's rules for comparison (`literal_keys`). Ours:

- At the two ends of a file keys are numbers with a head that tells their length, so n appends or prepends cost
  O(log n) characters (D3, D4; `key_ends`).
- Inside a gap insertions halve the room, whichever side they fall on; a long run against one side, or a long
  alternation between the two, turns to counting (`key_gaps`). So 10,000 insertions in one place need 6
  characters from one side and 8 from both in turn; an unforeseeable writer costs about log2(62) bits a character.
- n keys are asked for at once and laid out evenly (D3; `key_blocks`).
- A bound that goes on past the divergence is used itself as the key when that is shorter (D6, D7).

Callers give neighbours among ALL rows, tombstones included (D1), and take a lock per file, because equal
bounds give equal keys (D11).
"""

from functools import lru_cache
from itertools import pairwise

from schema.errors import PositionKeyError
from schema.key_blocks import between_many, fresh, run_after, run_before
from schema.key_ends import end_after, end_before
from schema.key_gaps import between
from schema.key_grammar import BASES, Alphabet, alphabet_of, fault_of
from schema.literal_keys import literal_run

__all__ = [
    "BASES",
    "MAX_KEY_LENGTH",
    "Alphabet",
    "are_ascending",
    "is_valid",
    "key_after",
    "key_before",
    "key_between",
    "keys_between",
]

# A btree row of Postgres holds 2,704 bytes; the tables CHECK the same limit.
MAX_KEY_LENGTH = 1000


def is_valid(key: str, *, base: int = 62, limit: int | None = MAX_KEY_LENGTH) -> bool:
    """Say whether `key` is a FIS key of `base` with at most `limit` characters (None: any number)."""
    return fault_of(key, alphabet_of(base), limit) is None


def are_ascending(keys: list[str]) -> bool:
    """Say whether keys are strictly ascending in plain ASCII order."""
    return all(one < other for one, other in pairwise(keys))


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
    alphabet = alphabet_of(base)
    _check(lo, hi, base)
    if count <= 0:
        return []
    if literal:
        keys = literal_run(lo, hi, count, alphabet, limit)
    elif hi is None:
        keys = fresh(count, alphabet) if lo is None else run_after(lo, count, alphabet)
    elif lo is None:
        keys = run_before(hi, count, alphabet)
    else:
        keys = between_many(lo, hi, count, alphabet)
    if limit is not None:
        longest = max(map(len, keys))
        if longest > limit:
            raise _too_long(lo, hi, longest, limit)
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
    alphabet = BASES.get(base) or alphabet_of(base)
    # Written out, not by way of `keys_between`: an editor asks for one key at a time. Letters and digits are the
    # linear characters of base 62, so two calls in C tell a key without nodes.
    if not (
        base == 62
        and (lo is None or (lo.isalnum() and lo.isascii()))
        and (hi is None or (hi.isalnum() and hi.isascii() and (lo is None or lo < hi)))
    ):
        _check(lo, hi, base)
    if literal:
        key = literal_run(lo, hi, 1, alphabet, limit)[0]
    elif hi is None:
        key = alphabet.middle if lo is None else end_after(lo, alphabet)
    elif lo is None:
        key = end_before(hi, alphabet) or between("", hi, alphabet)
    else:
        key = between(lo, hi, alphabet)
    if limit is not None and len(key) > limit:
        raise _too_long(lo, hi, len(key), limit)
    return key


def key_before(hi: str, *, base: int = 62, literal: bool = False, limit: int | None = MAX_KEY_LENGTH) -> str:
    """Give a key before `hi`, the first of all rows (the paper names it but defines none: D10)."""
    return key_between(None, hi, base=base, literal=literal, limit=limit)


def key_after(lo: str, *, base: int = 62, literal: bool = False, limit: int | None = MAX_KEY_LENGTH) -> str:
    """Give a key after `lo`, the last of all rows."""
    return key_between(lo, None, base=base, literal=literal, limit=limit)


@lru_cache(maxsize=32)
def _bound_fault(key: str, base: int) -> str | None:
    """`fault_of`; remembered, for a writer comes back to the same bounds."""
    return fault_of(key, BASES[base], None)


def _check(lo: str | None, hi: str | None, base: int) -> None:
    """Refuse bounds that break the grammar, or that do not ascend."""
    for key in (lo, hi):
        if key is None or (base == 62 and key.isalnum() and key.isascii()):
            continue
        fault = _bound_fault(key, base)
        if fault:
            raise PositionKeyError(
                f"{key[:60]!r} is no position key: {fault}", mend="take keys from the store only"
            )
    if lo is not None and hi is not None and lo >= hi:
        raise PositionKeyError(
            f"no key lies between {lo[:60]!r} and {hi[:60]!r}",
            mend="give two neighbours in ascending ASCII order (collation C)",
        )


def _too_long(lo: str | None, hi: str | None, length: int, limit: int) -> PositionKeyError:
    return PositionKeyError(
        f"a key between {(lo or '')[:40]!r} and {(hi or '')[:40]!r} needs {length} characters, "
        f"more than {limit}",
        mend="the gap is used up; store the file under a new path, which starts with short keys",
    )

"""Position keys: grammar, order, and the faults D1-D11 of the published scheme."""

import bisect
import random
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schema.errors import PositionKeyError
from schema.position_keys import (
    BASES,
    MAX_KEY_LENGTH,
    is_valid,
    key_after,
    key_before,
    key_between,
    keys_between,
)

MODES = [(62, False), (94, False), (62, True), (94, True)]


def keys_of(base: int) -> st.SearchStrategy[str]:
    """Well-formed keys, nested nodes included, with many characters at the ends of the alphabet."""
    alphabet = BASES[base]
    linear = st.sampled_from(alphabet.linear[:3] + alphabet.middle + alphabet.linear[-3:])
    return st.recursive(
        st.lists(linear, min_size=1, max_size=4).map("".join),
        lambda inner: st.lists(
            st.one_of(linear, inner.map(lambda key: alphabet.opening + key + alphabet.closing)),
            min_size=1,
            max_size=4,
        ).map("".join),
        max_leaves=6,
    )


@pytest.mark.parametrize("base", [62, 94])
def test_alphabets_are_ascii_ascending_with_signs_below(base: int) -> None:
    alphabet = BASES[base]
    assert len(alphabet.linear) == {62: 62, 94: 92}[base]
    order = alphabet.closing + alphabet.opening + alphabet.linear
    assert list(order) == sorted(order)


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("V", True),
        ("0", True),
        (".V-", True),
        ("V.V-", True),
        ("..V-V-k", True),
        ("", False),
        ("V.-", False),  # D8
        (".-", False),
        ("V-", False),
        (".V", False),
        ("c_", False),  # D9
        ("é", False),
        ("V\n", False),
        ("a" * MAX_KEY_LENGTH, True),
        ("a" * (MAX_KEY_LENGTH + 1), False),
    ],
)
def test_grammar(key: str, valid: bool) -> None:
    assert is_valid(key) is valid


def test_every_pair_of_short_keys_has_a_key_between() -> None:
    atoms = ["0", "1", "V", "y", "z", ".0-", ".V-", ".z-", "..V--"]
    keys = sorted({"".join(parts) for size in (1, 2, 3) for parts in product(atoms, repeat=size)})
    for lo, hi in pairwise(keys):
        key = key_between(lo, hi)
        assert lo < key < hi, (lo, hi, key)
        assert is_valid(key), (lo, hi, key)
    chosen = random.Random(7)
    for _ in range(20_000):
        lo, hi = sorted(chosen.sample(keys, 2))
        for key in (key_between(lo, hi), key_between(lo, hi, literal=True)):
            assert lo < key < hi, (lo, hi, key)
            assert is_valid(key), (lo, hi, key)


@settings(deadline=None)
@given(st.data(), st.sampled_from(MODES), st.integers(0, 80))
def test_order_uniqueness_and_grammar(data: st.DataObject, mode: tuple[int, bool], count: int) -> None:
    base, literal = mode
    if literal:
        # Between a nested node and its neighbour the paper's algorithm doubles the key with each insertion.
        count = min(count, 10)
    keys = sorted(data.draw(st.sets(keys_of(base), min_size=2, max_size=2)))
    bounds: list[tuple[str | None, str | None]] = [
        (keys[0], keys[1]),
        (None, keys[0]),
        (keys[1], None),
        (None, None),
    ]
    for lo, hi in bounds:
        new = keys_between(lo, hi, count, base=base, literal=literal, limit=None)
        assert len(new) == count
        chain = [*([lo] if lo else []), *new, *([hi] if hi else [])]
        assert all(one < other for one, other in pairwise(chain))
        assert all(is_valid(key, base=base, limit=None) for key in new)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([62, 94]), st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), max_size=60))
def test_random_insertions_keep_a_total_order(base: int, places: list[tuple[float, int]]) -> None:
    rows: list[str] = []
    for place, count in places:
        at = round(place * len(rows))
        lo = rows[at - 1] if at else None
        hi = rows[at] if at < len(rows) else None
        rows[at:at] = keys_between(lo, hi, count, base=base)
        assert all(one < other for one, other in pairwise(rows))


def test_neighbours_among_all_rows_avoid_a_tombstone() -> None:
    """D1: after V, k with k a tombstone, an append asked for after k never gives k again."""
    assert key_after("k") > "k"


@pytest.mark.parametrize(
    ("lo", "hi", "key"),
    [
        (None, None, "V"),
        ("0V", "1", "0k"),  # D2
        (None, "0V", "0"),  # D6
        ("V", "V0V", "V0"),  # D6
        ("0", "1V", "1"),  # D7
        ("0", "1", "0V"),
        ("0", "z", "U"),
    ],
)
def test_small_examples(lo: str | None, hi: str | None, key: str) -> None:
    assert key_between(lo, hi) == key


@pytest.mark.parametrize(
    ("lo", "hi", "key"),
    [
        (None, None, "V"),
        ("V", None, "k"),
        ("z", None, "zV"),
        (".V-", None, ".V-V"),  # D5
        ("0", "1", "0V"),
        ("0V", "1", "0Vk"),  # D2
        (None, "V", "F"),
        (None, "0", ".V-"),
        (None, "0V", ".V-"),  # D6
        (".V-", "0", ".k-"),
        ("0", "1V", "0V"),  # D7
    ],
)
def test_literal_is_the_paper(lo: str | None, hi: str | None, key: str) -> None:
    assert key_between(lo, hi, literal=True) == key


def test_literal_growth_is_the_published_one() -> None:
    keys = keys_between("V", None, 9_999, literal=True, limit=None)
    assert (max(map(len, keys)), round(sum(map(len, keys)) / len(keys))) == (1667, 834)


PATTERNS = ["append", "prepend", "alternate", "random", "lo moves", "hi moves", "zigzag"]


def grow(pattern: str, count: int, *, literal: bool = False, base: int = 62) -> list[str]:
    """Insert one key at a time in a named pattern; the keys in order."""

    def between(lo: str | None, hi: str | None) -> str:
        return key_between(lo, hi, base=base, literal=literal, limit=None)

    if pattern == "random":
        chosen = random.Random(3)
        rows = [between(None, None)]
        while len(rows) < count:
            at = chosen.randint(0, len(rows))
            key = between(rows[at - 1] if at else None, rows[at] if at < len(rows) else None)
            bisect.insort(rows, key)
        return rows
    first = between(None, None)
    if pattern in ("append", "prepend", "alternate"):
        lo = hi = first
        rows = [first]
        for step in range(count - 1):
            if pattern == "append" or (pattern == "alternate" and step % 2):
                lo = between(lo, None)
                rows.append(lo)
            else:
                hi = between(None, hi)
                rows.append(hi)
        return sorted(rows)
    lo, hi = first, between(first, None)
    rows = [lo, hi]
    for step in range(count - 2):
        key = between(lo, hi)
        rows.append(key)
        if pattern == "lo moves" or (pattern == "zigzag" and step % 2):
            lo = key
        else:
            hi = key
    return sorted(rows)


@pytest.mark.parametrize(
    ("pattern", "mean", "longest"),
    [
        ("append", 3, 3),
        ("prepend", 3, 3),
        ("alternate", 3, 3),
        ("random", 3.8, 8),
        ("lo moves", 5, 5),
        ("hi moves", 6, 7),
        ("zigzag", 836, 1670),
    ],
)
def test_growth_over_ten_thousand_insertions(pattern: str, mean: float, longest: int) -> None:
    keys = grow(pattern, 10_000)
    assert len(set(keys)) == 10_000
    lengths = list(map(len, keys))
    assert max(lengths) <= longest
    assert sum(lengths) / len(lengths) <= mean


def test_a_long_run_in_one_place_stays_short_and_does_not_recurse() -> None:
    for pattern in ("append", "prepend", "lo moves", "hi moves"):
        assert max(map(len, grow(pattern, 30_000))) <= 20, pattern


def test_deep_nesting_does_not_recurse() -> None:
    deep = "." * 3000 + "V" + "-" * 3000
    key = key_between(deep, "0", limit=None)
    assert deep < key < "0"
    assert key_between(None, deep, limit=None) < deep


def test_limit() -> None:
    lo, hi = "V", "W"
    for step in range(7_000):  # about six insertions a character
        key = key_between(lo, hi, limit=None)
        lo, hi = (key, hi) if step % 2 else (lo, key)
        if max(len(lo), len(hi)) == MAX_KEY_LENGTH:
            break
    assert lo < key_between(lo, hi, limit=None) < hi
    with pytest.raises(PositionKeyError, match="more than 1000"):
        keys_between(lo, hi, 5_000)


@pytest.mark.parametrize(("lo", "hi"), [("V", "V"), ("k", "V"), ("V.-", None), (None, "c_"), ("", "V")])
def test_bad_bounds_are_refused(lo: str | None, hi: str | None) -> None:
    with pytest.raises(PositionKeyError):
        keys_between(lo, hi, 1)


def test_unknown_base_is_refused() -> None:
    with pytest.raises(PositionKeyError, match="base 64"):
        is_valid("V", base=64)


def test_a_whole_file_has_short_keys() -> None:
    keys = keys_between(None, None, 2_000)
    assert sum(map(len, keys)) / 2_000 < 2.1
    assert max(map(len, keys)) <= 3
    assert key_before(keys[0]) < keys[0]


def test_where_the_literal_algorithm_doubles_a_key_each_time_the_limit_stops_it() -> None:
    """Found by memory running out: 36 insertions between these two asked for 2**36 characters."""
    lo, hi = "0..zx11-.zx2--.2-", "1.0-"
    ours = keys_between(lo, hi, 36)
    assert max(map(len, ours)) < 40
    with pytest.raises(PositionKeyError):
        keys_between(lo, hi, 36, literal=True)

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
    are_ascending,
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
    for lo, hi in [
        *chosen.sample(list(pairwise(keys)), 300),
        *(sorted(chosen.sample(keys, 2)) for _ in range(300)),
    ]:
        for count in (2, 5, 23, 24, 70):
            new = keys_between(lo, hi, count)
            assert are_ascending([lo, *new, hi]), (lo, hi, new)
            assert all(map(is_valid, new)), (lo, hi, new)


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
        assert are_ascending(chain)
        assert all(is_valid(key, base=base, limit=None) for key in new)
        # Determinism, and one key is what the call for one key gives.
        assert new == keys_between(lo, hi, count, base=base, literal=literal, limit=None)
        one = keys_between(lo, hi, 1, base=base, literal=literal, limit=None)
        assert one == [key_between(lo, hi, base=base, literal=literal, limit=None)]


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from([62, 94]), st.sampled_from([23, 24, 500, 4_000, 9_000]))
def test_a_block_of_keys_is_ascending_and_no_longer_than_it_must_be(
    data: st.DataObject, base: int, count: int
) -> None:
    keys = sorted(data.draw(st.sets(keys_of(base), min_size=2, max_size=2)))
    ends: list[tuple[str | None, str | None]] = [(keys[0], keys[1]), (None, keys[0]), (keys[1], None)]
    for lo, hi in ends:
        new = keys_between(lo, hi, count, base=base)
        chain = [*([lo] if lo else []), *new, *([hi] if hi else [])]
        assert len(new) == count
        assert are_ascending(chain)
        assert all(is_valid(key, base=base) for key in new)
        # A node's two signs, a head and its digits, and what so many keys need.
        assert max(map(len, new)) <= max(len(keys[0]), len(keys[1])) + 12


class Rows:
    """All rows of a file in order, live and tombstoned, as writers of any habit leave them."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.keys: list[str] = []
        self.live: list[bool] = []

    def insert(self, at: int, count: int, *, literal: bool = False) -> list[str]:
        """Insert `count` rows before row `at` of all rows."""
        lo = self.keys[at - 1] if at else None
        hi = self.keys[at] if at < len(self.keys) else None
        new = keys_between(lo, hi, count, base=self.base, literal=literal, limit=None)
        self.keys[at:at] = new
        self.live[at:at] = [True] * count
        return new


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["random", "same place", "before", "after", "replace", "literal", "append", "prepend"]
        ),
        st.floats(0, 1),
        st.sampled_from([1, 1, 1, 2, 3, 9, 30, 200]),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=80)
@given(st.sampled_from([62, 94]), OPERATIONS)
def test_any_history_of_insertions_and_tombstones_keeps_one_order_of_unique_keys(
    base: int, operations: list[tuple[str, float, int]]
) -> None:
    rows = Rows(base)
    here = 0  # where the last insertion was
    given_out: set[str] = set()
    for operation, place, count in operations:
        size = len(rows.keys)
        at = round(place * size)
        if operation == "same place":
            at = min(here + round(place * 2), size)
        elif operation == "before":
            at = here
        elif operation == "after":
            at = min(here + 1, size)
        elif operation == "append":
            at = size
        elif operation == "prepend":
            at = 0
        elif operation == "replace":
            # Tombstones keep their keys, and the new rows go right after them (D1).
            for index in range(at, min(at + count, size)):
                rows.live[index] = False
            at = min(at + count, size)
        elif operation == "literal":
            count = min(count, 3)
        new = rows.insert(at, count, literal=operation == "literal")
        here = at + count // 2
        assert given_out.isdisjoint(new)
        given_out.update(new)
        assert all(is_valid(key, base=base, limit=None) for key in new)
        assert are_ascending(rows.keys[max(0, at - 1) : at + count + 1])
    assert are_ascending(rows.keys)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from([62, 94]), st.integers(1, 40), st.integers(1, 40))
def test_two_writers_in_one_gap(data: st.DataObject, base: int, first: int, second: int) -> None:
    """D11: the same gap gives the same keys, hence the store's lock; who sees the other's rows gets others."""
    lo, hi = sorted(data.draw(st.sets(keys_of(base), min_size=2, max_size=2)))
    mine = keys_between(lo, hi, first, base=base)
    # Without the lock both read the same neighbours: as many keys from both are the very same keys.
    assert keys_between(lo, hi, first, base=base) == mine
    # With it the second writer reads the first one's rows, and may write before, among or after them.
    around = [lo, *mine, hi]
    at = data.draw(st.integers(0, first))
    theirs = keys_between(around[at], around[at + 1], second, base=base)
    assert set(mine).isdisjoint(theirs)
    assert are_ascending([*around[: at + 1], *theirs, *around[at + 1 :]])


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([62, 94]), st.lists(st.booleans(), max_size=300), st.integers(0, 60), st.booleans())
def test_narrowing_one_gap_always_ends_in_a_key(
    base: int, turns: list[bool], alternations: int, low_first: bool
) -> None:
    """Termination and order under a writer who alternates for a while, then takes any turns."""
    lo, hi = keys_between(None, None, 2, base=base)
    for low in [*(bool(step % 2) is low_first for step in range(alternations)), *turns]:
        key = key_between(lo, hi, base=base, limit=None)
        assert lo < key < hi
        assert is_valid(key, base=base, limit=None)
        lo, hi = (key, hi) if low else (lo, key)
    # Wrong guesses cost something, but never more than a few characters each.
    assert len(key_between(lo, hi, base=base, limit=None)) <= 12 + len(turns)


def test_neighbours_among_all_rows_avoid_a_tombstone() -> None:
    """D1: an append that overlooks the tombstone is given the tombstone's key; one that names it is not."""
    tombstone = key_after("V")
    assert key_after("V") == tombstone
    assert key_after(tombstone) > tombstone
    inside = key_between("V", "W")
    assert key_between("V", "W") == inside
    assert inside < key_between(inside, "W") < "W"


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
        ("append", 3.3, 4),
        ("prepend", 3.3, 4),
        ("alternate", 3, 3),
        ("random", 3.3, 6),
        ("lo moves", 5, 5),
        ("hi moves", 6, 6),
        ("zigzag", 7.5, 8),
    ],
)
def test_growth_over_ten_thousand_insertions(pattern: str, mean: float, longest: int) -> None:
    keys = grow(pattern, 10_000)
    assert len(set(keys)) == 10_000
    lengths = list(map(len, keys))
    assert max(lengths) <= longest
    assert sum(lengths) / len(lengths) <= mean


def test_a_long_run_in_one_place_stays_short_and_does_not_recurse() -> None:
    for pattern in ("append", "prepend", "lo moves", "hi moves", "zigzag"):
        assert max(map(len, grow(pattern, 30_000))) <= 9, pattern


@pytest.mark.parametrize("base", [62, 94])
@pytest.mark.parametrize("low_first", [True, False])
@pytest.mark.parametrize("bounds", [(None, None), ("V", "W"), ("VK", "VKV"), ("V.V-", "V.W-"), ("0", "z")])
def test_alternation_is_counted_from_whatever_gap_it_starts(
    base: int, low_first: bool, bounds: tuple[str | None, str | None]
) -> None:
    first, second = bounds
    if base == 94 and first:
        first, second = ('A"B!', 'A"C!') if "." in first else (first, second)
    lo, hi = (first, second) if first and second else keys_between(None, None, 2, base=base)
    start = max(len(lo), len(hi))
    for step in range(3_000):
        key = key_between(lo, hi, base=base)
        assert lo < key < hi
        lo, hi = (key, hi) if bool(step % 2) is low_first else (lo, key)
    assert len(key) <= start + 10


def test_an_unforeseeable_writer_pays_about_six_bits_a_character() -> None:
    """No scheme does better than log2(62) = 5.95; the guesses of ours cost a twentieth at most."""
    chosen = random.Random(11)
    lo, hi = "V", "W"
    for _ in range(5_000):
        key = key_between(lo, hi, limit=None)
        lo, hi = (key, hi) if chosen.random() < 0.5 else (lo, key)
    assert len(key) <= 5_000 / 5.95 * 1.05


@pytest.mark.parametrize("place", ["first", "middle", "any"])
def test_hunks_in_one_place_cost_a_few_bits_a_key(place: str) -> None:
    """480 hunks of 1-20 lines, each in a gap of the one before: log2(21!) / 20 = 3.3 bits a hunk is the bound."""
    chosen = random.Random(1)
    lo, hi = "V", "W"
    longest = 0
    for _ in range(480):
        count = chosen.randint(1, 20)
        around = [lo, *keys_between(lo, hi, count, limit=None), hi]
        longest = max(longest, *map(len, around))
        at = {"first": 0, "middle": (count + 1) // 2, "any": chosen.randint(0, count)}[place]
        lo, hi = around[at], around[at + 1]
    assert longest <= {"first": 60, "middle": 330, "any": 330}[place]


def test_deep_nesting_does_not_recurse() -> None:
    deep = "." * 3000 + "V" + "-" * 3000
    key = key_between(deep, "0", limit=None)
    assert deep < key < "0"
    assert key_between(None, deep, limit=None) < deep


def test_limit() -> None:
    chosen = random.Random(5)
    lo, hi = "V", "W"
    while max(len(lo), len(hi)) < MAX_KEY_LENGTH:  # about six insertions a character
        key = key_between(lo, hi, limit=None)
        lo, hi = (key, hi) if chosen.random() < 0.5 else (lo, key)
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
    assert sum(map(len, keys)) / 2_000 < 2
    assert max(map(len, keys)) == 2
    assert key_before(keys[0]) < keys[0]
    assert key_after(keys[-1]) > keys[-1]


def test_bulk_appends_are_the_appends_one_by_one() -> None:
    for start, count in (("V", 9_000), ("tz", 100), ("u00", 4_000), ("zzV", 300), ("w0zy", 200)):
        one_by_one = [key_after(start)]
        while len(one_by_one) < count:
            one_by_one.append(key_after(one_by_one[-1]))
        assert keys_between(start, None, count) == one_by_one
    for start, count in (("V", 9_000), ("60", 100), ("5zz", 4_000), ("3z01", 200)):
        one_by_one = [key_before(start)]
        while len(one_by_one) < count:
            one_by_one.append(key_before(one_by_one[-1]))
        assert keys_between(None, start, count) == one_by_one[::-1]


def test_where_the_literal_algorithm_doubles_a_key_each_time_the_limit_stops_it() -> None:
    """Found by memory running out: 36 insertions between these two asked for 2**36 characters."""
    lo, hi = "0..zx11-.zx2--.2-", "1.0-"
    ours = keys_between(lo, hi, 36)
    assert max(map(len, ours)) < 40
    with pytest.raises(PositionKeyError):
        keys_between(lo, hi, 36, literal=True)

"""Position keys: lengths against the issue's figures, lengths and speed against PyPI `fractional-indexing`.

The patterns: append, prepend, alternate (both ends in turn), random (anywhere in the file), and five that stay
in one place, of whose two neighbours the new key replaces the lower (lo moves), the upper (hi moves), each in turn
(zigzag), or either by the toss of a coin. Times are of the processor, for nothing here waits for anything.
"""

import contextlib
import random
import time
from collections.abc import Callable, Iterator

from fractional_indexing import generate_key_between, generate_n_keys_between

from schema.position_keys import key_between, keys_between
from tests.bench.measure import Measure

PEER = "fractional-indexing"
ISSUE = "limit of the issue"

Between = Callable[[str | None, str | None], str]
Many = Callable[[str | None, str | None, int], list[str]]

# Mean and maximum characters after 10,000 insertions that the issue allows.
ALLOWED = {
    "append": (4, 5),
    "prepend": (4, 5),
    "alternate": (4, 5),
    "random": (3.6, 7),
    "lo moves": (836, 1652),
    "hi moves": (717, 1431),
    "zigzag": (836, 1652),
}


def ours(lo: str | None, hi: str | None) -> str:
    """One key of ours, of any length."""
    return key_between(lo, hi, limit=None)


def ours_many(lo: str | None, hi: str | None, count: int) -> list[str]:
    """Many keys of ours, of any length."""
    return keys_between(lo, hi, count, limit=None)


def insertions(pattern: str, count: int, between: Between) -> Iterator[str]:
    """Insert `count` keys one by one in a pattern; each key as it comes."""
    first = between(None, None)
    yield first
    if pattern == "random":
        chosen = random.Random(3)
        rows = [first]
        for _ in range(count - 1):
            at = chosen.randint(0, len(rows))
            key = between(rows[at - 1] if at else None, rows[at] if at < len(rows) else None)
            rows.insert(at, key)
            yield key
        return
    lo = hi = first
    if pattern in ("append", "prepend", "alternate"):
        for step in range(count - 1):
            if pattern == "append" or (pattern == "alternate" and step % 2):
                lo = between(lo, None)
                yield lo
            else:
                hi = between(None, hi)
                yield hi
        return
    hi = between(first, None)
    yield hi
    coin = random.Random(5)
    for step in range(count - 2):
        key = between(lo, hi)
        yield key
        if pattern == "coin":
            low = coin.random() < 0.5
        else:
            low = pattern == "lo moves" or (pattern == "zigzag" and step % 2 == 1)
        lo, hi = (key, hi) if low else (lo, key)


def mean(keys: list[str]) -> float:
    """Mean length in characters."""
    return sum(map(len, keys)) / len(keys)


def longest(keys: list[str]) -> int:
    """Greatest length in characters."""
    return max(map(len, keys))


def lengths(
    name: str, keys: list[str], most: tuple[float, float], peer: str, at_most: float
) -> Iterator[Measure]:
    """Mean and maximum length of keys beside those of a peer or limit."""
    for what, found, against in (("mean", mean(keys), most[0]), ("max", longest(keys), most[1])):
        yield Measure(
            name=f"{name}, {what}", ours=found, against=against, unit="chars", peer=peer, at_most=at_most
        )


def measures() -> Iterator[Measure]:
    """All figures."""
    for pattern, most in ALLOWED.items():
        keys = list(insertions(pattern, 10_000, ours))
        assert len(set(keys)) == len(keys)
        yield from lengths(f"{pattern}, 10,000", keys, most, ISSUE, 1)
    yield from _edited_file()
    for pattern in (*ALLOWED, "coin"):
        yield from _beside_the_peer(pattern)
    yield from _many()
    yield from _nested_hunks()
    yield from _without_end()


# --- A file under edit ------------------------------------------------------------------------------------


def edited_file(place: str, seed: int) -> list[str]:
    """All rows of 2,000 lines after 60 rounds of 8 hunks of 1-20 lines, tombstones kept.

    `place` says where a hunk goes: "scattered" in between any two rows, "spot" always at the same row, so that
    each hunk goes before the last one; "replacing" tombstones as many live rows anywhere and goes right after them.
    """
    chosen = random.Random(seed)
    rows = [(key, True) for key in ours_many(None, None, 2_000)]
    for _ in range(60 * 8):
        count = chosen.randint(1, 20)
        at = 1_000 if place == "spot" else chosen.randint(0, len(rows))
        if place == "replacing":
            live = [index for index, (_, alive) in enumerate(rows) if alive]
            first = chosen.randrange(len(live))
            for index in live[first : first + count]:
                rows[index] = (rows[index][0], False)
            at = live[first + count] if first + count < len(live) else len(rows)
        lo = rows[at - 1][0] if at else None
        hi = rows[at][0] if at < len(rows) else None
        rows[at:at] = [(key, True) for key in ours_many(lo, hi, count)]
    return [key for key, _ in rows]


def _edited_file() -> Iterator[Measure]:
    for place, most in (("scattered", (3.2, 8)), ("spot", (84, 230))):
        files = [edited_file(place, seed) for seed in range(1, 6)]
        name = f"2,000 lines, 480 hunks {place}, 5 seeds"
        yield from lengths(name, [key for rows in files for key in rows], most, ISSUE, 1)
    # A stricter reading, told and not judged: fewer gaps, for nobody writes among the tombstones.
    files = [edited_file("replacing", seed) for seed in range(1, 6)]
    for measure in lengths(
        "the same, live rows replaced", [key for rows in files for key in rows], (3.2, 8), ISSUE, 1
    ):
        yield Measure(name=measure.name, ours=measure.ours, against=measure.against, unit="chars", peer=ISSUE)


# --- Beside the peer --------------------------------------------------------------------------------------


def _timed(pattern: str, count: int, between: Between) -> tuple[float, list[str]]:
    """Seconds inside the calls and around them (the same for both), and the keys; ends where recursion does."""
    keys: list[str] = []
    began = time.process_time()
    with contextlib.suppress(RecursionError):
        keys.extend(insertions(pattern, count, between))  # keeps what came before
    return time.process_time() - began, keys


def _beside_the_peer(pattern: str) -> Iterator[Measure]:
    theirs, peers_keys = _timed(pattern, 10_000, generate_key_between)
    count = len(peers_keys)
    seconds, keys = _timed(pattern, count, ours)
    if theirs < 1:
        for _ in range(4):  # the best of five, of both in turn
            theirs = min(theirs, _timed(pattern, count, generate_key_between)[0])
            seconds = min(seconds, _timed(pattern, count, ours)[0])
    name = f"{pattern}, {count:,}" + ("" if count == 10_000 else " (there the peer's recursion ends)")
    # A coin can't be foreseen; guesses that pay on the other patterns cost a little there.
    at_most = 1.05 if pattern == "coin" else 1
    yield from lengths(name, keys, (mean(peers_keys), longest(peers_keys)), PEER, at_most)
    yield Measure(
        name=f"{name}, one at a time",
        ours=seconds / count * 1e6,
        against=theirs / count * 1e6,
        unit="µs/key",
        peer=PEER,
        at_most=1,
    )


def _gaps(between: Between) -> dict[str, tuple[str | None, str | None]]:
    first = between(None, None)
    return {
        "a fresh file": (None, None),
        "the end": (first, None),
        "the start": (None, first),
        "a gap": (first, between(first, None)),
    }


def _best(many: Many, gap: tuple[str | None, str | None], count: int) -> tuple[float, list[str]]:
    seconds = float("inf")
    keys: list[str] = []
    for _ in range(3):
        began = time.process_time()
        keys = many(*gap, count)
        seconds = min(seconds, time.process_time() - began)
    return seconds, keys


def _many() -> Iterator[Measure]:
    theirs = _gaps(generate_key_between)
    for name, gap in _gaps(ours).items():
        for count in (20, 1_000, 100_000):
            peers_seconds, peers_keys = _best(generate_n_keys_between, theirs[name], count)
            seconds, keys = _best(ours_many, gap, count)
            assert keys == sorted(set(keys))
            title = f"bulk, {count:,} in {name}"
            yield from lengths(title, keys, (mean(peers_keys), longest(peers_keys)), PEER, 1)
            yield Measure(
                name=title,
                ours=seconds / count * 1e6,
                against=peers_seconds / count * 1e6,
                unit="µs/key",
                peer=PEER,
                at_most=1,
            )
        for count in (100_000, 1_000_000):
            seconds, _ = _best(ours_many, gap, count)
            yield Measure(
                name=f"bulk, {count:,} in {name}",
                ours=count / seconds,
                against=1e6,
                unit="keys/s",
                peer=ISSUE,
                at_least=1,
            )


def nested_hunks(place: str, seed: int, many: Many) -> list[str]:
    """480 hunks of 1-20 lines, each in one gap of the hunk before: its first, its middle, or any."""
    chosen = random.Random(seed)
    lo, hi = many(None, None, 2)
    keys: list[str] = []
    for _ in range(480):
        count = chosen.randint(1, 20)
        new = many(lo, hi, count)
        keys += new
        around = [lo, *new, hi]
        at = {"first": 0, "middle": (count + 1) // 2, "any": chosen.randint(0, count)}[place]
        lo, hi = around[at], around[at + 1]
    return keys


def _nested_hunks() -> Iterator[Measure]:
    for place, gap in (("first", "the first gap"), ("middle", "the middle gap"), ("any", "any gap")):
        found = [nested_hunks(place, seed, ours_many) for seed in range(1, 6)]
        peers = [nested_hunks(place, seed, generate_n_keys_between) for seed in range(1, 6)]
        for what, figure in (("mean", mean), ("max", longest)):
            yield Measure(
                name=f"480 hunks, each in {gap} of the one before, {what} of 5 seeds",
                ours=sum(map(figure, found)) / 5,
                against=sum(map(figure, peers)) / 5,
                unit="chars",
                peer=PEER,
                at_most=1.05,
            )


# --- No recursion limit, no blow-up -----------------------------------------------------------------------


def _drained(pattern: str, count: int) -> tuple[float, int]:
    began = time.process_time()
    last = ""
    for key in insertions(pattern, count, ours):
        last = key
    return time.process_time() - began, len(last)


def _without_end() -> Iterator[Measure]:
    for pattern in (*ALLOWED, "coin"):
        short = min(_drained(pattern, 10_000)[0] for _ in range(3))
        seconds, length = _drained(pattern, 100_000)
        # A coin's keys grow with every toss, so their sum of characters is quadratic, whoever makes them; and
        # rows in a Python list cost more to insert the more there are.
        yield Measure(
            name=f"{pattern}, 100,000 insertions beside ten times 10,000",
            ours=seconds,
            against=10 * short,
            unit="s",
            peer="ours at 10,000",
            at_most=None if pattern in ("coin", "random") else 2,
        )
        bound = 100_000 / 5.95 * 1.05 if pattern == "coin" else 20
        yield Measure(
            name=f"{pattern}, 100,000 insertions, the last key",
            ours=length,
            against=bound,
            unit="chars",
            peer="log2(62) bits a char" if pattern == "coin" else "20 chars",
            at_most=1,
        )

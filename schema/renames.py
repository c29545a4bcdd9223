"""Files that changed their name: their lines are moves, whatever their size.

`schema.diff` finds moved blocks by their text, so it leaves braces and short lines of a renamed file behind. Here a
file that went and a file that came are first paired as wholes, as git pairs them, and the pair is aligned as one file.
Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schema.diff import Change, Difference, Operation, Place, align, difference
from schema.pairing import Stretch

# git's default: two files are one if they share half of the larger one.
SHARED = 0.5


def renamed(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Pair the files that came with those that went: new path → old path.

    Args:
        old: path → lines, before. new: path → lines, after. A file went if it is in `old` alone; it came if `old`
            has no line of it.

    Returns:
        Pairs that share at least half of the characters of the larger file, in whole lines; the most alike first,
        then those that kept their name in another folder.
    """
    went = {path: Counter(lines) for path, lines in old.items() if lines and path not in new}
    came = {path: Counter(lines) for path, lines in new.items() if lines and not old.get(path)}
    if not went or not came:
        return {}
    holders: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, counts in went.items():
        for line, count in counts.items():
            holders[line].append((path, count))
    sizes = {path: sum(map(len, lines)) for path, lines in (*old.items(), *new.items()) if lines}
    found: list[tuple[float, bool, str, str]] = []
    for path, counts in came.items():
        shared: dict[str, int] = defaultdict(int)
        for line, count in counts.items():
            for other, others in holders.get(line, ()):
                shared[other] += len(line) * min(count, others)
        for other, size in shared.items():
            share = size / max(sizes[path], sizes[other])
            if share >= SHARED:
                found.append((-share, _name(path) != _name(other), path, other))
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for _, _, path, other in sorted(found):
        if path not in pairs and other not in taken:
            pairs[path] = other
            taken.add(other)
    return pairs


def align_files(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> tuple[Operation, ...]:
    """`schema.diff.align`, with the equal lines of renamed files as moves."""
    pairs = renamed(old, new)
    if not pairs:
        return align(old, new)
    return tuple(_told(operation, pairs) for operation in align(*_as_one(old, new, pairs)))


def difference_of_files(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> Difference:
    """`schema.diff.difference`, with the equal lines of renamed files as moves."""
    pairs = renamed(old, new)
    found = difference(*_as_one(old, new, pairs))
    if not pairs:
        return found
    stretches = dict(found.stretches)
    for path in pairs:
        # No line of a file that came equals one of the same path.
        stretches[path] = (Stretch(path=path, old=range(0), new=range(len(new[path]))),)
    operations = align_files(old, new)
    return Difference(
        operations=tuple(operation for operation in operations if operation.change is not Change.EQUAL),
        stretches=stretches,
    )


def _as_one(
    old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]], pairs: Mapping[str, str]
) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
    """The files with the renamed ones under their new names on both sides."""
    names = {before: after for after, before in pairs.items()}
    return {names.get(path, path): lines for path, lines in old.items() if path not in pairs}, new


def _told(operation: Operation, pairs: Mapping[str, str]) -> Operation:
    """The operation with its old places under their old names."""

    def place(known: Place | None) -> Place | None:
        if known is None or known.path not in pairs:
            return known
        return Place(path=pairs[known.path], index=known.index)

    old, new = place(operation.old), operation.new
    change = operation.change
    if change is Change.EQUAL and old is not None and new is not None and old.path != new.path:
        change = Change.MOVED
    merged = tuple(found for part in operation.merged if (found := place(part)) is not None)
    return replace(operation, change=change, old=old, merged=merged, split=place(operation.split))


def _name(path: str) -> str:
    return path.rpartition("/")[2]

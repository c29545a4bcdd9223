"""Blocks that vanished in one place and appear in another, in any file: pass 2 of `schema.diff`."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import repeat

from schema.matching import alphanumerics, similar_pairs
from schema.pairing import Line, LinePair, Pairing

MOVED_BLOCK_ALPHANUMERICS = 20
# Of each line, in each file, so many origins are looked at: the nearest.
CANDIDATES_PER_LINE = 32
# Edited lines beside a moved block: how alike, how many unlike ones in a row end the block, how far is looked.
EDITED_SIMILARITY = 60.0
EDITED_GAP = 3
EDITED_REACH = 20
# So many lines between two that moved the same way moved as well; of the ones beyond, the first must tell this much.
BRIDGED_LINES = 3
BRIDGE_ALPHANUMERICS = 8
# So many lines change places at most, for one that is left over to have its own.
FOLLOWERS = 32
# Only a block that tells as much as this has edited lines beside it.
EDITED_BLOCK_ALPHANUMERICS = 40

_Unpaired = tuple[str, int, str, str]  # path, index, stripped line, stripped line after it in its stretch
_Block = tuple[float, Line, Line, int]  # −weight, first old line, first new line, count


def match_moves(pairing: Pairing) -> None:
    """Take the heaviest block of equal stripped lines, then the next one of what is left; then their edited lines.

    Args:
        pairing: has the lines that stayed in place; gets those that moved.
    """
    blocks = _blocks(pairing)
    taken: list[tuple[float, LinePair, LinePair]] = []
    while blocks:
        weight, one, other, count = heappop(blocks)
        pairs = [((one[0], one[1] + step), (other[0], other[1] + step)) for step in range(count)]
        free = [pairing.gone(origin) and pairing.come(place) for origin, place in pairs]
        if all(free):
            for pair in pairs:
                pairing.take(*pair)
            taken.append((-weight, pairs[0], pairs[-1]))
            continue
        for first, length in _runs_of(free):
            origin, place = pairs[first]
            weight = pairing.weight(place, length, least=MOVED_BLOCK_ALPHANUMERICS)
            if weight >= MOVED_BLOCK_ALPHANUMERICS:
                heappush(blocks, (-weight, origin, place, length))
    grown = [(weight, _bridge(pairing, head, -1), _bridge(pairing, tail, 1)) for weight, head, tail in taken]
    for weight, head, tail in grown:
        if weight >= EDITED_BLOCK_ALPHANUMERICS:
            head, tail = _match_edited(pairing, head, -1), _match_edited(pairing, tail, 1)
        _slide(pairing, head, -1)
        _slide(pairing, tail, 1)
    # Each one that follows makes one line less that is left over: it ends.
    while taken and _follow(pairing, 1) + _follow(pairing, -1):
        pass


def _blocks(pairing: Pairing) -> list[_Block]:
    """A heap of the blocks that are heavy enough."""
    sides: tuple[list[_Unpaired], list[_Unpaired]] = ([], [])
    for path in pairing.spines:
        old, new = pairing.old[path], pairing.new[path]
        for stretch in pairing.stretches(path, equal=False):
            for side, lines, where in zip(sides, (old, new), (stretch.old, stretch.new), strict=True):
                stripped = [line.strip() for line in lines[where.start : where.stop]]
                side += zip(repeat(path), where, stripped, [*stripped[1:], ""])
    # Few lines are on both sides, and only of these a block is made.
    shared = {line for _, _, line, _ in sides[0]}.intersection(line for _, _, line, _ in sides[1])
    # By line, and by two in a row, for lines that are everywhere.
    origins: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for path, index, line, after in sides[0]:
        if line in shared:
            origins[(line,)][path].append(index)
            origins[line, after][path].append(index)
    blocks: list[_Block] = []
    ends: dict[tuple[str, str, int], int] = {}  # both paths and their distance → end of the last block there
    for path, index, line, after in sides[1]:
        if line not in shared or not alphanumerics(line):
            continue
        for from_path, indices in origins[(line,)].items():
            if len(indices) > CANDIDATES_PER_LINE and (line, after) in origins:
                indices = origins[line, after].get(from_path, [])
            for one in _nearest(indices, index):
                diagonal = (from_path, path, index - one)
                if ends.get(diagonal, 0) > index:
                    continue
                back, ahead = 0, 1
                while pairing.alike((from_path, one - back - 1), (path, index - back - 1)):
                    back += 1
                while pairing.alike((from_path, one + ahead), (path, index + ahead)):
                    ahead += 1
                ends[diagonal] = index + ahead
                place = (path, index - back)
                weight = pairing.weight(place, back + ahead, least=MOVED_BLOCK_ALPHANUMERICS)
                if weight >= MOVED_BLOCK_ALPHANUMERICS:
                    blocks.append((-weight, (from_path, one - back), place, back + ahead))
    heapify(blocks)
    return blocks


def _nearest(indices: Sequence[int], index: int) -> Sequence[int]:
    """Those of the ascending indices that are nearest to one."""
    if len(indices) <= CANDIDATES_PER_LINE:
        return indices
    middle = bisect_left(indices, index)
    first = min(max(0, middle - CANDIDATES_PER_LINE // 2), len(indices) - CANDIDATES_PER_LINE)
    return indices[first : first + CANDIDATES_PER_LINE]


def _bridge(pairing: Pairing, end: LinePair, step: int) -> LinePair:
    """Grow a moved block from its end over a few lines that seem to have stayed to others that moved with it.

    In two functions that change places, a line that both have at about the same height looks as if it had stayed.

    Returns:
        The block's new end.
    """
    (from_path, one), (path, other) = end
    while True:
        for length in range(1, BRIDGED_LINES + 1):
            far = (length + 1) * step
            origin, place = (from_path, one + far), (path, other + far)
            if pairing.far.get(place) == origin:
                break  # another block that moved the same way
            if (
                pairing.alike(origin, place)
                and alphanumerics(pairing.new[path][other + far]) >= BRIDGE_ALPHANUMERICS
            ):
                break
        else:
            return end
        first = step if step > 0 else -length
        if not pairing.bridge((from_path, one + first), (path, other + first), length):
            return end
        while pairing.far.get(place) == origin or pairing.alike(origin, place):
            pairing.take(origin, place)
            end = (origin, place)
            origin, place = (from_path, origin[1] + step), (path, place[1] + step)
        one, other = end[0][1], end[1][1]


def _match_edited(pairing: Pairing, end: LinePair, step: int) -> LinePair:
    """Pair the unpaired lines from a moved block's end on that are like each other, and return the new end."""
    sides: tuple[list[Line], list[Line]] = ([], [])
    for side, (path, index), free in zip(sides, end, (pairing.gone, pairing.come), strict=True):
        index += step
        while len(side) < EDITED_REACH and free((path, index)):
            side.append((path, index))
            index += step
    if not sides[0] or not sides[1]:
        return end
    # Both sides are told away from the block, so that for either step the first gap ends it.
    near = (-1, -1)
    for pair in similar_pairs(
        [pairing.old[path][index] for path, index in sides[0]],
        [pairing.new[path][index] for path, index in sides[1]],
        cutoff=EDITED_SIMILARITY,
    ):
        if max(pair[0] - near[0], pair[1] - near[1]) > EDITED_GAP:
            break
        near = pair
        end = (sides[0][pair[0]], sides[1][pair[1]])
        pairing.take(*end)
    return end


def _slide(pairing: Pairing, end: LinePair, step: int) -> None:
    """Grow a block from its end by lines that could as well have been left out, or put in, elsewhere."""
    origin, place = end
    while True:
        origin, place = (origin[0], origin[1] + step), (place[0], place[1] + step)
        if not pairing.loosen(origin, place):
            return
        pairing.take(origin, place)


def _follow(pairing: Pairing, step: int) -> int:
    """Let a line that is left over follow the one beside it.

    Its place may be taken by a line that reads the same; that one then follows the one beside it, and so on until a
    place is free. Of many functions in another order, all with the same last lines, each gets its own.

    Args:
        step: 1 for lines that follow the one before them, -1 for the one after them.

    Returns:
        How many lines did.
    """
    followed = 0
    left_over = [
        (path, index)
        for path in pairing.spines
        for stretch in pairing.stretches(path, equal=False)
        for index in stretch.old
        if pairing.gone((path, index))
    ]
    for line in left_over[::step]:
        chain: list[LinePair] = []
        follower: Line | None = line
        while follower is not None and len(chain) < FOLLOWERS:
            beside = pairing.place_of((follower[0], follower[1] - step))
            if beside is None:
                break
            place = (beside[0], beside[1] + step)
            new = pairing.new[place[0]]
            if not 0 <= place[1] < len(new):
                break
            if pairing.old[follower[0]][follower[1]].strip() != new[place[1]].strip():
                break
            chain.append((follower, place))
            follower = pairing.origin_of(place)
        else:
            if follower is None:
                for _, place in chain:
                    pairing.release(place)
                for origin, place in chain:
                    pairing.join(origin, place, step)
                followed += 1
    return followed


def _runs_of(free: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """First index and length of each run of true."""
    first = None
    for index, good in enumerate([*free, False]):
        if good and first is None:
            first = index
        elif not good and first is not None:
            yield first, index - first
            first = None

"""Who is next on a queue: the share of each run, as a pure function.

A broker's queue is first in, first out: whoever fills it first is served first, and a cohort of a thousand operators
would keep one of two waiting for hours. So the relay lets no more messages stand in a queue than its workers take
soon, and what it publishes next is decided here, from what each run has under way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

# Messages that may stand in a queue before any job of it runs; enough for a worker never to find it empty.
LEAST_DEPTH = 8


@dataclass(frozen=True, kw_only=True)
class Share:
    """What a run has on one queue.

    Attributes:
        priority: of the run; a higher one goes first, whatever the others wait for.
        waiting: jobs in the outbox.
        under_way: jobs that stand in the broker's queue or run.
    """

    priority: int
    waiting: int
    under_way: int


def depth(running: int) -> int:
    """How many messages may stand in a queue: as many as twice the jobs that run, so that it grows with the workers."""
    return max(LEAST_DEPTH, 2 * running)


def share_out(shares: Mapping[int, Share], room: int) -> dict[int, int]:
    """How many jobs of each run are published next.

    One after the other goes to the run of the highest priority that has the least under way; of two alike, to the
    older one. So runs of one priority come to have the same number under way, as far as they have so many.

    Args:
        shares: run id → what it has.
        room: messages that the queue takes.

    Returns:
        run id → jobs, none of them 0; together as many as there is room for, or as wait.
    """
    order = [(-one.priority, one.under_way, run) for run, one in shares.items() if one.waiting > 0]
    heapify(order)
    given: dict[int, int] = {}
    for _ in range(max(room, 0)):
        if not order:
            break
        priority, under_way, run = order[0]
        given[run] = given.get(run, 0) + 1
        if given[run] < shares[run].waiting:
            heapreplace(order, (priority, under_way + 1, run))
        else:
            heappop(order)
    return given

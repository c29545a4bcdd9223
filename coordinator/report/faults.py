"""A thing in a task's records that does not hold, as `opmend verify` names it."""

from schema.results import Record

# What can be at fault, in the order in which it is checked and told: the log first, since all else hangs on it.
FAULT_KINDS = (
    "event-chain",
    "revision",
    "blob",
    "tree",
    "position-key",
    "snippet",
    "lineage",
    "failure",
    "tombstone",
    "explanation",
    "evidence",
    "benchmark-run",
    "verdict",
    "job",
    "outbox",
    "decision",
    "outcome",
)


class Fault(Record):
    """One thing that does not hold.

    Attributes:
        kind: one of FAULT_KINDS.
        where: the row, in words: "revision 3, kernel/add.cpp:17", "event 12", "job 4-0007-trial-compile".
        what: what is wrong with it.
    """

    kind: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} ({self.kind})"


def in_order(faults: list[Fault]) -> list[Fault]:
    """The faults by the order of their kinds; within a kind as they were found."""
    return sorted(faults, key=lambda fault: FAULT_KINDS.index(fault.kind))

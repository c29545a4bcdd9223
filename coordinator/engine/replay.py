"""Replay: the decisions of a log, made again and compared (`opmend replay TASK`).

A decision is an event that the driver appends for a command. Where one stands in the log, `decide` on
everything before it must give the commands that the next events are made of; where a log ends, it must
have nothing more to say.
"""

from collections.abc import Sequence

from coordinator.engine.operator_policy import decide
from coordinator.engine.state import TaskState, apply
from schema.errors import HistoryError
from schema.events import (
    CandidateChosen,
    CheckpointPromoted,
    CheckpointRestored,
    IntegrityScanned,
    JobCancelled,
    JobRequested,
    Recorded,
    RoundStarted,
    TaskFinished,
)
from schema.results import Record

DECISIONS = (
    CandidateChosen,
    CheckpointPromoted,
    CheckpointRestored,
    IntegrityScanned,
    JobCancelled,
    JobRequested,
    RoundStarted,
    TaskFinished,
)


class Difference(Record):
    """Where this version decides otherwise than the log.

    Attributes:
        sequence: number of the event that differs, or the one after the end.
        recorded: what the log has there; "" after its end.
        decided: what `decide` says; "" for nothing.
    """

    sequence: int
    recorded: str
    decided: str

    def __str__(self) -> str:
        recorded, decided = self.recorded or "nothing", self.decided or "nothing"
        return f"event {self.sequence}: the log has {recorded}; this version decides {decided}"


def replay(recorded: Sequence[Recorded], *, decided_sequence: int | None = None) -> Difference | None:
    """The first difference between a log and the decisions of this version; None if there is none.

    Args:
        recorded: the log, from its first event on.
        decided_sequence: how far a driver has decided (`tasks.decided_sequence`); None for the whole
            log. Where it ends earlier, the last decisions are still to come.

    Raises:
        HistoryError: the log is empty, or can't be folded.
    """
    if not recorded:
        raise HistoryError("an empty log can't be replayed", mend="name a task that has begun")
    state: TaskState | None = None
    at = 0
    while at < len(recorded):
        if state is None or not isinstance(recorded[at].event, DECISIONS):
            state = apply(state, recorded[at])
            at += 1
            continue
        commands = decide(state)
        if not commands:
            return Difference(sequence=recorded[at].sequence, recorded=_told(recorded[at]), decided="")
        for command in commands:
            if at >= len(recorded):
                return Difference(sequence=recorded[-1].sequence + 1, recorded="", decided=repr(command))
            if not command.matches(recorded[at].event):
                return Difference(
                    sequence=recorded[at].sequence, recorded=_told(recorded[at]), decided=repr(command)
                )
            state = apply(state, recorded[at])
            at += 1
    settled = decided_sequence is None or decided_sequence >= recorded[-1].sequence
    if state is not None and settled:
        commands = decide(state)
        if commands:
            return Difference(sequence=recorded[-1].sequence + 1, recorded="", decided=repr(commands[0]))
    return None


def _told(recorded: Recorded) -> str:
    return repr(recorded.event)

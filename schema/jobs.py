"""Jobs: what a unit on a queue asks for, and what it answers.

| kind     | queue   | who runs it     | payload         | result      |
|----------|---------|-----------------|-----------------|-------------|
| compile  | compile | compile workers | CompilePayload  | Compilation |
| validate | npu     | NPU workers     | ValidatePayload | Validation  |
| rewrite  | llm     | LLM workers     | RewritePayload  | Proposals   |
| turn     | llm     | LLM workers     | TurnPayload     | TurnResult  |

Only the job's id travels through Redis; payload and result stay in Postgres. A payload names trees
and artifacts by blob digest, so a job can be run again, anywhere, with the same meaning.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field

from schema.results import CaseSet, Record


class JobKind(StrEnum):
    """What a job does."""

    COMPILE = "compile"
    VALIDATE = "validate"
    REWRITE = "rewrite"
    TURN = "turn"


class CompilePayload(Record):
    """Build the extension of a tree. `tree` is a blob digest; `toolchain` is "sim" or "cann"."""

    tree: str
    toolchain: str = "sim"


class ValidatePayload(Record):
    """Run cases of a tree with a built extension.

    Attributes:
        artifact: blob digest of the extension that a compile job built from this very tree.
        indices: positions of the cases in the full set.
        seed: where all inputs of this validation come from.
        max_elements: cases with more input and output elements are cut (reduced coverage).
        stop_after_failures: trials stop early; None runs every case.
    """

    tree: str
    artifact: str
    case_set: CaseSet
    indices: tuple[int, ...]
    seed: int
    max_elements: int | None = None
    stop_after_failures: int | None = None
    forensics: bool = True
    device: str = "sim"


class RewritePayload(Record):
    """Apply the executable rewrites of the given entries to a tree.

    Attributes:
        entries: ids in the order of retrieval.
        failure: what the rewrites may look at: failure type, category, hints, findings, failing cases.
        known_trees: digests that were tried before; proposals that lead there are left out.
        most: how many proposals at most.
    """

    tree: str
    entries: tuple[str, ...]
    failure: dict[str, Any] = Field(default_factory=dict)
    known_trees: tuple[str, ...] = ()
    most: int = 24


class Proposal(Record):
    """One changed tree that a rewrite or a session proposes.

    Attributes:
        direction: fix type + target, for example "datacopy-pad @ kernel/add.cpp".
        locations: "file:line" of each place that changed, in the new text.
    """

    tree: str
    entry: str | None = None
    rewrite: str | None = None
    title: str = ""
    direction: str = ""
    explanation: str = ""
    locations: tuple[str, ...] = ()


class Proposals(Record):
    """The result of a rewrite job, most plausible first."""

    proposals: tuple[Proposal, ...] = ()


class ToolRequest(StrEnum):
    """What a session waits for after a turn. The engine answers, and only the engine."""

    NONE = "none"  # the model goes on at once
    COMPILE = "compile"
    PROBE = "probe"
    SUBMIT = "submit"  # the round is over: `tree` is the candidate
    GIVE_UP = "give_up"  # the model has nothing left to propose


class TurnPayload(Record):
    """One turn of a repair session.

    Attributes:
        session: id of the session; one a round.
        turn: 1-based number of this turn in its session.
        tree: the workspace as the session has edited it so far.
        transcript: blob digest of the messages so far; None on the first turn.
        brief: what the first prompt is made of (specification, failure, forensics, entries, history of
            directions, forbidden directions), as the engine saw it.
        answer: the engine's answer to the last turn's request, as text for the model.
    """

    model: str
    session: str
    turn: int
    tree: str
    transcript: str | None = None
    brief: dict[str, Any] = Field(default_factory=dict)
    answer: str | None = None


class Tokens(Record):
    """Provider-reported token counts of one reply, or their sum (paper S2.4)."""

    input: int = 0
    output: int = 0
    cache_creation: int = 0
    cache_read: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_creation=self.cache_creation + other.cache_creation,
            cache_read=self.cache_read + other.cache_read,
        )


class TurnResult(Record):
    """What one turn led to.

    Attributes:
        tree: the workspace after this turn's edits.
        transcript: blob digest of all messages so far.
        request: what the session waits for.
        detail: arguments of the request, for example {"explanation": …, "direction": …} of a submit.
    """

    tree: str
    transcript: str
    request: ToolRequest
    detail: dict[str, Any] = Field(default_factory=dict)
    tokens: Tokens = Tokens()


PAYLOADS: dict[JobKind, type[Record]] = {
    JobKind.COMPILE: CompilePayload,
    JobKind.VALIDATE: ValidatePayload,
    JobKind.REWRITE: RewritePayload,
    JobKind.TURN: TurnPayload,
}

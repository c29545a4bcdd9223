"""What NPU workers report: compilations and validations of a candidate.

These models travel as JSON in job results and are stored whole as evidence, so a field, once
published, keeps its meaning; new fields get defaults.
"""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Base of all frozen models that are stored or sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FailureType(StrEnum):
    """How a candidate failed, decided by the worker that saw it (research/npukernelbench.md)."""

    SUCCESS = "success"
    BUILD_FAILED = "build_failed"
    IMPORT_FAILED = "import_failed"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    PRECISION_FAILED = "precision_failed"
    UNSUPPORTED = "unsupported"  # the simulator does not know a call: never a wrong kernel
    EXECUTION_ABORTED = "execution_aborted"  # infrastructure: the candidate is not to blame


class CaseSet(StrEnum):
    """Which cases a validation ran."""

    COMPACT = "compact"  # steers repair
    FULL = "full"  # certifies
    TRIAL = "trial"  # the failing compact cases alone, for a rewrite trial


class CaseStatus(StrEnum):
    """How one case ended. Only `passed` counts towards the match rate."""

    PASSED = "passed"
    MISMATCH = "mismatch"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    CUT = "cut"  # left out by the size limit: reduced coverage, never a pass


class Deviation(Record):
    """How one output of one case differs from the reference.

    Attributes:
        output: name or index of the output.
        dtype: dtype of the reference output, as torch prints it without "torch.".
        shape: shape of the reference output.
        mismatched: number of elements outside the tolerance.
        total: number of elements.
        max_abs: largest |actual - expected| over finite pairs.
        max_rel: largest |actual - expected| / (|expected| + 1e-7) over finite pairs (MARE).
        mean_rel: mean of the same quotient (MERE).
        threshold: T of the tolerance profile for this dtype; None where the rule is exact.
        first_index: multi-index of the first mismatch; empty if none.
        expected: the reference value there, as text.
        actual: the candidate's value there, as text.
        note: what does not fit numbers (shape or dtype differ, NaN positions differ, ...).
    """

    output: str
    dtype: str
    shape: tuple[int, ...]
    mismatched: int
    total: int
    max_abs: float | None = None
    max_rel: float | None = None
    mean_rel: float | None = None
    threshold: float | None = None
    first_index: tuple[int, ...] = ()
    expected: str = ""
    actual: str = ""
    note: str = ""


class CaseResult(Record):
    """One case of one validation.

    Attributes:
        index: position of the case in the full set, from 0.
        name: short text that identifies it to people, for example "float16[128,128] dim=1".
        seconds: wall time of the candidate's forward, in seconds.
        message: one line for people; error text of a crash, or the deviation in words.
    """

    index: int
    name: str
    status: CaseStatus
    seconds: float = 0.0
    deviations: tuple[Deviation, ...] = ()
    message: str = ""

    @property
    def closeness(self) -> float:
        """1.0 for a passed case, else 1 - the largest share of elements outside the tolerance."""
        if self.status in (CaseStatus.RUNTIME_ERROR, CaseStatus.TIMEOUT, CaseStatus.UNSUPPORTED):
            return 0.0
        if self.status in (CaseStatus.PASSED, CaseStatus.CUT):
            return 1.0
        shares = [one.mismatched / one.total for one in self.deviations if one.total > 0]
        return 1.0 - max(shares) if shares else 0.0


class Finding(Record):
    """One thing the simulator, the sandbox or the compiler noticed about the candidate.

    Attributes:
        rule: stable name, for example "datacopy-unaligned", "queue-leak", "ub-overflow".
        severity: "error", "violation" (hardware would go on, wrongly) or "warning".
        file: workspace-relative path, if known. line: 1-based.
        count: how often it was seen.
        core: the core that it was first seen on, for example "AIV 3".
        buffer: the local buffer that it is about: position, size, and where InitBuffer made it.
        mend: how this rule is usually mended, one sentence without a full stop.
    """

    rule: str
    message: str
    severity: str = "violation"
    file: str | None = None
    line: int | None = None
    count: int = 1
    core: str | None = None
    buffer: str | None = None
    mend: str | None = None


class CostCounters(Record):
    """What the simulator counted while launches ran, and what that comes to (docs/simulator.md, Costs).

    Counters are exact; cycles are a lower bound from published data rates, and no measure of time on a device.

    Attributes:
        soc: the SoC whose rates the cycles come from.
        launches: kernel launches that were counted.
        total: each counter over all cores of all launches: cores, vector_calls, vector_repeats, copies, scalars, ...
        moved: bytes over all cores by way, for example "gm>ub".
        pipes: cycles by pipe of the busiest core of each launch, summed over launches.
        cycles: the busiest cores' cycles when all pipes of a core work at a time, summed over launches.
        serial: the same when they work one after the other.
        guessed: one of the SoC's rates is a guess.
    """

    soc: str = ""
    launches: int = 0
    total: dict[str, int] = Field(default_factory=dict)
    moved: dict[str, int] = Field(default_factory=dict)
    pipes: dict[str, int] = Field(default_factory=dict)
    cycles: int = 0
    serial: int = 0
    guessed: bool = False


class Forensics(Record):
    """What the pattern of deviations says (research/npukernelbench.md, forensic classes).

    Attributes:
        hint: the main class: nan_inf_contamination, all_wrong, uniform_offset, tail_spike,
            dimension_concentration, boundary_concentration, magnitude_correlated or scattered.
        hints: every class that fits, the main one first.
        summary: two or three sentences for people and models.
        evidence: numbers behind it, by name.
    """

    hint: str
    hints: tuple[str, ...] = ()
    summary: str = ""
    evidence: dict[str, Any] = Field(default_factory=dict)


class Compilation(Record):
    """The result of a compile job.

    Attributes:
        artifact: blob digest of the built extension; None unless ok.
        binary_digest: SHA-256 of the extension; equal before and after an edit means a stale binary.
        log: compiler output, capped; paths are relative to the workspace.
    """

    ok: bool
    failure_type: FailureType = FailureType.SUCCESS
    artifact: str | None = None
    binary_digest: str | None = None
    log: str = ""
    seconds: float = 0.0
    findings: tuple[Finding, ...] = ()


class Validation(Record):
    """The result of a validate job: what evidence is made of.

    Attributes:
        case_set: which cases were asked for.
        cases: one result a case asked for, in case order.
        coverage: cases run / cases of the set; below 1.0 the coverage is reduced (size limit).
        complete: every case of the set that is not cut ran to an end of its own.
        seed: the seed all inputs of this validation came from.
        costs: what the simulator counted, summed over cases; None where it counted nothing.
    """

    case_set: CaseSet
    failure_type: FailureType
    cases: tuple[CaseResult, ...] = ()
    coverage: float = 1.0
    complete: bool = True
    seed: int = 0
    forensics: Forensics | None = None
    findings: tuple[Finding, ...] = ()
    message: str = ""
    timings: dict[str, float] = Field(default_factory=dict)
    costs: CostCounters | None = None

    @property
    def ran(self) -> tuple[CaseResult, ...]:
        """The cases that were not cut by the size limit."""
        return tuple(case for case in self.cases if case.status is not CaseStatus.CUT)

    @property
    def match_rate(self) -> float | None:
        """Passed cases / cases run (paper's P/x); None where none ran."""
        ran = self.ran
        return sum(case.status is CaseStatus.PASSED for case in ran) / len(ran) if ran else None

    @property
    def passed(self) -> bool:
        """Every case that was asked for and not cut passed, and there is at least one."""
        return self.complete and bool(self.ran) and self.match_rate == 1.0

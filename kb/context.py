"""What is known about a failure when entries are retrieved and rewrites are proposed."""

from pydantic import Field

from schema.results import CaseResult, CaseStatus, FailureType, Finding, Record, Validation


class RewriteContext(Record):
    """The failure a repair answers.

    Attributes:
        failure_type: decided by the worker that saw the failure.
        category: operator category ("reduction", "scan", …); "" or "other" if unknown.
        hints: forensic classes, the main one first.
        findings: what the simulator, the sandbox or the compiler noticed.
        failing: the failing cases, with their deviations.
        passing_dtypes: dtypes of which no case fails, as torch prints them without "torch.".
        log: the compiler's or the run's message, for failures without cases.
    """

    failure_type: FailureType = FailureType.PRECISION_FAILED
    category: str = ""
    hints: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    failing: tuple[CaseResult, ...] = ()
    passing_dtypes: tuple[str, ...] = ()
    log: str = ""

    @property
    def failing_dtypes(self) -> frozenset[str]:
        """Output dtypes of the failing cases."""
        return frozenset(
            deviation.dtype for case in self.failing for deviation in case.deviations if deviation.mismatched
        )

    @classmethod
    def of(cls, validation: Validation, *, category: str = "", log: str = "") -> "RewriteContext":
        """The context of a failed validation."""
        failing = tuple(
            case for case in validation.cases if case.status not in (CaseStatus.PASSED, CaseStatus.CUT)
        )
        passed = {
            deviation.dtype
            for case in validation.cases
            if case.status is CaseStatus.PASSED
            for deviation in case.deviations
        }
        failed = {deviation.dtype for case in failing for deviation in case.deviations}
        forensics = validation.forensics
        hints = (forensics.hints or (forensics.hint,)) if forensics is not None else ()
        return cls(
            failure_type=validation.failure_type,
            category=category,
            hints=hints,
            findings=validation.findings,
            failing=failing,
            passing_dtypes=tuple(sorted(passed - failed)),
            log=log or validation.message,
        )


class FormError(Record):
    """One thing wrong with an entry: where and what."""

    entry: str
    message: str = Field(min_length=1)

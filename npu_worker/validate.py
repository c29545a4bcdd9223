"""Validate a candidate: every case in the sandbox first, then by the reference here, compared and dropped.

The order is the point: when the reference computes its outputs, the candidate has long handed over its own, from
poisoned memory, in a process that never saw the reference. Values come from the seed of the validation alone, so
the same candidate, cases and seed give the same result (timings aside) on one machine.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npu_worker.compare import compare_case
from npu_worker.forensics import Observation, analyse, observe
from npu_worker.inputs import make_inputs
from npu_worker.limits import ValidationLimits
from npu_worker.runner.process import CaseRun, Ending, Runner
from npu_worker.runner.reference import Reference, ReferenceFailed
from npu_worker.runner.torch_npu import UNSUPPORTED
from npu_worker.sandbox import Mode
from npu_worker.sim.report import added_costs, merged_findings
from npu_worker.tolerance import profile_named
from schema.cases import Case
from schema.errors import BadInput
from schema.lost import go_on
from schema.results import (
    CaseResult,
    CaseSet,
    CaseStatus,
    CostCounters,
    Deviation,
    FailureType,
    Finding,
    Validation,
)
from schema.workspace import Workspace

if TYPE_CHECKING:
    from npu_worker.tolerance import Profile

_MOST_SEED = (1 << 63) - 1

_BY_STATUS = (
    # What explains a failed validation, the strongest first: a call that is not simulated explains only what
    # nothing else does.
    (CaseStatus.RUNTIME_ERROR, FailureType.RUNTIME_ERROR),
    (CaseStatus.TIMEOUT, FailureType.TIMEOUT),
    (CaseStatus.MISMATCH, FailureType.PRECISION_FAILED),
    (CaseStatus.UNSUPPORTED, FailureType.UNSUPPORTED),
)


def validate(
    workspace: Workspace,
    artifact: bytes,
    *,
    case_set: CaseSet,
    indices: Sequence[int],
    seed: int,
    limits: ValidationLimits | None = None,
    max_elements: int | None = None,
    stop_after_failures: int | None = None,
    forensics: bool = True,
    runner: Runner | None = None,
    mode: Mode = Mode.ON,
    progress: Callable[[CaseResult], None] | None = None,
    lost: threading.Event | None = None,
) -> Validation:
    """Run cases of a workspace with a built extension and compare them with the reference.

    Args:
        workspace: reference, adapter, cases and tolerance.
        artifact: the extension that was built from the workspace's kernel files.
        case_set: what the indices are, for the record.
        indices: positions in the full set, each once.
        seed: where all input values come from.
        max_elements: cases with more elements are cut: they count as reduced coverage.
        stop_after_failures: end after so many failed cases; what was not tried is left out of the result, which
            then is not complete.
        forensics: look for the pattern of the deviations.
        runner: a warm one to use and leave open; None starts one for this validation.
        mode: whether the candidate is isolated, if no runner is given.
        progress: called with each case's result.
        lost: ends the validation as soon as it is set, and the case that runs.

    Returns:
        a Validation. A reference that fails, inputs that can't be made, or a set without a case to run, is
        EXECUTION_ABORTED.

    Raises:
        BadInput: an index is out of range or given twice.
        SandboxUnavailable, ToolchainMissing: this machine can't run a candidate.
        JobLost: `lost` was set.
    """
    if len(set(indices)) != len(indices) or not all(0 <= index < len(workspace.cases) for index in indices):
        raise BadInput(
            f"case indices {list(indices)[:20]} for {len(workspace.cases)} cases",
            where=workspace.case_file,
            mend="name each existing case once",
        )
    own = None
    if runner is None:
        runner = own = Runner(limits=limits, mode=mode)
    try:
        # Torch is imported in there while the first inputs are made here.
        runner.start()
        task = _Task(
            workspace=workspace,
            case_set=case_set,
            seed=seed,
            limits=limits or runner.limits,
            profile=profile_named(workspace.tolerance),
            runner=runner,
            stop_after=stop_after_failures,
            forensics=forensics,
            progress=progress,
            lost=lost,
        )
        runner.load(_visible(workspace), extension=workspace.extension, artifact=artifact, lost=lost)
        return task.run(sorted(indices), max_elements)
    finally:
        if own is not None:
            own.close()


def _visible(workspace: Workspace) -> dict[str, str]:
    """The Python files that a candidate sees: neither the reference nor the cases."""
    return {
        path: text
        for path, text in workspace.files.items()
        if path.endswith(".py") and path != workspace.reference and not path.startswith(".")
    }


@dataclass(kw_only=True)
class _Task:
    """One validation under way."""

    workspace: Workspace
    case_set: CaseSet
    seed: int
    limits: ValidationLimits
    profile: "Profile"
    runner: Runner
    stop_after: int | None
    forensics: bool
    progress: Callable[[CaseResult], None] | None
    lost: threading.Event | None
    results: list[CaseResult] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    costs: CostCounters | None = None
    timings: dict[str, float] = field(default_factory=dict)
    aborted: str = ""
    import_failed: str = ""
    untried: int = 0
    why_untried: str = ""

    def run(self, indices: Sequence[int], max_elements: int | None) -> Validation:
        started = time.monotonic()
        cases = self.workspace.cases
        cut = {
            index for index in indices if max_elements is not None and cases[index].elements > max_elements
        }
        deadline = started + self.limits.total_seconds
        timeouts = 0
        try:
            with Reference(self.workspace.files, self.workspace.reference) as reference:
                for index in indices:
                    go_on(self.lost)
                    case = cases[index]
                    if index in cut:
                        limit = f"{case.elements} elements, more than the limit of {max_elements}"
                        self._add(
                            CaseResult(index=index, name=case.name, status=CaseStatus.CUT, message=limit)
                        )
                        continue
                    if not self.why_untried:
                        self.why_untried = self._stop_reason(deadline, timeouts)
                    if self.why_untried:
                        self._leave(index, case)
                        continue
                    result = self._case(index, case, reference, deadline)
                    timeouts += result.status is CaseStatus.TIMEOUT
                    self._add(result)
        except (ReferenceFailed, _Aborted) as error:
            self.aborted = str(error)
        self.timings["total"] = time.monotonic() - started
        return self._validation(len(indices), len(cut))

    def _stop_reason(self, deadline: float, timeouts: int) -> str:
        failures = sum(result.status not in (CaseStatus.PASSED, CaseStatus.CUT) for result in self.results)
        if self.stop_after is not None and failures >= self.stop_after:
            return f"stopped after {failures} failed cases"
        if self.import_failed:
            return self.import_failed
        if timeouts >= self.limits.timeouts:
            return f"not tried: {timeouts} cases ran out of time before"
        if time.monotonic() >= deadline:
            return f"not tried: the validation's {self.limits.total_seconds:g} s were over"
        return ""

    def _leave(self, index: int, case: Case) -> None:
        """A case that is not tried: left out of a trial, failed where the candidate is the reason."""
        self.untried += 1
        if self.why_untried.startswith("stopped"):
            return
        status = CaseStatus.TIMEOUT if self.why_untried.startswith("not tried") else CaseStatus.RUNTIME_ERROR
        self._add(CaseResult(index=index, name=case.name, status=status, message=self.why_untried))

    def _add(self, result: CaseResult) -> None:
        self.results.append(result)
        if self.progress is not None:
            self.progress(result)

    def _case(self, index: int, case: Case, reference: Reference, deadline: float) -> CaseResult:
        seed = (self.seed + index) & _MOST_SEED
        with self._timed("inputs"):
            try:
                inputs = make_inputs(case, self.workspace.rules, seed=self.seed, index=index)
            except BadInput as error:
                raise _Aborted(f"case {index} ({case.name}): no inputs: {error}") from error
        with self._timed("candidate"):
            seconds = min(self.limits.case_seconds, max(deadline - time.monotonic(), 1.0))
            try:
                done = self.runner.run(inputs, seed=seed, init=reference.init, seconds=seconds)
            except BadInput as error:
                raise _Aborted(f"case {index} ({case.name}): {error}") from error
        self.findings = list(merged_findings([*self.findings, *done.findings]))
        self.costs = added_costs(self.costs, done.costs)
        if done.ending is not Ending.OUTPUTS:
            return self._ended(index, case, done)
        with self._timed("reference"):
            # The candidate got copies of these values, so the reference may have them, and may change them.
            try:
                expected = reference.run(inputs, seed=seed)
            except ReferenceFailed as error:
                raise ReferenceFailed(
                    f"case {index} ({case.name}): {error.what}", where=error.where, mend=error.mend
                ) from error
        with self._timed("compare"):
            comparison = compare_case(expected, done.outputs, profile=self.profile)
            if self.forensics:
                self.observations.append(observe(comparison, case, index=index))
            passed, deviations = comparison.passed, comparison.deviations
        broken = next((one for one in done.findings if one.severity == "error"), None)
        if passed and broken is not None:
            # Whatever lay there is lost on a device: the outputs are right by luck.
            place = f"{broken.file}:{broken.line}: " if broken.file else ""
            return CaseResult(
                index=index,
                name=case.name,
                status=CaseStatus.MISMATCH,
                seconds=done.seconds,
                deviations=deviations,
                message=f"the outputs are right, but {place}{broken.rule}: {broken.message}"[:2000],
            )
        return CaseResult(
            index=index,
            name=case.name,
            status=CaseStatus.PASSED if passed else CaseStatus.MISMATCH,
            seconds=done.seconds,
            deviations=deviations,
            message=""
            if passed
            else "; ".join(_deviation_text(one) for one in deviations[:3]) or "no output",
        )

    def _ended(self, index: int, case: Case, done: CaseRun) -> CaseResult:
        """A case that ended without outputs."""
        status = CaseStatus.TIMEOUT if done.ending is Ending.TIMEOUT else CaseStatus.RUNTIME_ERROR
        if done.ending is Ending.ERROR and done.message.startswith(UNSUPPORTED):
            status = CaseStatus.UNSUPPORTED
        if done.phase == "import" and status is CaseStatus.RUNTIME_ERROR:
            # The import is the same in every case, so the others are not tried.
            self.import_failed = f"the adapter can't be imported: {done.message}"
        return CaseResult(
            index=index, name=case.name, status=status, seconds=done.seconds, message=done.message[:2000]
        )

    def _timed(self, name: str) -> "_Stopwatch":
        return _Stopwatch(self.timings, name)

    def _validation(self, asked: int, cut: int) -> Validation:
        findings = list(self.findings)
        if self.runner.mode is Mode.OFF:
            findings.append(
                Finding(
                    rule="sandbox-off",
                    message="the candidate ran without a sandbox (OPMEND_SANDBOX=off)",
                    severity="warning",
                )
            )
        failure_type, message = self._failure(asked, cut)
        return Validation(
            case_set=self.case_set,
            failure_type=failure_type,
            cases=tuple(self.results),
            coverage=(asked - cut) / asked if asked else 0.0,
            complete=not self.untried and not self.aborted,
            seed=self.seed,
            forensics=analyse(self.observations) if self.forensics and self.observations else None,
            findings=tuple(findings),
            message=message,
            timings={name: round(float(seconds), 6) for name, seconds in self.timings.items()},
            costs=self.costs,
        )

    def _failure(self, asked: int, cut: int) -> tuple[FailureType, str]:
        if self.aborted:
            return FailureType.EXECUTION_ABORTED, self.aborted
        if asked == cut:
            return FailureType.EXECUTION_ABORTED, f"no case to run: all {asked} are above the size limit"
        ran = [result for result in self.results if result.status is not CaseStatus.CUT]
        failed = [result for result in ran if result.status is not CaseStatus.PASSED]
        if not failed:
            return FailureType.SUCCESS, f"all {len(ran)} cases passed"
        first = failed[0]
        passed = f"{len(ran) - len(failed)} of {len(ran)} cases passed"
        message = f"{passed}; case {first.index} ({first.name}): {first.message}"
        if self.untried and self.why_untried.startswith("stopped"):
            message += f"; {self.why_untried}, {self.untried} not tried"
        if self.import_failed:
            return FailureType.IMPORT_FAILED, self.import_failed
        seen = {result.status for result in failed}
        return next(failure for status, failure in _BY_STATUS if status in seen), message


class _Aborted(Exception):
    """This validation can't go on, and the candidate is not to blame."""


class _Stopwatch:
    """Adds the time of a block to a total by name."""

    def __init__(self, totals: dict[str, float], name: str) -> None:
        self._totals = totals
        self._name = name

    def __enter__(self) -> None:
        self._started = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._totals[self._name] = self._totals.get(self._name, 0.0) + time.monotonic() - self._started


def _deviation_text(deviation: Deviation) -> str:
    """One deviation in words."""
    words = [f"output {deviation.output}"]
    if deviation.mismatched:
        words.append(f"{deviation.mismatched} of {deviation.total} elements differ")
    if deviation.first_index:
        place = ",".join(map(str, deviation.first_index))
        words.append(f"first at [{place}]: {deviation.actual} instead of {deviation.expected}")
    if deviation.max_rel is not None:
        words.append(f"largest relative error {deviation.max_rel:.3g}")
    if deviation.note:
        words.append(deviation.note)
    return ": ".join([words[0], ", ".join(words[1:])]) if words[1:] else words[0]

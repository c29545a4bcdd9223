"""Puts the scans together into one verdict."""

from collections.abc import Mapping

from coordinator.integrity.adapter_scan import parse_python, reference_transposes, scan_adapter
from coordinator.integrity.baseline import compare_baseline
from coordinator.integrity.cpp_source import as_compiled
from coordinator.integrity.kernel_scan import KernelScan
from coordinator.integrity.path_trace import trace_path
from coordinator.integrity.report import Findings, IntegrityReport, PathStep, Reason, Verdict


def scan(files: Mapping[str, str], *, baseline: Mapping[str, str] | None = None) -> IntegrityReport:
    """Judge a workspace by its source alone; pure, and total: no text makes it raise.

    Args:
        files: the whole workspace, path → text: model.py, model_new_ascendc.py, kernel/…, cases, operator.toml.
        baseline: the frozen workspace; what differs from it outside kernel/ is a reason.
    """
    findings = Findings(files={path: content.split("\n") for path, content in files.items()})
    compare_baseline(files, baseline, findings)
    steps: tuple[PathStep, ...] = ()
    transposes = reference_transposes(parse_python(files["model.py"]) if "model.py" in files else None)
    compiled = {path: as_compiled(content) for path, content in files.items()}
    kernel = KernelScan(files=compiled, findings=findings, transpose_level=None if transposes else "suspect")
    try:
        extension = kernel.read()
        adapter = scan_adapter(files, findings, extension)
        kernel.judge([name for name, _, _ in adapter.calls])
        steps = trace_path(adapter, kernel, findings)
    except RecursionError:
        findings.add(
            "kernel-unreadable", file="kernel/", line=0, message="a kernel source nests too deep to analyse"
        )
    reasons = findings.reasons()
    return IntegrityReport(verdict=verdict_of(reasons), reasons=reasons, path=steps)


def verdict_of(reasons: tuple[Reason, ...]) -> Verdict:
    """CHEAT if any reason is a cheat, else SUSPECT if any is suspect, else CLEAN."""
    levels = {reason.level for reason in reasons}
    return "CHEAT" if "cheat" in levels else "SUSPECT" if "suspect" in levels else "CLEAN"

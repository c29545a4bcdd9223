"""Compares a workspace with the frozen one: outside kernel/ nothing may change."""

from collections.abc import Mapping

from coordinator.integrity.adapter_scan import ADAPTER
from coordinator.integrity.report import Findings

_BINARY_SUFFIXES = (
    ".so",
    ".o",
    ".a",
    ".dylib",
    ".dll",
    ".pyd",
    ".pyc",
    ".bin",
    ".obj",
    ".elf",
    ".npy",
    ".npz",
    ".pt",
    ".pth",
)


def compare_baseline(
    files: Mapping[str, str], baseline: Mapping[str, str] | None, findings: Findings
) -> None:
    """Record what differs from the frozen workspace, and compiled objects anywhere.

    Args:
        files: the workspace under judgement.
        baseline: the frozen workspace; None where there is none to compare with.
        findings: takes the reasons.
    """
    for path in sorted(files):
        if path.lower().endswith(_BINARY_SUFFIXES):
            findings.add("prebuilt-binary", file=path, line=0, message=f"{path} is no source")
    if baseline is None:
        return
    for path in sorted(set(files) | set(baseline)):
        before, after = baseline.get(path), files.get(path)
        if before == after or path.startswith("kernel/"):
            continue
        what = "was added" if before is None else "was removed" if after is None else "was changed"
        findings.add(
            _rule(path),
            file=path,
            line=_first_difference(before, after),
            message=f"{path} {what} since the freeze",
        )


def _rule(path: str) -> str:
    if path == "model.py":
        return "reference-changed"
    if path == ADAPTER:
        return "adapter-changed"
    if path == "operator.toml":
        return "operator-changed"
    if path.endswith((".json", ".jsonl")) or path.rsplit("/", 1)[-1].startswith("cases"):
        return "cases-changed"
    return "file-outside-kernel-changed"


def _first_difference(before: str | None, after: str | None) -> int:
    if before is None or after is None:
        return 0
    old, new = before.split("\n"), after.split("\n")
    for number, (left, right) in enumerate(zip(old, new, strict=False), start=1):
        if left != right:
            return number
    return min(len(old), len(new))

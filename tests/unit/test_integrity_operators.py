"""The operators that ship, and their correct kernels, are honest: the scan must say so."""

from pathlib import Path

import pytest

from coordinator.integrity import scan

ROOT = Path(__file__).resolve().parents[2]
STARTER = sorted(path.parent for path in (ROOT / "cohorts").glob("*/*/model_new_ascendc.py"))


def _read(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and "build" not in path.parts and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("operator", STARTER, ids=lambda path: path.name)
@pytest.mark.parametrize("kernel", ["near-miss", "correct"])
def test_a_shipped_operator_is_clean(operator: Path, kernel: str) -> None:
    files = frozen = _read(operator)
    if kernel == "correct":
        files = {**frozen, **_read(ROOT / "tests" / "kernels" / "correct" / operator.name)}
    report = scan(files, baseline=frozen)
    assert report.verdict == "CLEAN", [(r.rule, r.file, r.line, r.source_line) for r in report.reasons]
    assert report.path[0].name == "ModelNew.forward"
    assert report.path[-1].kind == "kernel"

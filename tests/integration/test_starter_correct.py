"""Every starter operator can pass: the right kernel does, in full, and the near miss fails without falling over.

Real compiler, real simulator, real sandbox: each test is one `python -m npu_worker.check` of a directory.
"""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "cohorts" / "starter"
CORRECT = ROOT / "tests" / "kernels" / "correct"
MAX_ELEMENTS = tomllib.loads((STARTER / "cohort.toml").read_text())["max_elements"]
OPERATORS = sorted(place.name for place in CORRECT.iterdir())


def check(directory: Path, cases: str) -> dict[str, Any]:
    """What `npu_worker.check` says of a workspace."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "npu_worker.check",
            str(directory),
            "--cases",
            cases,
            "--json",
            "--max-elements",
            str(MAX_ELEMENTS),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip(), run.stderr
    result: dict[str, Any] = json.loads(run.stdout)
    assert "error" not in result, result
    return result


def statuses(result: dict[str, Any]) -> dict[str, list[str]]:
    """Names of the cases by status."""
    found: dict[str, list[str]] = {}
    for case in result["validation"]["cases"]:
        found.setdefault(case["status"], []).append(f"{case['index']}: {case['name']} {case['message']}")
    return found


@pytest.mark.parametrize("cases", ["compact", pytest.param("full", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OPERATORS)
def test_right_kernel_passes_every_case_within_the_limit(name: str, cases: str, tmp_path: Path) -> None:
    directory = tmp_path / name
    shutil.copytree(STARTER / name, directory)
    shutil.copytree(CORRECT / name / "kernel", directory / "kernel", dirs_exist_ok=True)
    result = check(directory, cases)
    assert result["compilation"]["ok"], result["compilation"]["log"]
    found = statuses(result)
    assert set(found) <= {"passed", "cut"}, found
    assert result["validation"]["failure_type"] == "success"
    assert not [f for f in result["validation"]["findings"] if f["severity"] == "error"]
    assert result["validation"]["coverage"] == pytest.approx(
        len(found["passed"]) / len(result["validation"]["cases"])
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_near_miss_passes_some_cases_and_misses_others(name: str) -> None:
    result = check(STARTER / name, "compact")
    assert result["compilation"]["ok"], result["compilation"]["log"]
    found = statuses(result)
    assert set(found) == {"passed", "mismatch"}, found
    assert result["validation"]["failure_type"] == "precision_failed"
    assert result["validation"]["complete"]
    assert result["validation"]["forensics"]["summary"]

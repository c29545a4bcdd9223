"""The right kernels of the starter operators on their whole case sets: no case is cut for its size."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "cohorts" / "starter"
CORRECT = ROOT / "tests" / "kernels" / "correct"
#: Right kernels are there for these; other directories under `CORRECT` are no operators of the cohort.
OPERATORS = tuple(sorted(place.name for place in CORRECT.iterdir() if (STARTER / place.name).is_dir()))


@dataclass(frozen=True, kw_only=True)
class FullRun:
    """One operator's whole set.

    Attributes:
        statuses: how many cases ended in each status.
        failed: the cases that did not pass, as text.
        seconds: wall time of the whole check, its compile included.
        timings: what `npu_worker.check` says of its parts, in seconds.
    """

    name: str
    passed: bool
    statuses: dict[str, int]
    failed: tuple[str, ...]
    seconds: float
    timings: dict[str, float]


def run_full(name: str, home: Path) -> FullRun:
    """Check the right kernel of an operator on every case, in a process of its own.

    Args:
        home: an empty directory to lay the workspace out in.
    """
    directory = home / name
    shutil.copytree(STARTER / name, directory)
    shutil.copytree(CORRECT / name / "kernel", directory / "kernel", dirs_exist_ok=True)
    # The limits are for candidates that hang; a busy machine is no reason to cut a case short.
    environment = {**os.environ, "OPMEND_CASE_TIMEOUT": "600", "OPMEND_VALIDATE_TIMEOUT": "3600"}
    began = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "npu_worker.check", str(directory)),
            *("--cases", "full", "--max-elements", "0", "--json"),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    assert done.stdout.strip(), done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in result, result
    assert result["validation"], result["compilation"]["log"]
    statuses: dict[str, int] = {}
    failed = []
    for case in result["validation"]["cases"]:
        statuses[case["status"]] = statuses.get(case["status"], 0) + 1
        if case["status"] != "passed":
            failed.append(f"{case['index']}: {case['name']}: {case['status']} {case['message']}")
    return FullRun(
        name=name,
        passed=result["passed"],
        statuses=statuses,
        failed=tuple(failed),
        seconds=seconds,
        timings=result["timings"],
    )

"""Check one workspace without a queue: an NPU worker's process measures, the integrity scan judges."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from coordinator.integrity import scan
from schema.errors import BadInput, InfrastructureError, OpmendError, ToolchainMissing
from schema.settings import Settings
from schema.workspace import Workspace

TIMEOUT = 3600.0


def check_workspace(
    directory: Path, *, cases: str, device: str, settings: Settings, order: bool = False
) -> dict[str, Any]:
    """Compile, validate, forensics and integrity of one workspace.

    Args:
        order: run each case again with its cores in reverse; a result that depends on it has not passed.

    Returns:
        The document of `opmend check --json` (design.md, Commands).

    Raises:
        WorkspaceError, CaseFileError: the workspace is not whole.
        InfrastructureError: this machine can't measure it.
    """
    workspace = Workspace.from_directory(directory)
    measured = _measure(directory, cases=cases, device=device, settings=settings, order=order)
    integrity = scan(dict(workspace.files))
    compilation, validation = measured["compilation"], measured.get("validation") or {}
    failure = validation.get("failure_type") or compilation["failure_type"]
    results = validation.get("cases", [])
    ran = [case for case in results if case["status"] != "cut"]
    passed = sum(case["status"] == "passed" for case in ran)
    whole = failure == "success" and measured["passed"] and integrity.verdict == "CLEAN"
    return {
        "outcome": "passed" if whole else "failed",
        "failure_type": failure,
        "match_rate": passed / len(ran) if ran else None,
        "cases": results,
        "findings": [*compilation.get("findings", []), *validation.get("findings", [])],
        "forensics": validation.get("forensics"),
        "verdict": integrity.verdict,
        "reasons": [reason.model_dump(mode="json") for reason in integrity.reasons],
        "coverage": validation.get("coverage"),
        "timings": {
            "compile": compilation.get("seconds"),
            **validation.get("timings", {}),
            **({"order": measured["timings"]["order"]} if "order" in measured["timings"] else {}),
        },
        "costs": validation.get("costs"),
        "message": validation.get("message") or compilation.get("log") or "",
    }


def _measure(directory: Path, *, cases: str, device: str, settings: Settings, order: bool) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "npu_worker.check", str(directory)]
    command += ["--cases", cases, "--device", device, "--json"]
    command += ["--order-check"] if order else []
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
            env={**os.environ, "OPMEND_HOME": str(settings.root)},
        )
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"no answer in {TIMEOUT:.0f} s", where=str(directory)) from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        said = done.stderr.strip().splitlines()
        if any("No module named 'torch'" in line for line in said):
            raise ToolchainMissing(
                "torch is not installed", mend="pip install 'opmend[npu]' (torch 2.13.0, a CPU build serves)"
            ) from error
        raise InfrastructureError(
            f"the NPU worker's process failed: {said[-1] if said else f'exit code {done.returncode}'}",
            mend="`opmend doctor` checks this machine",
        ) from error
    if "error" in answer:
        told = answer["error"]
        kind: type[OpmendError] = {2: BadInput, 3: InfrastructureError}.get(told["exit_code"], OpmendError)
        raise kind(told["what"], where=told.get("where"), mend=told.get("mend"))
    return answer

"""Compile, validate and explain one workspace, without a queue: `python -m npu_worker.check DIR`.

`opmend check` starts this as a process (the command may not import torch), reads the JSON and adds the integrity
verdict. Exit status: 0 every case that ran passed; 1 it did not; 2 wrong use or bad input; 3 infrastructure. An
error is JSON too: {"error": {"what", "where", "mend", "exit_code"}}.
"""

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from npu_worker.compile import DEVICES, compile_workspace
from npu_worker.limits import ValidationLimits
from npu_worker.order import order_check, order_dependent
from npu_worker.runner.process import Runner
from npu_worker.sandbox import Mode
from npu_worker.sim.report import merged_findings
from npu_worker.validate import validate
from schema.compact import compact_set
from schema.errors import BadInput, InfrastructureError, OpmendError
from schema.results import CaseSet, CaseStatus, Compilation, FailureType, Validation
from schema.settings import Settings
from schema.texts import shown
from schema.workspace import Workspace

# Nothing to compare: the reference or the adapter failed.
_NOT_RUN = (FailureType.EXECUTION_ABORTED, FailureType.IMPORT_FAILED)


def check(
    directory: Path,
    *,
    cases: CaseSet = CaseSet.COMPACT,
    device: str = "sim",
    max_elements: int | None = None,
    seed: int | None = None,
    order: bool = False,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """What `--json` prints, as a dictionary.

    Args:
        order: run each case again with its cores in reverse (npu_worker/order.py); what differs joins the findings.
        max_elements: the size limit; None takes the one of the cohort that the directory lies in, 0 means none.
        seed: where input values come from; None takes the workspace's.

    Raises:
        OpmendError: bad input, or nothing could be run here.
    """
    settings = settings or Settings.load()
    if device not in DEVICES:
        raise BadInput(f"no device {device!r}", mend=f"use one of {', '.join(DEVICES)}")
    workspace = Workspace.from_directory(directory)
    limit = cohort_limit(directory) if max_elements is None else max_elements or None
    compact = compact_set(workspace.cases, max_elements=limit)
    indices = compact if cases is CaseSet.COMPACT else tuple(range(len(workspace.cases)))
    mode = Mode(settings.sandbox)
    limits = ValidationLimits(case_seconds=settings.case_timeout, total_seconds=settings.validate_timeout)
    timings: dict[str, float] = {}
    with Runner(limits=limits, mode=mode) as runner:
        # Torch is imported in the sandbox on one core while the compiler runs on another.
        runner.start()
        started = time.monotonic()
        build = compile_workspace(workspace, settings=settings, device=device)
        timings["compile"] = round(time.monotonic() - started, 6)
        validation = None
        if build.binary is not None:
            validation = validate(
                workspace,
                build.binary,
                case_set=cases,
                indices=indices,
                seed=workspace.seed if seed is None else seed,
                max_elements=limit,
                runner=runner,
            )
            timings |= validation.timings
            if order and validation.failure_type not in _NOT_RUN:
                started = time.monotonic()
                unlike = order_check(
                    workspace, runner=runner, indices=indices, seed=validation.seed, max_elements=limit
                )
                findings = merged_findings([*validation.findings, *unlike])
                validation = validation.model_copy(update={"findings": findings})
                timings["order"] = round(time.monotonic() - started, 6)
    return report(
        workspace, build.compilation, validation, compact=compact, max_elements=limit, timings=timings
    )


def cohort_limit(directory: Path) -> int | None:
    """`max_elements` of the cohort that the directory lies in; None if it lies in none."""
    file = directory.resolve().parent / "cohort.toml"
    if not file.is_file():
        return None
    try:
        limit = tomllib.loads(file.read_text(encoding="utf-8")).get("max_elements")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"broken TOML: {error}", where=str(file), mend="mend the file") from error
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit <= 0):
        raise BadInput(f"max_elements is {limit!r}", where=str(file), mend="use a whole number above 0")
    return limit


def report(
    workspace: Workspace,
    compilation: Compilation,
    validation: Validation | None,
    *,
    compact: Sequence[int],
    max_elements: int | None,
    timings: dict[str, float],
) -> dict[str, Any]:
    """The facts of a check as JSON values."""
    failure = validation.failure_type if validation is not None else compilation.failure_type
    return {
        "workspace": {
            "name": workspace.name,
            "level": workspace.level,
            "category": workspace.category,
            "tolerance": workspace.tolerance,
            "seed": workspace.seed if validation is None else validation.seed,
            "cases": len(workspace.cases),
            "compact": list(compact),
            "max_elements": max_elements,
            "extension": workspace.extension,
            "kernel_paths": list(workspace.kernel_paths),
        },
        "passed": validation is not None and validation.passed and not order_dependent(validation.findings),
        "failure_type": failure.value,
        "match_rate": validation.match_rate if validation is not None else None,
        "coverage": validation.coverage if validation is not None else 0.0,
        "compilation": compilation.model_dump(mode="json"),
        "validation": validation.model_dump(mode="json") if validation is not None else None,
        "timings": timings,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, check, print; returns the exit status."""
    options: argparse.Namespace | None = None
    try:
        options = _parser().parse_args(arguments)
        found = check(
            options.directory,
            cases=CaseSet(options.cases),
            device=options.device,
            max_elements=options.max_elements,
            seed=options.seed,
            order=options.order_check,
        )
    except OpmendError as error:
        return _tell(error, as_json=options is None or options.json)
    except OSError as error:
        infrastructure = InfrastructureError(
            f"{error.strerror or error}", where=str(error.filename or "check")
        )
        return _tell(infrastructure, as_json=options is not None and options.json)
    # A candidate's messages may hold bytes that are no text.
    sys.stdout.write(shown(json.dumps(found, ensure_ascii=False) + "\n" if options.json else _text(found)))
    if found["failure_type"] == FailureType.EXECUTION_ABORTED.value:
        return InfrastructureError.exit_code
    return 0 if found["passed"] else 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(message, where="check", mend="see --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m npu_worker.check",
        description="Compile, validate and explain one operator workspace.",
        epilog="example: python -m npu_worker.check cohorts/starter/Add --cases full --json",
    )
    parser.add_argument(
        "directory", type=Path, help="workspace with model.py, cases, model_new_ascendc.py, kernel/"
    )
    parser.add_argument("--cases", choices=["compact", "full"], default="compact", help="which cases to run")
    parser.add_argument("--device", default="sim", help="where to run; sim is the simulator")
    parser.add_argument(
        "--max-elements",
        type=int,
        help="leave larger cases out (0: none); default: the limit of the cohort around it",
    )
    parser.add_argument("--seed", type=int, help="where input values come from; default: the workspace's")
    parser.add_argument(
        "--order-check",
        action="store_true",
        help="run again with the cores in reverse and compare bit for bit",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _tell(error: OpmendError, *, as_json: bool) -> int:
    if as_json:
        facts = {"what": error.what, "where": error.where, "mend": error.mend, "exit_code": error.exit_code}
        sys.stdout.write(shown(json.dumps({"error": facts}, ensure_ascii=False)) + "\n")
    else:
        sys.stderr.write(f"error: {error}\n")
    return error.exit_code


def _text(found: dict[str, Any]) -> str:
    """The report for people."""
    facts, validation = found["workspace"], found["validation"]
    lines = [f"{facts['name']}: {found['failure_type']}"]
    if validation is None:
        lines.append(found["compilation"]["log"].rstrip())
        return "\n".join(lines) + "\n"
    for case in validation["cases"]:
        mark = {CaseStatus.PASSED.value: "ok  ", CaseStatus.CUT.value: "cut "}.get(case["status"], "FAIL")
        lines.append(
            f"  {mark} {case['index']:3d} {case['name']}"
            + (f": {case['message']}" if case["message"] else "")
        )
    lines += [
        f"  {one['severity']} {one['rule']} ({one['count']}×): {one['message']}"
        for one in validation["findings"]
    ]
    if validation["failure_type"] in (FailureType.EXECUTION_ABORTED.value, FailureType.IMPORT_FAILED.value):
        lines.append(f"  {validation['message']}")
    if validation["forensics"]:
        lines.append(f"  {validation['forensics']['hint']}: {validation['forensics']['summary']}")
    rate = "no case ran" if found["match_rate"] is None else f"match rate {found['match_rate']:.1%}"
    seconds = found["timings"].get("compile", 0.0) + found["timings"].get("total", 0.0)
    lines.append(f"  {rate}, coverage {found['coverage']:.0%}, {seconds:.1f} s")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

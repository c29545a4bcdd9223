"""`python -m npu_worker.check` on a whole workspace: a real compiler, the simulator, the sandbox."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLUS = Path(__file__).parents[1] / "workspaces" / "plus"


@pytest.fixture
def plus(tmp_path):
    return shutil.copytree(PLUS, tmp_path / "plus")


def check(directory, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "npu_worker.check", str(directory), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
        cwd=Path(directory).parent if Path(directory).exists() else None,
    )
    return done.returncode, done.stdout, done.stderr


def check_json(directory, *arguments, **environment):
    status, output, errors = check(directory, "--json", *arguments, **environment)
    assert output.count("\n") == 1, errors
    return status, json.loads(output)


def edit(directory, old, new, path="kernel/plus.cpp"):
    place = directory / path
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))


def test_a_right_kernel_passes(plus):
    status, found = check_json(plus)
    assert status == 0, found
    assert found["passed"]
    assert (found["failure_type"], found["match_rate"], found["coverage"]) == ("success", 1.0, 1.0)
    assert found["compilation"]["ok"]
    assert [case["status"] for case in found["validation"]["cases"]] == ["passed"] * 4
    assert found["workspace"]["name"] == "Plus"
    assert found["validation"]["seed"] == 5


def test_a_near_miss_fails_with_deviations_forensics_and_findings(plus):
    edit(plus, "DataCopyPad(outGm[start], out, params);", "DataCopy(outGm[start], out, count);")
    status, found = check_json(plus, "--cases", "full", "--seed", "9")
    assert status == 1
    assert found["failure_type"] == "precision_failed"
    statuses = [case["status"] for case in found["validation"]["cases"]]
    assert statuses[:3] == ["passed", "passed", "mismatch"]
    assert found["validation"]["forensics"]["hint"] == "tail_spike"
    assert any("unaligned" in finding["rule"] for finding in found["validation"]["findings"])
    assert found["validation"]["seed"] == 9


def test_a_kernel_that_does_not_compile_is_an_outcome(plus):
    edit(plus, "Add(out, x, y, count);", "Add(out, x, y, count)")
    status, found = check_json(plus)
    assert status == 1
    assert found["failure_type"] == "build_failed"
    assert "kernel/plus.cpp" in found["compilation"]["log"]
    assert str(plus) not in found["compilation"]["log"]
    assert found["validation"] is None
    assert found["match_rate"] is None


def test_a_kernel_that_never_ends_and_one_that_crashes_are_outcomes(plus):
    edit(
        plus,
        "Add(out, x, y, count);",
        "volatile bool on = count == 527; while (on) {} Add(out, x, y, count);",
    )
    status, found = check_json(plus, OPMEND_CASE_TIMEOUT="1.5")
    assert status == 1
    assert found["failure_type"] == "timeout"
    assert [case["status"] for case in found["validation"]["cases"]] == [
        "passed",
        "passed",
        "timeout",
        "passed",
    ]
    edit(plus, "while (on) {}", "if (on) *reinterpret_cast<volatile int *>(8) = 1;")
    status, found = check_json(plus)
    assert status == 1
    assert found["failure_type"] == "runtime_error"
    assert "SIGSEGV" in found["validation"]["cases"][2]["message"]


def test_large_cases_are_cut_by_the_argument_or_by_the_cohort_around(plus):
    (plus.parent / "cohort.toml").write_text("max_elements = 13000\n")
    status, found = check_json(plus, "--cases", "full")
    assert status == 0
    assert [case["status"] for case in found["validation"]["cases"]] == ["passed", "passed", "passed", "cut"]
    assert found["coverage"] == 0.75
    assert found["workspace"]["max_elements"] == 13000
    assert found["workspace"]["compact"] == [0, 1, 2]
    _, wider = check_json(plus, "--cases", "full", "--max-elements", "0")
    assert wider["coverage"] == 1.0


def test_the_text_names_cases_and_the_rate(plus):
    status, output, _ = check(plus, "--max-elements", "1000")
    assert status == 0
    assert "Plus: success" in output
    assert "2×float32[128]" in output
    assert "match rate 100.0%" in output


@pytest.mark.parametrize(
    ("spoil", "arguments", "said"),
    [
        (
            lambda root: (root / "model_new_ascendc.py").write_text("class Other: pass"),
            (),
            "no class ModelNew",
        ),
        (lambda root: (root / "cases.toml").write_text("inputs = [\ncases = [}"), (), "cases.toml:"),
        (lambda root: (root / "cases.toml").unlink(), (), "no case file"),
        (shutil.rmtree, (), "no such workspace"),
        (lambda root: None, ("--device", "cray"), "cray"),
        (lambda root: None, ("--cases", "some"), "some"),
        (lambda root: (root.parent / "cohort.toml").write_text("max_elements = -1"), (), "max_elements"),
        (lambda root: (root.parent / "opmend.toml").write_text("nonsense = 1"), (), "nonsense"),
    ],
)
def test_bad_input_is_one_line_and_status_2(plus, spoil, arguments, said):
    spoil(plus)
    status, output, _ = check(plus, "--json", *arguments)
    assert status == 2, output
    error = json.loads(output)["error"]
    assert error["exit_code"] == 2
    assert said in f"{error['where']}: {error['what']}"
    assert error["mend"]


def test_a_reference_that_fails_is_infrastructure(plus):
    edit(plus, "return x + y", "return x + y if x.numel() != 527 else x @ y @ x", path="model.py")
    status, found = check_json(plus)
    assert status == 3
    assert found["failure_type"] == "execution_aborted"
    assert "case 2" in found["validation"]["message"]


def test_without_the_sandbox_the_result_says_so(plus):
    status, found = check_json(plus, "--max-elements", "1000", OPMEND_SANDBOX="off")
    assert status == 0
    assert [finding["rule"] for finding in found["validation"]["findings"]] == ["sandbox-off"]

"""Candidates that err, crash, hang or cheat, and what a validation says about them.

The adapters here compute in torch, which the integrity scan would refuse: it is the harness that is under test.
"""

import tempfile
import threading
import time
from pathlib import Path

import pytest

from npu_worker import sandbox
from npu_worker.limits import ValidationLimits
from npu_worker.runner.process import Runner
from npu_worker.sandbox import Mode
from npu_worker.validate import validate
from schema.errors import BadInput, JobLost
from schema.results import CaseSet, CaseStatus, FailureType
from schema.workspace import Workspace

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, alpha):
        return x * alpha
"""
ADAPTER = """
import os, sys, time
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x, alpha):
{body}
"""
CASES = """
inputs = [{name = "x", kind = "tensor"}, {name = "alpha", kind = "attr", dtype = "float"}]
cases = [
  ["float32[16]", 1.0],
  ["float32[17]", 2.0],
  ["float16[8,8]", 2.0],
  ["float32[100]", 3.0],
]
"""
LIMITS = ValidationLimits(case_seconds=3.0, total_seconds=60.0, printed_bytes=1 << 20, output_bytes=8 << 20)


@pytest.fixture(scope="module")
def runner():
    with Runner(limits=LIMITS) as warm:
        yield warm


def workspace(body="return x * alpha", *, adapter=None, model=MODEL, cases=CASES, facts="", extra=None):
    indented = "\n".join(" " * 8 + line for line in body.splitlines())
    texts = {
        "model.py": model,
        "model_new_ascendc.py": adapter or ADAPTER.format(body=indented),
        "cases.toml": cases,
        "operator.toml": facts,
        "kernel/pybind11.cpp": "",
    }
    return Workspace.from_files(texts | (extra or {}), name="Scale")


def check(found, runner, **options):
    options = {"case_set": CaseSet.FULL, "indices": range(len(found.cases)), "seed": 11, **options}
    return validate(found, options.pop("artifact", b""), runner=runner, **options)


def statuses(validation):
    return [case.status.value for case in validation.cases]


def test_a_right_candidate_passes_every_case(runner):
    validation = check(workspace(), runner)
    assert validation.passed
    assert validation.failure_type is FailureType.SUCCESS
    assert (validation.match_rate, validation.coverage, validation.complete) == (1.0, 1.0, True)
    assert validation.seed == 11
    assert validation.forensics is None
    assert all(case.seconds >= 0 for case in validation.cases)


def test_a_wrong_one_fails_where_it_is_wrong_and_says_how(runner):
    found = workspace(
        "y = torch.empty_like(x)\nn = x.numel() // 8 * 8\ny.view(-1)[:n] = (x * alpha).view(-1)[:n]\nreturn y"
    )
    validation = check(found, runner)
    assert statuses(validation) == ["passed", "mismatch", "passed", "mismatch"]
    assert validation.failure_type is FailureType.PRECISION_FAILED
    assert validation.match_rate == 0.5
    deviation = validation.cases[1].deviations[0]
    assert (deviation.mismatched, deviation.total, deviation.first_index) == (1, 17, (16,))
    assert "float32[17]" in validation.message
    assert validation.forensics is not None
    assert validation.forensics.hint == "tail_spike"


def test_the_same_seed_gives_the_same_result_and_another_seed_other_values(runner):
    found = workspace("return x * alpha + 0.5")
    first, again, other = (check(found, runner, seed=seed) for seed in (1, 1, 2))
    strip = {"seconds": 0.0}
    assert [case.model_copy(update=strip) for case in first.cases] == [
        case.model_copy(update=strip) for case in again.cases
    ]
    assert first.cases[0].deviations[0].actual != other.cases[0].deviations[0].actual


@pytest.mark.parametrize(
    ("body", "status", "failure", "said"),
    [
        (
            "raise ValueError('bad\\nvalue')",
            "runtime_error",
            "runtime_error",
            "ValueError: bad value (at model_new_ascendc.py:8)",
        ),
        ("raise SystemExit(0)", "runtime_error", "runtime_error", "SystemExit"),
        ("import ctypes\nctypes.string_at(0)", "runtime_error", "runtime_error", "SIGSEGV in forward"),
        ("os.abort()", "runtime_error", "runtime_error", "SIGABRT"),
        ("os._exit(0)", "runtime_error", "runtime_error", "without a result"),
        ("return object()", "runtime_error", "runtime_error", "type object"),
        ("return x.to_sparse()", "runtime_error", "runtime_error", "sparse"),
        ("return x[:1].repeat(10_000_000)", "runtime_error", "runtime_error", "bytes"),
        ("return torch.zeros(10**11)", "runtime_error", "runtime_error", "memory"),
        ("while True: print('x' * 999)", "runtime_error", "runtime_error", "printed without end"),
        ("os.kill(os.getppid(), 9)\ntime.sleep(9)", "runtime_error", "runtime_error", "killed"),
        ("raise RuntimeError('unsupported by the simulator: Mmad')", "unsupported", "unsupported", "Mmad"),
        ("return None", "mismatch", "precision_failed", ""),
        ("return x * alpha, x", "mismatch", "precision_failed", ""),
        ("return (x * alpha).double()", "mismatch", "precision_failed", "float64"),
        ("return (x * alpha).reshape(1, -1)", "mismatch", "precision_failed", "shape"),
        ("return torch.empty_like(x)", "mismatch", "precision_failed", "NaN"),
        ("return x.new_empty(x.shape)", "mismatch", "precision_failed", "NaN"),
    ],
)
def test_each_way_to_fail_has_its_class(runner, body, status, failure, said):
    validation = check(workspace(body), runner, indices=[0])
    assert statuses(validation) == [status]
    assert validation.failure_type.value == failure
    assert said in validation.cases[0].message
    assert not validation.passed


def test_a_crash_in_one_case_leaves_the_others_alone(runner):
    found = workspace(
        "if x.numel() == 17:\n    os.kill(os.getpid(), 11)\n"
        "if x.numel() == 64:\n    os.kill(os.getppid(), 9)\nreturn x * alpha"
    )
    validation = check(found, runner)
    assert statuses(validation) == ["passed", "runtime_error", "runtime_error", "passed"]
    assert validation.failure_type is FailureType.RUNTIME_ERROR
    assert validation.complete


def test_an_endless_case_is_a_timeout_and_too_many_end_the_validation(runner):
    found = workspace(
        "import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile x.numel() > 16: pass\nreturn x * alpha"
    )
    limits = ValidationLimits(case_seconds=0.5, timeouts=2)
    with Runner(limits=limits) as short:
        validation = check(found, short)
    assert statuses(validation) == ["passed", "timeout", "timeout", "timeout"]
    assert validation.failure_type is FailureType.TIMEOUT
    assert "no end after" in validation.cases[1].message
    assert "not tried" in validation.cases[3].message
    assert not validation.complete


def test_the_whole_validation_has_an_end_too(runner):
    found = workspace("time.sleep(1.0)\nreturn x * alpha")
    validation = check(found, runner, limits=ValidationLimits(case_seconds=3.0, total_seconds=1.5))
    assert statuses(validation)[0] == "passed"
    assert statuses(validation)[-1] == "timeout"
    assert not validation.complete


def test_an_import_that_fails_is_tried_once(runner):
    validation = check(
        workspace(adapter="import _scale_ext\nclass ModelNew: pass\n"), runner, artifact=b"no library"
    )
    assert validation.failure_type is FailureType.IMPORT_FAILED
    assert len(validation.cases) == 4
    assert "_scale_ext" in validation.message
    crash = check(workspace(adapter="import os\nos.abort()\nclass ModelNew: pass\n"), runner)
    assert crash.failure_type is FailureType.IMPORT_FAILED


def test_a_reference_that_fails_is_not_the_candidates_fault(runner):
    broken = MODEL.replace("return x * alpha", "return x @ 3 if x.numel() == 17 else x * alpha")
    validation = check(workspace(model=broken), runner)
    assert validation.failure_type is FailureType.EXECUTION_ABORTED
    assert "case 1 (float32[17] alpha=2.0)" in validation.message
    assert "model.py:7" in validation.message
    missing = check(workspace(model="import nowhere_to_be_found\n" + MODEL), runner)
    assert missing.failure_type is FailureType.EXECUTION_ABORTED


def test_inputs_that_can_not_be_made_are_not_the_candidates_fault(runner):
    facts = "[inputs.x]\ndistribution = 'uniform'\nlow = 0\nhigh = 1\n"
    found = workspace(facts=facts)
    # What `Workspace.from_files` refuses may still come from an older store.
    broken = found.rules["x"].model_copy(update={"high": "y.shape[0]"})
    validation = check(found.model_copy(update={"rules": {"x": broken}}), runner)
    assert validation.failure_type is FailureType.EXECUTION_ABORTED
    assert "case 0" in validation.message
    assert check(found, runner).passed


def test_a_runner_that_fell_between_cases_is_replaced_and_blames_nobody():
    with Runner(limits=LIMITS) as fragile:
        assert check(workspace(), fragile).passed
        assert fragile._process is not None
        fragile._process.kill()
        assert check(workspace(), fragile).passed
        assert fragile.starts == 2


def test_start_values_that_can_not_be_passed_are_not_the_candidates_fault(runner):
    start = "\ndef get_init_inputs():\n    return [object()]\n"
    model = MODEL.replace(
        "    def forward", "    def __init__(self, o):\n        super().__init__()\n    def forward"
    )
    validation = check(workspace(model=model + start), runner)
    assert validation.failure_type is FailureType.EXECUTION_ABORTED
    assert "type object" in validation.message


def test_cut_cases_reduce_coverage_and_never_pass(runner):
    validation = check(workspace(), runner, max_elements=64)
    assert statuses(validation) == ["passed", "passed", "cut", "cut"]
    assert (validation.coverage, validation.match_rate, validation.complete) == (0.5, 1.0, True)
    nothing = check(workspace(), runner, max_elements=1)
    assert nothing.failure_type is FailureType.EXECUTION_ABORTED
    assert nothing.match_rate is None
    assert not nothing.passed


def test_a_trial_stops_at_its_first_failures_and_is_not_complete(runner):
    validation = check(workspace("return x"), runner, indices=[1, 2, 3], stop_after_failures=1)
    assert statuses(validation) == ["mismatch"]
    assert not validation.complete
    assert "2 not tried" in validation.message


@pytest.mark.parametrize("indices", [[0, 0], [4], [-1]])
def test_indices_that_name_no_case_or_one_twice_are_refused(runner, indices):
    with pytest.raises(BadInput):
        check(workspace(), runner, indices=indices)


def test_changing_an_input_reaches_neither_reference_nor_later_cases(runner):
    in_place = MODEL.replace("return x * alpha", "return x.mul_(alpha)")
    assert check(workspace("return x.mul_(alpha)", model=in_place), runner).passed
    spoiled = check(workspace("y = x * alpha\nx.zero_()\nreturn y"), runner)
    assert spoiled.passed


def test_the_reference_and_the_cases_are_out_of_reach_and_nothing_survives_a_case(runner):
    body = """
found = []
for top, folders, names in os.walk("/"):
    folders[:] = [f for f in folders if top + f not in ("/proc", "/usr", "/dev") and f not in ("lib", "torch")]
    found += [n for n in names if n in ("model.py", "cases.toml", "operator.toml", "left_behind")]
os.makedirs("/opmend/scratch/deep/er")
for place in ("/opmend/scratch/left_behind", "/opmend/scratch/deep/er/left_behind"):
    open(place, "w").write("x")
os.chmod("/opmend/scratch/deep", 0)
if os.fork() == 0:
    os.setsid()
    time.sleep(0.2)
    open("/opmend/scratch/left_behind", "w").write("x")
    time.sleep(60)
return x * alpha if not found else torch.zeros(len(found))
"""
    assert statuses(check(workspace(body), runner)) == ["passed"] * 4


def test_an_environment_below_the_temporary_folder_keeps_its_warm_process(tmp_path, monkeypatch):
    """Its mount points must not look like leftovers of a case, or torch is imported anew for each."""
    below = Path(tempfile.mkdtemp(dir="/tmp"))
    own = sandbox._python_paths()
    monkeypatch.setattr(sandbox, "_python_paths", lambda: (*own, below))
    with Runner() as crowded:
        assert statuses(check(workspace("return x * alpha"), crowded)) == ["passed"] * 4
        assert crowded.starts == 1
    below.rmdir()


def test_what_a_candidate_patches_reaches_no_later_case(runner):
    body = """
if x.numel() == 16:
    torch.Tensor.__mul__ = lambda a, b: a
    sys.modules["evil"] = 1
elif "evil" in sys.modules:
    return x
return torch.mul(x, alpha)"""
    assert check(workspace(body), runner).passed


def test_random_weights_agree_on_both_sides(runner):
    layer = "torch.nn.Linear(x.shape[-1], 3, dtype=x.dtype)(x)"
    model = MODEL.replace("return x * alpha", f"return {layer} * alpha + torch.rand(1).to(x.dtype)")
    validation = check(workspace(f"return {layer} * alpha + torch.rand(1).to(x.dtype)", model=model), runner)
    assert validation.passed
    held = MODEL.replace(
        "    def forward",
        "    def __init__(self, n):\n        super().__init__()\n"
        "        self.w = nn.Parameter(torch.randn(n))\n    def forward",
    ).replace("x * alpha", "x.reshape(-1)[:2] * self.w.to(x.dtype) * alpha")
    adapter = held.replace("class Model(", "class ModelNew(")
    start = "\ndef get_init_inputs():\n    return [2]\n"
    assert check(workspace(adapter=adapter, model=held + start), runner).passed


def test_left_out_inputs_lists_and_nested_outputs_are_values_like_others(runner):
    cases = """
inputs = [{name = "x", kind = "tensor"}, {name = "bias", kind = "tensor"}, {name = "dims", kind = "attr"}]
cases = [
  ["float32[4,2]", "-", [0, 1]], ["bfloat16[4]", "bfloat16[4]", [0]], ["int64[3]", "-", "-"], ["bool[0]", "-", "-"],
]
"""
    model = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x, bias=None, dims=None):
        out = x if bias is None else x + bias
        return {"sum": out.sum(dims) if dims else out, "rest": [None, 2, 0.5, (x.numel(), x.to(torch.complex64))]}
"""
    validation = check(
        workspace(adapter=model.replace("Model(", "ModelNew("), model=model, cases=cases), runner
    )
    assert validation.passed, validation.message
    by_position = model.replace("x, bias=None, dims=None", "a, b, c").replace(
        "        out", "        x, bias, dims = a, b, c\n        out"
    )
    assert check(
        workspace(adapter=by_position.replace("Model(", "ModelNew("), model=model, cases=cases), runner
    ).passed


def test_without_a_sandbox_it_works_and_the_result_shows_it():
    with Runner(limits=LIMITS, mode=Mode.OFF) as bare:
        validation = check(workspace("if x.numel() == 17: os.abort()\nreturn x * alpha"), bare)
    assert statuses(validation) == ["passed", "runtime_error", "passed", "passed"]
    assert [finding.rule for finding in validation.findings] == ["sandbox-off"]


def test_what_the_simulator_reports_becomes_findings(runner):
    body = """
import json
line = {"rule": "datacopy-unaligned", "message": "36 bytes", "file": "kernel/a.cpp", "line": 7, "count": 2}
with open(os.environ["OPMEND_SIM_REPORT"], "w") as report:
    report.write(json.dumps(line) + "\\nno json\\n[1]\\n")
return x * alpha"""
    (finding,) = check(workspace(body), runner, indices=[0, 1, 2]).findings
    assert (finding.rule, finding.line, finding.count) == ("datacopy-unaligned", 7, 6)
    link = "os.symlink('/proc/self/environ', os.environ['OPMEND_SIM_REPORT'])\nreturn x * alpha"
    assert check(workspace(link), runner).findings == ()


def test_a_forged_result_is_refused(runner):
    body = """
import gc
for number in range(3, 40):
    try:
        if "memfd" in os.readlink(f"/proc/self/fd/{number}"):
            os.write(number, b"OPM1" + b"\\xff" * 64)
    except OSError:
        pass
os._exit(0)"""
    validation = check(workspace(body), runner, indices=[0])
    assert statuses(validation) == ["runtime_error"]
    assert "forged" in validation.cases[0].message


def test_adapters_may_import_torch_npu_and_wait_for_their_stream(runner):
    body = "import torch_npu\ny = x.npu() * alpha\ntorch.npu.synchronize()\ntorch_npu.npu.set_device(0)\nreturn y"
    assert check(workspace(body), runner).passed
    validation = check(workspace("import torch_npu\nreturn torch_npu.npu_scale(x, alpha)"), runner)
    assert validation.failure_type is FailureType.UNSUPPORTED
    assert "torch_npu.npu_scale" in validation.message


def test_every_result_is_told_as_it_comes(runner):
    seen = []
    validation = check(workspace(), runner, progress=seen.append)
    assert tuple(seen) == validation.cases
    assert all(case.status is CaseStatus.PASSED for case in seen)


def test_a_validation_that_nobody_wants_ends_at_once_and_the_runner_goes_on():
    with Runner(limits=ValidationLimits(case_seconds=300.0, total_seconds=600.0)) as patient:
        assert check(workspace(), patient).passed  # torch is there
        endless, lost = workspace("while True:\n    pass"), threading.Event()
        threading.Timer(1.0, lost.set).start()
        began = time.monotonic()
        with pytest.raises(JobLost):
            check(endless, patient, lost=lost)
        assert time.monotonic() - began < 15
        with pytest.raises(JobLost):
            check(workspace(), patient, lost=lost)
        assert check(workspace(), patient).passed
        assert patient.starts == 2

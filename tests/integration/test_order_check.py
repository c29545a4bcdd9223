"""`--order-check` on a whole workspace: kernels that can tell in which order their cores ran, and one that can't."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from npu_worker.check import check
from npu_worker.order import RULE, _difference
from npu_worker.runner.process import CaseRun, Ending

PLUS = Path(__file__).parents[1] / "workspaces" / "plus"
AT_THE_END = "    op.Process();\n"


def checked(directory: Path, old: str, new: str) -> dict[str, Any]:
    place = shutil.copytree(PLUS, directory / "plus")
    source = place / "kernel" / "plus.cpp"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    return check(place, order=True)


def unlike(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["validation"]["findings"] if one["rule"] == RULE]


def test_a_right_kernel_is_the_same_in_every_order(tmp_path: Path) -> None:
    found = checked(tmp_path, AT_THE_END, AT_THE_END)
    assert found["passed"]
    assert unlike(found) == []
    assert found["timings"]["order"] > 0


def test_the_last_core_to_write_is_found_though_every_case_passes(tmp_path: Path) -> None:
    # Reads what the core before it may have written already: right in block order alone.
    stale = """    op.Process();
    if (GetBlockIdx() + 1 < GetBlockNum()) {
        GlobalTensor<float> all;
        all.SetGlobalBuffer((__gm__ float *)out, total);
        const int64_t next = (GetBlockIdx() + 1) * TILE;
        if (next < total && all.GetValue(next) == all.GetValue(next)) all.SetValue(next, -1.0f);
    }
"""
    found = checked(tmp_path, AT_THE_END, stale)
    assert [case["status"] for case in found["validation"]["cases"]] == ["passed"] * 4
    assert not found["passed"]
    (first, *_) = unlike(found)
    assert first["severity"] == "violation"
    # 64 x 64: the second core's tile begins with row 16.
    assert "first at [16,0]" in first["message"]
    assert "then -1.0" in first["message"]
    assert first["mend"]


def test_atomic_adds_of_floats_that_round_otherwise_are_a_warning(tmp_path: Path) -> None:
    added = """    op.Process();
    SyncAll();
    {
        TPipe own;
        TBuf<> scratch;
        own.InitBuffer(scratch, 64);
        LocalTensor<float> part = scratch.Get<float>();
        const float values[4] = {1.0f, 1e-8f, 3e-8f, 6e-8f};
        Duplicate(part, values[GetBlockIdx() % 4], 8);
        PipeBarrier<PIPE_ALL>();
        GlobalTensor<float> all;
        all.SetGlobalBuffer((__gm__ float *)out, total);
        SetAtomicAdd<float>();
        if (total >= 8) DataCopy(all, part, 8);
        SetAtomicNone();
    }
"""
    found = checked(tmp_path, AT_THE_END, added)
    assert {one["severity"] for one in unlike(found)} <= {"warning"}


def run(ending: Ending = Ending.OUTPUTS, outputs: Any = None, message: str = "") -> CaseRun:
    return CaseRun(ending=ending, phase="forward", outputs=outputs, message=message)


ONE = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("usual", "other", "profile", "expected"),
    [
        (run(outputs=ONE), run(outputs=ONE.clone()), None, None),
        (run(outputs=[ONE, 3]), run(outputs=(ONE, 3)), None, None),
        (run(Ending.ERROR), run(outputs=ONE), None, None),
        (run(outputs=ONE), run(Ending.CRASH, message="killed"), None, ("violation", "killed")),
        (
            run(outputs=ONE),
            run(outputs=ONE * 1.001),
            None,
            ("violation", "4 of 4 elements differ, first at [0,0]"),
        ),
        (run(outputs=ONE), run(outputs=ONE * (1 + 2e-7)), "mere_mare", ("warning", "atomic adds")),
        (run(outputs=ONE), run(outputs=ONE * 2), "mere_mare", ("violation", "first at [0,0]: 1.0, then 2.0")),
        (run(outputs=(ONE,)), run(outputs=(ONE, ONE)), None, ("violation", "1, then 2")),
        (run(outputs=torch.tensor(7)), run(outputs=torch.tensor(8)), None, ("violation", "7, then 8")),
        (run(outputs=ONE), run(outputs=ONE.half()), None, ("violation", "torch.float16")),
    ],
)
def test_differences_are_judged(
    usual: CaseRun, other: CaseRun, profile: str | None, expected: tuple[str, str] | None
) -> None:
    found = _difference(usual, other, profile_name=profile)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == expected[0]
        assert expected[1] in found[1]

"""Programs as a model writes them from its own knowledge of AscendC; each compares itself to plain C++."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent.parent / "kernels" / "programs" / "unseen"


def simulate(directory: Path, source: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "npu_worker.simulate", str(source)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    "name",
    [
        "topk_sort",
        "debugging",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("norms", "masks", "quantise", "online_softmax")
        ),
    ],
)
def test_a_program_is_right(tmp_path: Path, name: str) -> None:
    done = simulate(tmp_path, PROGRAMS / f"{name}.cpp")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 bad of " in done.stdout
    assert "violation" not in done.stderr


def test_a_failed_assert_stops_the_kernel_by_name(tmp_path: Path) -> None:
    source = tmp_path / "k.cpp"
    source.write_text(
        '#include "kernel_operator.h"\n'
        '#include "acl/acl.h"\n'
        "__global__ __aicore__ void k(uint32_t n) {\n"
        "    assert(n < 4);\n"
        "}\n"
        "int main() {\n"
        "    aclInit(nullptr);\n"
        "    k<<<1, nullptr, nullptr>>>(5);\n"
        "}\n"
    )
    done = simulate(tmp_path, source)
    assert done.returncode == 1
    assert "k.cpp:4: n < 4" in done.stderr


def test_a_program_s_unsupported_name_is_said_last(tmp_path: Path) -> None:
    source = tmp_path / "k.cpp"
    source.write_text(
        '#include "kernel_operator.h"\n'
        "using namespace AscendC;\n"
        "__global__ __aicore__ void k() {\n"
        "    LocalTensor<float> t;\n"
        "    MulsCast(t, t, 2);\n"
        "}\n"
        "int main() {}\n"
    )
    done = simulate(tmp_path, source)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-2:]
    assert "k.cpp:5: unsupported by the simulator: MulsCast" in last[0]
    assert last[1] == "unsupported"

"""What published kernels name beside the tensor calls, and what is said of a name that is not there."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from npu_worker.toolchains import SimToolchain
from schema.results import FailureType
from tests.support.proof import proves

ROOT = Path(__file__).parent.parent.parent
NAMES = ROOT / "tests" / "kernels" / "programs" / "names"
HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'


def simulate(directory: Path, *sources: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "npu_worker.simulate", *map(str, sources)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def findings(
    work: Path, source: str, *, kernel: str = "kernel/k.cpp"
) -> tuple[FailureType | None, list[tuple[str, str, int]]]:
    build = SimToolchain().compile({kernel: source}, workdir=work, extension_name="_k")
    found = [(one.rule, one.message, one.line or 0) for one in build.compilation.findings]
    assert all(one.file == kernel for one in build.compilation.findings)
    return build.compilation.failure_type, found


@proves(
    "programs/names/main.cpp",
    """AlignUp AlignDown CeilAlign DivCeil CeilDivision AscendCUtils TensorDesc ListTensorDesc ASSERT int4b_t""",
)
@proves("programs/names/plain.cpp", "Broadcast")
def test_scalars_operators_lists_and_names_of_the_c_library(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    x, y = random.integers(-20, 20, (2, 256)).astype(np.float32) / 4
    y[y == 0] = 1
    y[::7] = np.where(x[::7] == 0, 1, x[::7])
    np.concatenate([x, y]).tofile(tmp_path / "input.bin")
    halves = (random.integers(-40, 40, 128) / 4).astype(np.float16)
    halves.tofile(tmp_path / "halves.bin")
    done = simulate(tmp_path, NAMES / "main.cpp", NAMES / "plain.cpp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    raw = (tmp_path / "symbols.bin").read_bytes()
    got = np.frombuffer(raw[: 4 * 4 * 256], np.float32).reshape(4, 256)
    assert np.array_equal(got, np.stack([x + y, x - y, x * y, x / y]))
    bits = np.unpackbits(np.frombuffer(raw[4 * 4 * 256 :], np.uint8), bitorder="little").reshape(2, 256)
    assert np.array_equal(bits, np.stack([x <= y, x > y]))
    assert np.array_equal(np.fromfile(tmp_path / "hypot.bin", np.float32), np.sqrt(x * x + y * y))
    assert np.array_equal(np.fromfile(tmp_path / "sums.bin", np.float32), [x[:16].sum(), y.sum()])
    four = np.clip(np.rint(halves), -8, 7).astype(np.int8)
    raw = (tmp_path / "nibbles.bin").read_bytes()
    assert np.array_equal(np.frombuffer(raw[:64], np.int8), (four[::2] & 15) | (four[1::2] << 4))
    assert np.array_equal(np.frombuffer(raw[64:], np.float16), four[64:].astype(np.float16))
    assert np.fromfile(tmp_path / "plain.bin", np.float32).tolist() == [128, 208]


@pytest.mark.parametrize(
    ("body", "failure", "expected"),
    [
        (
            "LocalTensor<float> t; MulsCast(t, t, 2);",
            FailureType.UNSUPPORTED,
            "unsupported by the simulator: MulsCast",
        ),
        (
            "GlobalTensor<DTYPE_X> x;",
            FailureType.UNSUPPORTED,
            "unsupported by the simulator: DTYPE_X (an operator",
        ),
        ("Ad(1);", FailureType.BUILD_FAILED, "'Ad' was not declared"),
    ],
)
def test_a_name_that_is_not_there_is_one_finding(
    tmp_path: Path, body: str, failure: FailureType, expected: str
) -> None:
    kind, found = findings(
        tmp_path, f'{HEAD}extern "C" __global__ __aicore__ void k(GM_ADDR z) {{\n{body}\n}}\n'
    )
    assert (kind, [line for _, _, line in found][:1]) == (failure, [4])
    assert found[0][1].startswith(expected)
    assert len(found) == 1 or kind is FailureType.BUILD_FAILED


def test_a_namespace_that_was_forgotten_is_the_kernel_s_mistake(tmp_path: Path) -> None:
    source = '#include "kernel_operator.h"\n__global__ __aicore__ void k(GM_ADDR z) {\nTPipe pipe;\n}\n'
    kind, found = findings(tmp_path, source)
    assert kind is FailureType.BUILD_FAILED
    assert found[0][0] == "compile-error"

"""The g++ toolchain on good, wrong, unsupported and hostile sources."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from npu_worker import sim as sim_package
from npu_worker.toolchains import Build, SimToolchain
from schema.errors import BadInput, ToolchainMissing
from schema.results import FailureType

KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<%s> t = buffer.Get<%s>();
    %s
}
"""


def compile_kernel(tmp_path: Path, body: str, *, kind: str = "float", timeout: float = 240.0) -> Build:
    return SimToolchain().compile(
        {"kernel/k.cpp": KERNEL % (kind, kind, body)},
        workdir=tmp_path,
        extension_name="_k_ext",
        timeout=timeout,
    )


@pytest.mark.parametrize(
    "body",
    [
        "LoadImageToLocal(t, t);",
        "AscendC::SetAippFunctions<float>(t, t);",
        "HcclHandle p;",
        "pipe.InitSpmBuffer(t, 1);",
    ],
)
def test_a_call_the_simulator_lacks_is_unsupported(tmp_path: Path, body: str) -> None:
    compilation = compile_kernel(tmp_path, body).compilation
    assert compilation.failure_type is FailureType.UNSUPPORTED, compilation.log
    assert compilation.findings[0].line == 8
    assert compilation.findings[0].file == "kernel/k.cpp"


BY_CORE = """#ifdef __DAV_C220_VEC__
    Adds(t, t, 1.0f, 8);
#else
    this is no C++
#endif
    %s"""


def test_code_for_one_kind_of_core_is_compiled_for_the_only_one(tmp_path: Path) -> None:
    assert compile_kernel(tmp_path, BY_CORE % "").compilation.ok


def test_code_for_one_kind_of_core_is_not_left_out_in_silence(tmp_path: Path) -> None:
    compilation = compile_kernel(tmp_path, BY_CORE % "Mmad(t, t, t, MmadParams());").compilation
    assert compilation.failure_type is FailureType.UNSUPPORTED
    (finding,) = compilation.findings
    assert (finding.rule, finding.file, finding.line) == ("unsupported", "kernel/k.cpp", 8)
    assert "__DAV_C220_VEC__" in finding.message
    assert "ASCEND_IS_AIC" in finding.message


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("float", "DataCopyy(t, t, 8);"),
        ("float", "Adds(t, t, 1.0f 8);"),
        ("bfloat16_t", "Add(t, t, t, 8);"),
        ("int8_t", "Duplicate(t, 1, 8);"),
    ],
)
def test_a_mistake_is_a_failed_build_at_its_line(tmp_path: Path, kind: str, body: str) -> None:
    build = compile_kernel(tmp_path, body, kind=kind)
    assert build.binary is None
    assert build.compilation.failure_type is FailureType.BUILD_FAILED
    assert {(finding.rule, finding.file, finding.line) for finding in build.compilation.findings} == {
        ("compile-error", "kernel/k.cpp", 8)
    }
    assert str(tmp_path) not in build.compilation.log


def test_a_compile_that_does_not_end_is_a_timeout(tmp_path: Path) -> None:
    body = f"// never compiled before: {tmp_path}"
    SimToolchain().prepare()
    compilation = compile_kernel(tmp_path, body, timeout=0.05).compilation
    assert compilation.failure_type is FailureType.TIMEOUT


def test_hostile_includes_end_before_the_compiler(tmp_path: Path) -> None:
    build = SimToolchain().compile(
        {"kernel/k.cpp": '#include "/etc/passwd"\n'}, workdir=tmp_path, extension_name="_k_ext"
    )
    assert build.compilation.failure_type is FailureType.BUILD_FAILED
    assert build.compilation.findings[0].rule == "include-outside-workspace"
    assert "root:" not in build.compilation.log


def test_bad_names_and_a_missing_compiler(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="workspace"):
        SimToolchain().compile({"../k.cpp": ""}, workdir=tmp_path, extension_name="_k_ext")
    with pytest.raises(BadInput, match="extension"):
        SimToolchain().compile({"kernel/k.cpp": ""}, workdir=tmp_path, extension_name="a b")
    with pytest.raises(ToolchainMissing, match=r"apt-get install g\+\+"):
        SimToolchain(compiler="no-such-g++", cache_directory=tmp_path / "cache").compile(
            {"kernel/k.cpp": "int x;"}, workdir=tmp_path, extension_name="_k_ext"
        )
    build = SimToolchain().compile({"kernel/readme.md": ""}, workdir=tmp_path, extension_name="_k_ext")
    assert build.compilation.failure_type is FailureType.BUILD_FAILED


def test_the_wrapper_sees_every_command_and_equal_sources_give_equal_bytes(tmp_path: Path) -> None:
    seen: list[str] = []

    def wrapper(argv: Sequence[str], workdir: Path) -> Sequence[str]:
        assert workdir.is_dir()
        seen.append("-c" if "-c" in argv else "link")
        return ["env", *argv]

    unique = f"// {tmp_path}\n"
    files = {
        "kernel/k.cpp": unique + KERNEL % ("float", "float", "Adds(t, t, 1.0f, 8);"),
        "kernel/other.cpp": "int other() { return 1; }\n",
    }
    builds = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        builds.append(
            SimToolchain(command_wrapper=wrapper).compile(
                files, workdir=tmp_path / name, extension_name="_k_ext", timeout=240
            )
        )
    assert all(build.compilation.ok for build in builds), builds[0].compilation.log
    assert builds[0].binary == builds[1].binary
    assert builds[0].compilation.artifact == builds[1].compilation.artifact
    assert seen.count("link") == 2
    assert seen.count("-c") >= 1  # objects of equal sources are kept, so the second build may compile nothing


def test_a_launch_needs_no_header_of_its_own(tmp_path: Path) -> None:
    files = {
        "kernel/k.cpp": KERNEL % ("float", "float", "Adds(t, t, 1.0f, 8);"),
        "kernel/host.cpp": 'extern "C" void k(unsigned char* x);\nvoid g(void* s) { k<<<2, nullptr, s>>>(nullptr); }\n',
    }
    compilation = (
        SimToolchain().compile(files, workdir=tmp_path, extension_name="_k_ext", timeout=240).compilation
    )
    assert compilation.ok, compilation.log


def test_the_portable_half_agrees_with_the_fast_one(tmp_path: Path) -> None:
    """A machine without F16C gets the same bits: all halves and every rounding edge against NumPy."""
    source = tmp_path / "portable.cpp"
    source.write_text(
        '#include <cstdio>\n#include "opmend_sim/numeric.h"\n'
        "int main() {\n"
        "    for (unsigned h = 0; h < 65536; ++h) {\n"
        "        const float f = opmend_sim::half_bits_to_float_portable(static_cast<uint16_t>(h));\n"
        "        std::fwrite(&f, 4, 1, stdout);\n"
        "    }\n"
        "    float f;\n"
        "    while (std::fread(&f, 4, 1, stdin) == 1) {\n"
        "        const uint16_t h = opmend_sim::float_to_half_bits_portable(f);\n"
        "        std::fwrite(&h, 2, 1, stdout);\n"
        "    }\n"
        "}\n"
    )
    include = Path(sim_package.__file__).parent / "include"
    program = tmp_path / "portable"
    subprocess.run(
        ["g++", "-std=c++17", "-O1", f"-I{include}", str(source), "-o", str(program)], check=True, timeout=120
    )
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    finite = np.unique(halves[np.isfinite(halves)].astype(np.float32))
    middle = (finite[:-1] + finite[1:]) / np.float32(2)
    edges = np.concatenate(
        [finite, middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)]
    ).astype(np.float32)
    edges = np.concatenate(
        [edges, np.array([65519.996, 65520, 1e30, -1e30, np.inf, -np.inf, 1e-30, -1e-30, -0.0], np.float32)]
    )
    done = subprocess.run([str(program)], input=edges.tobytes(), capture_output=True, check=True, timeout=60)
    widened = np.frombuffer(done.stdout[: 65536 * 4], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        expected, narrowed = halves.astype(np.float32), edges.astype(np.float16)
    ordinary = ~np.isnan(expected)
    assert np.array_equal(widened[ordinary].view(np.uint32), expected[ordinary].view(np.uint32))
    assert np.isnan(widened[~ordinary]).all()
    assert np.array_equal(np.frombuffer(done.stdout[65536 * 4 :], np.uint16), narrowed.view(np.uint16))

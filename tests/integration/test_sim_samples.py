"""Programs with a main: `npu_worker.simulate` compiles and runs them as public samples are built."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from npu_worker.simulate import collect
from schema.errors import BadInput
from tests.support.proof import proves

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ROOT / "tests" / "kernels" / "programs"


def simulate(directory: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "npu_worker.simulate", *map(str, words)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_host_side_with_acl_and_files(tmp_path: Path) -> None:
    values = np.linspace(-3, 3, 512, dtype=np.float32)
    values.tofile(tmp_path / "input.bin")
    sources = [PROGRAMS / "launch" / name for name in ("main.cpp", "square.cpp")]
    done = simulate(tmp_path, *sources, "-I", PROGRAMS / "launch" / "include", "--", "512")
    assert (done.returncode, done.stdout, done.stderr) == (0, "squared 512\n", "")
    assert np.array_equal(np.fromfile(tmp_path / "output.bin", np.float32), values * values)
    # 13 floats a core: DataCopy drops the last five of each, and the program can't know.
    done = simulate(tmp_path, *sources, "-I", PROGRAMS / "launch" / "include", "--json", "--", "26")
    found = json.loads(done.stdout)
    assert (done.returncode, found["exit_code"], found["passed"]) == (1, 0, False)
    assert {one["rule"] for one in found["findings"]} >= {"datacopy-unaligned"}
    assert all(one["file"].endswith("square.cpp") for one in found["findings"] if one["file"])
    assert done.stderr == "squared 26\n"


@proves("programs/cpu_mode/main.cpp", "SetKernelMode")
def test_cpu_mode_and_an_error_that_stops_it(tmp_path: Path) -> None:
    done = simulate(tmp_path, PROGRAMS / "cpu_mode" / "main.cpp")
    assert (done.returncode, done.stdout.split()) == (0, [str(2 * i) for i in range(16)])
    done = simulate(tmp_path, PROGRAMS / "cpu_mode" / "main.cpp", "--", "too-long")
    assert done.returncode == 1
    assert "stopped: gm-read-out-of-range: element 16" in done.stderr
    assert re.search(r"error gm-read-out-of-range: \S*main.cpp:17: element 16", done.stderr)
    assert "exit code 1" in done.stderr


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "simulator.md").read_text("utf-8")
    source = re.search(r"```cpp\n(// vector_add\.cpp.*?)```", text, re.DOTALL)
    assert source is not None
    (tmp_path / "vector_add.cpp").write_text(source[1])
    done = subprocess.run(
        [sys.executable, "-m", "coordinator.cli", "simulate", "vector_add.cpp", "--", "1000"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1000 right\n", "")


def test_what_does_not_compile_says_where(tmp_path: Path) -> None:
    (tmp_path / "broken.cpp").write_text("int main() { return nothing; }\n")
    done = simulate(tmp_path, "broken.cpp")
    assert done.returncode == 1
    assert "broken.cpp:1:21: error" in done.stderr


@pytest.mark.parametrize("words", [["missing.cpp"], ["notes.txt"], [], ["a.cpp", "--define", "1x"]])
def test_wrong_use_is_one_line(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "notes.txt").write_text("no program")
    (tmp_path / "a.cpp").write_text("int main() {}")
    done = simulate(tmp_path, *words)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_sources_bring_the_headers_they_reach(tmp_path: Path) -> None:
    for name, text in {
        "host/main.cpp": '#include "../common/a.h"\n#include <vector>\n#include "kernel_operator.h"\n',
        "common/a.h": '#include "b.h"\n',
        "common/b.h": "",
        "common/unused.h": "",
        "more/c.h": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    gathered = collect([tmp_path / "host" / "main.cpp"], include=[tmp_path / "more"])
    assert set(gathered.files) == {"host/main.cpp", "common/a.h", "common/b.h"}
    assert gathered.root == tmp_path.resolve()
    assert gathered.include == ("more", "host")
    with pytest.raises(BadInput):
        collect([tmp_path / "host" / "other.cpp"])

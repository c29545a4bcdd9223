"""Mutants: small kernels with one seeded fault each, and the rule that must name it.

The rule stands in the comment behind each `case` of tests/kernels/mutants/*.cpp, so that a mutant and what it must be
caught by are read, and changed, together. All are compiled once.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
import torch

from npu_worker.sim.report import read_report
from npu_worker.toolchains.sim import SIM_DIRECTORY
from schema.results import Finding
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "mutants"
CASE = re.compile(r"^ {8}case (\d+):.*?// ([a-z]+(?:-[a-z0-9]+)*)\b", re.MULTILINE)
MUTANTS = [
    (group, int(number), rule)
    for group in ("memory", "protocol")
    for number, rule in CASE.findall((KERNELS / f"{group}.cpp").read_text())
]
# Blocks of a launch where it matters.
BLOCKS = {
    "syncall-too-many-blocks": 49,
    "cross-core-overlap": 4,
    "cross-core-race": 4,
    "cache-line-shared": 4,
}
BLOCKS |= {"syncall-missing-core": 4}
LENGTH = 1024


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    work = tmp_path_factory.mktemp("mutants")
    library = compiled(sources(KERNELS), "_sim_mutants_ext", work)
    with pytest.MonkeyPatch.context() as patch:
        # Read once, at the first launch: a loop without an end is given up soon.
        patch.setenv("OPMEND_SIM_STEPS", "100000")
        module = loaded(library)
        yield module


def caught(mutants: ModuleType, report: Path, group: str, which: int, blocks: int) -> tuple[Finding, ...]:
    os.environ["OPMEND_SIM_REPORT"] = str(report)
    x, z = torch.arange(LENGTH, dtype=torch.float32), torch.zeros(LENGTH)
    with suppress(RuntimeError):  # what a device would not survive
        mutants.run(group, x, z, blocks, which)
    return read_report(report)


def test_there_are_forty_mutants_and_no_number_comes_twice() -> None:
    assert len(MUTANTS) >= 40
    assert len({(group, number) for group, number, _ in MUTANTS}) == len(MUTANTS)
    for group in ("memory", "protocol"):
        cases = re.findall(r"^ {8}case (\d+):", (KERNELS / f"{group}.cpp").read_text(), re.MULTILINE)
        assert len(cases) == sum(group == one for one, _, _ in MUTANTS)


SIMULATOR = "".join(
    line
    for path in sorted([*SIM_DIRECTORY.glob("runtime/*.cpp"), *SIM_DIRECTORY.glob("include/**/*.h")])
    for line in path.read_text().splitlines()
    if not line.startswith('    {"')  # how a rule is mended says nothing about who finds it
)


def expected(group: str, which: int, rule: str) -> object:
    """The mutant as a parameter; one whose detector is not built yet must fail."""
    lacking = f'"{rule}"' not in SIMULATOR and not any(
        rule.endswith(ending) for ending in ("-overflow", "-out-of-range", "-unaligned", "-buffer-overrun")
    )
    # What Compare makes of unwritten lanes came with its own loops.
    lacking = lacking or ((group, which) == ("memory", 36) and "compare_marked" not in SIMULATOR)
    marks = [pytest.mark.xfail(strict=True, reason=f"no detector says {rule} here yet")] if lacking else []
    return pytest.param(group, which, rule, marks=marks, id=f"{group}-{which}-{rule}")


@proves("mutants/protocol.cpp", "ASCENDC_ASSERT")
@pytest.mark.parametrize(("group", "which", "rule"), [expected(*mutant) for mutant in MUTANTS])
def test_the_fault_is_named(
    mutants: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
    which: int,
    rule: str,
) -> None:
    monkeypatch.setenv("OPMEND_SIM_REPORT", "")
    found = caught(mutants, tmp_path / "report.jsonl", group, which, BLOCKS.get(rule, 1))
    assert rule in {finding.rule for finding in found}, found
    fault = next(finding for finding in found if finding.rule == rule)
    assert fault.mend, f"{rule} does not say how to mend it"
    assert fault.file == f"kernel/{group}.cpp"
    lines = (KERNELS / f"{group}.cpp").read_text().splitlines()
    start = next(i for i, line in enumerate(lines, 1) if line.startswith(f"        case {which}:"))
    end = next(
        i for i, line in enumerate(lines[start:], start + 1) if re.match(r"        case |    }$", line)
    )
    assert fault.line is not None
    assert start <= fault.line < end, f"line {fault.line} is not of the case at {start}"
    # The seeded fault alone, and what follows from it.
    grave = {finding.rule for finding in found if finding.severity != "warning"}
    assert grave <= {rule, *CONSEQUENCES.get(rule, ())}, found


# What a fault drags along, and is as true.
CONSEQUENCES = {
    "gm-read-out-of-range": {"read-never-written"},
    "queue-double-enque": {"queue-leak"},
    "queue-full": {"queue-leak"},
    "queue-free-while-queued": {"queue-leak"},
    "queue-use-after-free": {"queue-double-free"},
    "queue-foreign-tensor": {"queue-leak"},
}


def test_an_overrun_says_which_buffer_where_it_was_made_and_on_which_core(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPMEND_SIM_REPORT", "")
    (found,) = caught(mutants, tmp_path / "report.jsonl", "memory", 3, 1)
    assert found.core == "AIV 0"
    made = next(
        number
        for number, line in enumerate((KERNELS / "memory.cpp").read_text().splitlines(), 1)
        if "InitBuffer(small, 128)" in line
    )
    assert found.buffer == f"VECCALC, 128 bytes, InitBuffer at kernel/memory.cpp:{made}"
    assert "160 bytes touched, the tensor holds 128" in found.message


def test_a_machine_that_saw_every_mutant_still_computes(mutants: ModuleType, tmp_path: Path) -> None:
    # datacopy-unaligned: the part that is a multiple of 32 bytes arrives.
    z = torch.zeros(LENGTH)
    mutants.run("memory", torch.ones(LENGTH), z, 1, 2)
    assert z[:8].eq(1).all()
    assert z[8:].eq(0).all()

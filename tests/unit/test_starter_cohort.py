"""The starter cohort is what the first run reads: every workspace parses, steers, and is honest by the scanner."""

import tomllib
from pathlib import Path

import pytest

from coordinator.integrity import scan
from schema.compact import compact_set
from schema.workspace import Workspace

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "cohorts" / "starter"
CORRECT = ROOT / "tests" / "kernels" / "correct"
MAX_ELEMENTS = tomllib.loads((STARTER / "cohort.toml").read_text())["max_elements"]

# operator: (cases upstream ships, dtypes of the first tensor)
FACTS = {
    "Add": (50, {"float32": 21, "float16": 19, "bfloat16": 10}),
    "Cumsum": (51, {"float32": 26, "float16": 16, "bfloat16": 9}),
    "Sum": (44, {"float32": 21, "float16": 16, "bfloat16": 7}),
    "LayerNorm": (60, {"float32": 1, "float16": 53, "bfloat16": 6}),
    "NLLLoss": (50, {"float32": 18, "float16": 22, "bfloat16": 10}),
    "TanhGatedResidualAddBackward": (50, {"bfloat16": 50}),
    "MatmulTransA": (50, {"float32": 17, "float16": 17, "bfloat16": 16}),
    "inplace_index_add_with_sorted": (5, {"float32": 3, "float16": 1, "int32": 1}),
}


def right_files(name: str) -> dict[str, str]:
    """The workspace with the right kernel laid over it."""
    files = dict(Workspace.from_directory(STARTER / name).files)
    for place in sorted((CORRECT / name / "kernel").iterdir()):
        files[f"kernel/{place.name}"] = place.read_text()
    return files


def test_cohort_holds_exactly_these_operators() -> None:
    found = {place.name for place in STARTER.iterdir() if place.is_dir()}
    assert found == set(FACTS)
    assert {place.name for place in CORRECT.iterdir()} == set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_workspace_retells_every_upstream_case(name: str) -> None:
    workspace = Workspace.from_directory(STARTER / name)
    assert workspace.name == name
    assert "NPUKernelBench" in workspace.source
    count, dtypes = FACTS[name]
    assert len(workspace.cases) == count
    found: dict[str, int] = {}
    for case in workspace.cases:
        dtype = case.tensors[0].dtype
        found[dtype] = found.get(dtype, 0) + 1
    assert found == dtypes


@pytest.mark.parametrize("name", FACTS)
def test_size_limit_leaves_enough_to_certify(name: str) -> None:
    """Whatever the limit cuts, each dtype and a third of the cases remain."""
    workspace = Workspace.from_directory(STARTER / name)
    left = [case for case in workspace.cases if case.elements <= MAX_ELEMENTS]
    assert len(left) * 3 >= len(workspace.cases)
    assert {case.tensors[0].dtype for case in left} == set(FACTS[name][1])
    chosen = compact_set(workspace.cases, max_elements=MAX_ELEMENTS)
    assert 5 <= len(chosen) <= 10


@pytest.mark.parametrize("name", FACTS)
def test_near_miss_and_right_kernel_differ_in_one_file(name: str) -> None:
    near_miss = dict(Workspace.from_directory(STARTER / name).files)
    right = right_files(name)
    assert set(near_miss) == set(right)
    changed = [path for path in right if right[path] != near_miss[path]]
    assert len(changed) == 1
    assert changed[0].startswith("kernel/")


@pytest.mark.parametrize("name", FACTS)
def test_near_miss_is_clean(name: str) -> None:
    report = scan(dict(Workspace.from_directory(STARTER / name).files))
    assert report.verdict == "CLEAN", report.reasons


@pytest.mark.parametrize("name", FACTS)
def test_right_kernel_is_clean_against_the_frozen_workspace(name: str) -> None:
    baseline = dict(Workspace.from_directory(STARTER / name).files)
    report = scan(right_files(name), baseline=baseline)
    assert report.verdict == "CLEAN", report.reasons

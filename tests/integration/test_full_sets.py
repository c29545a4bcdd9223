"""`make test-full`: every case of every starter operator, however large, passes with the right kernel."""

from pathlib import Path

import pytest

from tests.support.full_sets import OPERATORS, run_full

pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_right_kernel_passes_its_whole_set(name: str, tmp_path: Path) -> None:
    run = run_full(name, tmp_path)
    assert run.passed, run.failed
    assert set(run.statuses) == {"passed"}, run.failed

"""What the simulator counts for a launch, against what the kernel's source says it does."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.extension import compiled, loaded, sources

SOURCES = Path(__file__).parents[1] / "bench" / "sim_add"
ELEMENTS, CORES, TILE = 8 * 8192, 8, 2048


@pytest.fixture(scope="module")
def add(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("cost")
    return loaded(compiled(sources(SOURCES), "_cost_ext", home))


def costs(path: Path) -> list[dict[str, Any]]:
    return [one["cost"] for line in path.read_text().splitlines() if "cost" in (one := json.loads(line))]


def test_a_vector_add_costs_what_its_source_says(
    add: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
    x, y = torch.randn(ELEMENTS), torch.randn(ELEMENTS)
    assert torch.equal(add.run(x, y, CORES), x + y)
    (cost,) = costs(report)
    tiles, size = ELEMENTS // TILE, ELEMENTS * 4
    assert (cost["kernel"], cost["launches"], cost["cores"]) == ("add_custom", 1, CORES)
    assert cost["moved"] == {"gm>ub": 2 * size, "ub>gm": size}
    assert cost["copies"] == 3 * tiles
    assert (cost["vector_calls"], cost["vector_repeats"]) == (tiles, size // 256)
    assert (cost["cube_calls"], cost["cube_steps"], cost["scalars"]) == (0, 0, 0)
    busiest = cost["busiest"]
    # Every core does an eighth; a 910B's vector core has 16 bytes of global memory a cycle.
    assert busiest["pipes"] == {
        "V": size // 256 // CORES,
        "MTE2": 2 * size // CORES // 16,
        "MTE3": size // CORES // 16,
    }
    assert busiest["cycles"] == max(busiest["pipes"].values())
    assert busiest["serial"] == sum(busiest["pipes"].values())


def test_lines_of_many_launches_add_up(add: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
    x = torch.randn(CORES * TILE)
    for _ in range(1024):
        add.run(x, x, CORES)
    # One launch was before these: its line is elsewhere, and the 1,025th waits for the next doubling.
    found = costs(report)
    assert len(found) < 300
    launches = sum(one["launches"] for one in found)
    assert launches in (1023, 1024)
    assert sum(one["copies"] for one in found) == launches * 3 * CORES

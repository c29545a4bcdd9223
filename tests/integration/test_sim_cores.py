"""Cores, cross-core waits, races, the shadow of local memory, and flags, on real kernels compiled once."""

import os
from pathlib import Path
from types import ModuleType

import pytest
import torch

from npu_worker.sim.report import read_report
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "cores"
SHADOWED, CROSSED, PIPED = 0, 1, 2
MIXED, TYPED, CUBE_ONLY = 0, 1, 2


@pytest.fixture(scope="module")
def cores(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("cores")
    return loaded(compiled(sources(KERNELS), "_sim_cores_ext", work))


class Bench:
    """Runs one kernel and keeps what the simulator said."""

    def __init__(self, cores: ModuleType, directory: Path) -> None:
        self.cores = cores
        self.report = directory / "report.jsonl"
        os.environ["OPMEND_SIM_REPORT"] = str(self.report)

    def vector(self, kernel: int, what: int, blocks: int = 1, size: int = 1024) -> torch.Tensor:
        return self._run("vector", kernel, what, blocks, size)

    def mix(self, kernel: int, what: int, blocks: int = 2, size: int = 1024) -> torch.Tensor:
        return self._run("mix", kernel, what, blocks, size)

    def _run(self, group: str, kernel: int, what: int, blocks: int, size: int) -> torch.Tensor:
        self.report.unlink(missing_ok=True)
        run = getattr(self.cores, group)
        x = torch.arange(256, dtype=torch.float32)
        result: torch.Tensor = run(x, kernel, blocks, what, size)
        return result

    @property
    def rules(self) -> list[str]:
        return sorted(finding.rule for finding in read_report(self.report))

    @property
    def messages(self) -> str:
        return " | ".join(finding.message for finding in read_report(self.report))


@pytest.fixture
def bench(cores: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("OPMEND_SIM_REPORT", "")
    return Bench(cores, tmp_path)


def rows(out: torch.Tensor, count: int, width: int) -> list[list[float]]:
    return [out[16 * row : 16 * row + width].tolist() for row in range(count)]


# --- MIX kernels ---


@proves("cores/mix.cpp", "GetSubBlockIdx GetTaskRation ASCEND_IS_AIC")
def test_a_mix_block_is_one_cube_core_and_its_vector_cores(bench: Bench) -> None:
    out = bench.mix(MIXED, 0)
    assert rows(out, 4, 4) == [[2, 0, 0, 2], [2, 1, 1, 2], [2, 2, 0, 2], [2, 3, 1, 2]]
    assert rows(out[64:], 2, 4) == [[1, 0, 0, 1], [1, 1, 0, 1]]
    assert bench.rules == []


@proves("cores/mix.cpp", "KERNEL_TASK_TYPE_DEFAULT")
def test_a_kernel_says_its_task_type_itself(bench: Bench) -> None:
    out = bench.mix(TYPED, 0)
    assert rows(out, 2, 4) == [[2, 0, 0, 1], [2, 1, 0, 1]]
    assert rows(out[64:], 2, 4) == [[1, 0, 0, 1], [1, 1, 0, 1]]
    out = bench.mix(CUBE_ONLY, 0, blocks=3)
    assert rows(out[96:], 3, 4) == [[1, 0, 0, 1], [1, 1, 0, 1], [1, 2, 0, 1]]
    assert not out[:96].any()
    assert bench.rules == []


@proves("cores/mix.cpp", "CrossCoreSetFlag CrossCoreWaitFlag AIC ASCEND_IS_AIV")
def test_cross_core_flags_order_a_block(bench: Bench) -> None:
    out = bench.mix(MIXED, 1, blocks=3)
    # 1, then (1 + 0) + (1 + 1) = 3, then 3 + 4 = 7; the AIVs' last round adds 0 and 1
    for block in range(3):
        assert [out[block * 64 + i].item() for i in (0, 16, 32)] == [7, 7, 8]
    assert bench.rules == []


def test_cross_core_flags_of_all_and_of_a_block_and_sync_all_of_both_kinds(bench: Bench) -> None:
    assert rows(bench.mix(MIXED, 3), 6, 2) == [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 1]]
    assert bench.rules == []
    assert rows(bench.mix(MIXED, 4), 4, 3) == [[1, 2, 3], [2, 1, 4], [3, 4, 1], [4, 3, 2]]
    assert bench.rules == []


def test_a_wait_without_a_set_is_a_hang_that_names_who_waits(bench: Bench) -> None:
    with pytest.raises(RuntimeError, match=r"^cross-core-hang: .*AIV 0 waits for cross-core flag 5"):
        bench.mix(MIXED, 2)
    assert bench.rules == ["cross-core-hang"]
    with pytest.raises(
        RuntimeError, match=r"^cross-core-hang: .*AIV 2 waits for cross-core flag 7 \(kernel/vector.cpp:"
    ):
        bench.vector(CROSSED, 13, blocks=3)


def test_vector_code_on_a_cube_core_has_no_effect(bench: Bench) -> None:
    out = bench.mix(MIXED, 5)
    assert torch.equal(out[:64], torch.full((64,), 3.0))
    assert bench.rules == []
    assert not bench.mix(CUBE_ONLY, 1).any()
    assert bench.rules == ["wrong-core"]


def test_reading_what_the_other_kind_wrote_without_a_flag_is_a_race(bench: Bench) -> None:
    bench.mix(MIXED, 6)
    assert set(bench.rules) == {"cross-core-race"}


# --- the shadow ---


@pytest.mark.parametrize(
    ("what", "found"),
    [
        (0, []),
        (1, ["read-never-written"]),
        (2, ["read-never-written"]),
        (3, ["read-never-written"]),
        (4, ["read-never-written"]),
        (5, []),
        (6, ["read-never-written"]),
        (7, ["read-never-written"]),
        (8, []),
        (9, []),
        (10, ["read-never-written"]),
        (11, ["read-never-written"]),
        (12, []),
        (13, ["read-never-written"]),
        (14, []),
        (15, []),
        (18, []),
        (19, ["read-never-written"]),
    ],
)
def test_unwritten_memory_is_found_where_it_becomes_visible(
    bench: Bench, what: int, found: list[str]
) -> None:
    bench.vector(SHADOWED, what)
    assert bench.rules == found


def test_a_finding_counts_the_bytes_and_names_the_buffer(bench: Bench) -> None:
    bench.vector(SHADOWED, 1)
    assert "32 of 64 bytes were never written, the first is byte 32 (byte 32 of its buffer)" in bench.messages
    text = bench.report.read_text()
    assert '"buffer": "VECCALC, 1024 bytes, InitBuffer at kernel/vector.cpp:' in text
    assert '"core": "AIV 0"' in text
    assert '"mend": "write the whole range first' in text


def test_a_position_has_few_live_tensors_and_a_kernel_few_buffers(bench: Bench) -> None:
    bench.vector(SHADOWED, 20)
    assert bench.rules == ["queue-live-tensors"]
    assert "9 tensors of VECIN are in use at a time" in bench.messages
    bench.vector(SHADOWED, 22)
    assert bench.rules == ["buffer-count"]


def test_buffers_of_any_memory_and_pools_have_limits(bench: Bench) -> None:
    assert bench.vector(SHADOWED, 21)[:16].tolist() == [3.0] * 16
    assert bench.rules == []
    assert bench.vector(SHADOWED, 15)[:16].tolist() == [2.0] * 16
    assert bench.vector(SHADOWED, 18)[0] == 1
    with pytest.raises(RuntimeError, match=r"^ub-overflow: .*TBufPool of 512"):
        bench.vector(SHADOWED, 16)
    with pytest.raises(RuntimeError, match=r"^l1-overflow: "):
        bench.vector(SHADOWED, 17)


def test_strict_mode_stops_at_the_first_violation(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPMEND_SIM_STRICT", "1")
    with pytest.raises(RuntimeError, match=r"^read-never-written: "):
        bench.vector(SHADOWED, 1)
    bench.vector(SHADOWED, 0)


# --- cores in global memory ---


@pytest.mark.parametrize(
    ("what", "found"),
    [
        (0, []),
        (1, ["cross-core-overlap"]),
        (2, []),
        (3, []),
        (4, ["cross-core-race"]),
        (5, ["cache-line-shared"]),
        (6, []),
        (7, []),
        (8, ["cross-core-overlap"]),
        (9, []),
        (10, ["cross-core-overlap"]),
        (11, []),
        (12, []),
        (14, []),
        (15, ["cross-core-overlap", "cross-core-race"]),
        (16, ["cross-core-overlap"]),
    ],
)
@pytest.mark.parametrize("order", ["", "reverse", "seed:7"])
def test_what_cores_do_to_each_other_in_global_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, what: int, found: list[str], order: str
) -> None:
    monkeypatch.setenv("OPMEND_SIM_ORDER", order)
    bench.vector(CROSSED, what, blocks=4)
    assert sorted(set(bench.rules)) == found


@proves("cores/vector.cpp", "IBSet IBWait")
def test_an_overlap_names_both_cores_and_the_bytes(bench: Bench) -> None:
    bench.vector(CROSSED, 1, blocks=2)
    assert "AIV 0 and AIV 1 both write bytes 32 to 64 of a storage of 4096" in bench.messages
    bench.vector(CROSSED, 12, blocks=4)
    assert bench.vector(CROSSED, 12, blocks=4)[[16, 32, 48]].tolist() == [1, 1, 1]


@proves("cores/vector.cpp", "InitDetermineComputeWorkspace WaitPreBlock NotifyNextBlock")
def test_turns_go_by_block_whatever_the_order(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ((0 * 2 + 1) * 2 + 2) * 2 + 3
    for order in ("", "reverse", "seed:1"):
        monkeypatch.setenv("OPMEND_SIM_ORDER", order)
        assert bench.vector(CROSSED, 11, blocks=4)[0] == expected


def test_the_order_of_cores_can_be_chosen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that depends on the order differs, and every order is a repeatable one."""
    results = {}
    for order in ("", "reverse", "seed:1", "seed:2"):
        monkeypatch.setenv("OPMEND_SIM_ORDER", order)
        results[order] = bench.vector(CROSSED, 15, blocks=4)[0].item()
        assert bench.vector(CROSSED, 15, blocks=4)[0].item() == results[order]
    assert results[""] == 11
    assert results["reverse"] == ((3 * 2 + 2) * 2 + 1) * 2 + 0
    monkeypatch.setenv("OPMEND_SIM_ORDER", "sideways")
    with pytest.raises(RuntimeError, match="order-unknown"):
        bench.vector(CROSSED, 0)


def test_a_loop_without_an_end_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPMEND_SIM_STEPS", "100000")
    with pytest.raises(RuntimeError, match=r"^endless-loop: .*kernel/vector.cpp:\d+"):
        bench.vector(CROSSED, 17)
    assert bench.rules == ["endless-loop"]


# --- flags between pipes ---


@proves("cores/vector.cpp", "FetchEventID HardEvent")
@pytest.mark.parametrize(
    ("what", "found"),
    [
        (0, []),
        (1, ["missing-sync"]),
        (2, ["missing-sync"]),
        (3, ["missing-sync"]),
        (4, ["flag-unpaired"]),
        (5, ["flag-never-set"]),
        (6, ["flag-set-twice"]),
        (9, []),
        (10, []),
        (11, []),
        (12, []),
        (13, []),
        (14, []),
    ],
)
def test_pipes_that_touch_one_buffer(bench: Bench, what: int, found: list[str]) -> None:
    bench.vector(PIPED, what)
    assert bench.rules == found


@proves("cores/vector.cpp", "AllocEventID")
@pytest.mark.parametrize(("what", "rule"), [(7, "flag-id"), (8, "flag-exhausted")])
def test_event_ids_have_limits(bench: Bench, what: int, rule: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{rule}: "):
        bench.vector(PIPED, what)


def test_a_missing_flag_names_both_pipes_and_places(bench: Bench) -> None:
    bench.vector(PIPED, 1)
    assert "Adds (pipe V) " in bench.messages
    assert "what DataCopy (pipe MTE2) (kernel/vector.cpp:" in bench.messages
    bench.vector(PIPED, 4)
    assert "SetFlag V_MTE3 (event id 0)" in bench.messages

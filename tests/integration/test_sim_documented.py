"""Numbers that the public documentation of AscendC prints: tests/kernels/documented/blocks.toml, block by block."""

import re
import tomllib
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from npu_worker.sim.report import read_report
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves
from tests.support.sim_vector import Array, as_torch, steps_apart

KERNELS = Path(__file__).parent.parent / "kernels" / "documented"
TABLE = tomllib.loads((KERNELS / "blocks.toml").read_text("utf-8"))
TYPES: dict[str, Any] = {"float": np.float32, "half": np.float16, "int16_t": np.int16}
AREAS = (20480, 4096, 4096, 4096)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    files = {name: text for name, text in sources(KERNELS).items() if not name.endswith(".toml")}
    return loaded(compiled(files, "_sim_documented_ext", tmp_path_factory.mktemp("documented")))


def words(text: str) -> list[str]:
    """The numbers of a text, as printed: V*N is V N times, A:B:STEP is a range."""
    found: list[str] = []
    for word in text.split():
        value, _, times = word.partition("*")
        if ":" in value:
            found += [str(number) for number in range(*map(int, value.split(":")))]
        else:
            found += [value] * int(times or 1)
    return found


def slack(word: str) -> float:
    """Half a unit of a printed number's last digit; 0 for an integer. NumPy prints `0.` for what is 0 in 8 digits."""
    if re.fullmatch(r"-?\d+|-?inf|nan", word):
        return 0.0
    if word.endswith("."):
        return 0.5e-8
    exponent = Decimal(word).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


def placed(arrays: list[Array], sizes: tuple[int, ...]) -> Array:
    """Arrays as bytes, each at the start of its area; what is left is 0."""
    areas = [np.zeros(size, np.uint8) for size in sizes]
    for area, array in zip(areas, arrays, strict=False):
        raw = np.frombuffer(array.tobytes(), np.uint8)
        area[: raw.size] = raw
    return np.concatenate(areas)


def as_printed(actual: Array, printed: list[str], steps: int, within: float = 0.0) -> None:
    """Each element is what is printed, or so near that it would be printed so."""
    exact = np.array([float(word) for word in printed])
    known = exact.astype(actual.dtype)
    with np.errstate(invalid="ignore"):
        away = np.abs(actual.astype(np.float64) - exact)
    room = np.array([slack(word) * 1.0001 + (within if slack(word) else 0.0) for word in printed])
    if actual.dtype.kind == "f":
        near = steps_apart(actual, known) <= np.where(room > 0, steps, 0)
        near |= (actual == 0) & (known == 0)  # some pages print -0, some do not
    else:
        near = actual == known
    wrong = np.flatnonzero(~(near | (away <= room)))
    assert not wrong.size, [(int(at), float(actual[at]), printed[at]) for at in wrong[:8]]


@proves("documented/calls.cpp", "ReduceAny ReduceAll ReduceXorSum BroadCast SelectWithBytesMask")
@pytest.mark.parametrize("block", TABLE["block"], ids=lambda block: block["page"])
def test_a_printed_block(
    documented: ModuleType, block: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
    calls = [line.split() for line in documented.calls()]
    number = calls.index([block["call"], block["type"]])
    kind = TYPES[block["type"]]
    inputs = [np.array([float(word) for word in words(text)]).astype(kind) for text in block["in"]]
    if block.get("codes"):
        inputs[0] = inputs[0].astype(np.int8)
    if "flags" in block:
        inputs.append(np.array([int(word) for word in words(block["flags"])], np.uint8))
    before = np.array([float(word) for word in words(block.get("before", ""))]).astype(kind)
    source, result = placed(inputs, AREAS), placed([before], (4096, 4096, 4096))
    used = block.get("used", inputs[0].size if inputs else 0)
    documented.run(
        as_torch(source),
        as_torch(result),
        number,
        block.get("m", 0),
        block.get("k", 0),
        used,
        block.get("scalar", 0.0),
        block.get("epsilon", 0.0),
    )
    assert read_report(report) == ()
    steps = block.get("steps", 1 if kind is np.float16 else 2)
    for area, text in enumerate(block["out"]):
        printed = words(text)
        shown = result[4096 * area : 4096 * (area + 1)].view(np.int8 if block.get("bytes") else kind)
        first = block.get("at", 0)
        as_printed(shown[first : first + len(printed)].copy(), printed, steps, block.get("within", 0.0))


@proves("documented/calls.cpp", "Xor")
def test_xor_whose_page_is_wrong(documented: ModuleType) -> None:
    x, y = np.random.default_rng(1).integers(-(2**15), 2**15, (2, 2000)).astype(np.int16)
    source, result = placed([x, y], AREAS), placed([], (4096, 4096, 4096))
    documented.run(
        as_torch(source), as_torch(result), documented.calls().index("Xor int16_t"), 0, 0, 2000, 0.0, 0.0
    )
    assert np.array_equal(result[:4000].view(np.int16), x ^ y)


def test_every_block_names_its_page_and_every_wrong_one_its_reason() -> None:
    pages = [block["page"] for block in TABLE["block"]]
    assert len(set(pages)) == len(pages)
    assert len(pages) >= 70
    assert all(entry["page"] and entry["reason"] for entry in TABLE["wrong"])


@pytest.mark.parametrize(
    ("actual", "printed", "right"),
    [(0.12346, "0.1235", True), (0.1236, "0.1235", False), (2.0, "2", True), (2.0000002, "2", False)],
)
def test_a_number_is_what_is_printed_or_would_be_printed_so(actual: float, printed: str, right: bool) -> None:
    array = np.array([actual], np.float32)
    if right:
        as_printed(array, [printed], 0)
    else:
        with pytest.raises(AssertionError):
            as_printed(array, [printed], 0)

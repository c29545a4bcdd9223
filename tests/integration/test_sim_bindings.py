"""The simulator's binding layer, held to pybind11 itself: one source with both, the same calls, the same outcomes."""

import gc
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from npu_worker.toolchains import Build, SimToolchain
from tests.support.extension import compiled, loaded, sources

DIRECTORY = Path(__file__).parent.parent / "kernels" / "bindings"
#: Another name for the namespace: the toolchain can't follow it, and takes pybind11.
FULL = "namespace whole = pybind11;\n"


class Index:
    def __index__(self) -> int:
        return 7


class Int:
    def __int__(self) -> int:
        return 7


class Float:
    def __float__(self) -> float:
        return 7.5


class Failing:
    def __index__(self) -> int:
        raise ValueError("no index")

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: int) -> int:
        raise KeyError(at) if at else IndexError(at)


VALUES: tuple[object, ...] = (
    *(True, False, None, 0, 1, -1, 127, 128, -129, 255, 256, 65535, 65536),
    *(2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1),
    *(0.0, 1.0, 1.5, -0.5, 1e300, float("inf"), 1j, Decimal("1.5"), Fraction(3, 2)),
    *("", "text", "é", "nul\0inside", "\ud800", b"bytes", b"\xff", bytearray(b"ab")),
    *(
        (),
        [],
        [1, 2],
        (1, 2),
        [1, 2, 3],
        [1.5, 2],
        ["a", "b"],
        [None],
        [True, False],
        [[1], [2, 3]],
        [[1, 2], "ab"],
    ),
    *(("a", 1), (1, 2.5), [3, 4.5], {1, 2}, frozenset({"a"}), {"a": 1}, {1: 2.5}, {"a": "b"}, range(3)),
    *(Index(), Int(), Float(), Failing(), object(), int, len),
    *(
        np.int32(3),
        np.uint64(2**63),
        np.float32(1.5),
        np.float64(2.5),
        np.bool_(True),
        np.arange(3),
        np.ones(2),
    ),
    *(torch.tensor(3), torch.tensor(1.5), torch.tensor(True), torch.arange(3), torch.ones(2), torch.ones(0)),
    *([torch.ones(2, 3)], (torch.ones(1), torch.ones(2)), torch.Size([4, 5])),
    *(torch.float16, torch.int64, torch.complex64, torch.device("cpu")),
)
#: Values that are used up by a call are made for each.
MADE: tuple[Callable[[], object], ...] = (
    lambda: (n for n in (1, 2)),
    lambda: iter([1, 2]),
    lambda: map(int, "12"),
    lambda: zip("a", "b", strict=True),
    {"a": 1}.keys,
    {1: 2}.values,
)
CALLS: tuple[tuple[str, tuple[object, ...], dict[str, object]], ...] = (
    ("named", (torch.ones(2),), {}),
    ("named", (torch.ones(2), 4, True, torch.ones(1), "m"), {}),
    ("named", (torch.ones(2),), {"mode": "m", "n": 5}),
    ("named", (), {"bias": torch.ones(1), "x": torch.ones(3), "flag": True}),
    ("named", (), {}),
    ("named", (torch.ones(2), 1.5), {}),
    ("named", (torch.ones(2),), {"x": torch.ones(2)}),
    ("named", (torch.ones(2),), {"other": 1}),
    ("named", (torch.ones(2), 1, True, None, "m", 6), {}),
    ("named", (None,), {}),
    ("strict", (1.5, torch.ones(1)), {}),
    ("strict", (1, torch.ones(1)), {}),
    ("strict", (Float(), torch.ones(1)), {}),
    ("strict", (1.5, None), {}),
    ("strict", (1.5,), {"x": torch.ones(1)}),
    ("strict", (1.5,), {}),
    ("typed", (), {}),
    ("typed", (torch.float32,), {"dims": (1,)}),
    ("typed", ("float32",), {}),
    ("over", (1,), {}),
    ("over", (1.5,), {}),
    ("over", (True,), {}),
    ("over", ("s",), {}),
    ("over", (torch.ones(3),), {}),
    ("over", (torch.tensor(3),), {}),
    ("over", ([1, 2],), {}),
    ("over", ((1, 2.5), False), {}),
    ("over", ([1],), {"flag": 1}),
    ("over", (), {"values": [1.5]}),
    ("over", (None,), {}),
    ("over", (Index(),), {}),
    ("over", (Int(),), {}),
    ("over", (Float(),), {}),
    ("over", (np.float32(2),), {}),
    ("over", (Decimal("2.5"),), {}),
    ("over", (2**64,), {}),
    ("over", (), {}),
    ("twice", (3,), {}),
    ("twice", (1.5,), {}),
    ("twice", (Index(),), {}),
    ("twice", ("s",), {}),
    ("many", tuple(range(14)), {}),
    ("many", tuple(range(13)), {}),
    ("many", tuple(range(15)), {}),
    ("counted", (0,), {}),
    ("counted", (), {"by": 2}),
    ("sizes", ([torch.ones(2, 3)],), {}),
    ("sizes", ([torch.ones(2), None],), {}),
    ("sizes", ([],), {}),
    ("tensors", ((torch.ones(2), torch.zeros(1)),), {}),
    ("tensors", (torch.ones(2, 2),), {}),
    ("tensors", ([1],), {}),
    ("pair_of", (torch.ones(2),), {}),
    ("undefined", (), {}),
    ("nothing", (), {}),
    ("nothing", (1,), {}),
    ("no_text", (), {}),
    ("broken_text", (), {}),
    ("changed", (torch.ones(2),), {}),
    ("taken", ([1, 2],), {}),
    ("built", ([1, "x"], ("a", 2)), {}),
    ("built", ([], (3, 2)), {}),
    ("built", ([], (3,)), {}),
    ("built", ([], (3, "x")), {}),
    ("built", ((), (3, 2)), {}),
    ("released", (4,), {}),
    ("released", (1,), {}),
    ("inside", (lambda n: n + 1,), {}),
    ("inside", (lambda n: "text",), {}),
    ("inside", (lambda n: {}[n],), {}),
    ("caught", (lambda a, b: {}[b],), {}),
    ("caught", (lambda a, b: a + b,), {}),
    ("caught", (lambda a, b: a,), {}),
    ("caught", (3,), {}),
    *(("thrown", (which,), {}) for which in range(20)),
)


def build(files: dict[str, str], work: Path, name: str = "_bound_ext") -> Build:
    work.mkdir(exist_ok=True)
    return SimToolchain().compile(files, workdir=work, extension_name=name, timeout=280)


def is_light(library: Path) -> bool:
    """Whether nothing of pybind11's own dispatcher is in it."""
    return b"pybind11_internals" not in library.read_bytes()


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    library = compiled(sources(DIRECTORY), "_light_ext", tmp_path_factory.mktemp("light"))
    assert is_light(library)
    return loaded(library)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    files = sources(DIRECTORY)
    files["kernel/pybind11.cpp"] += FULL
    library = compiled(files, "_full_ext", tmp_path_factory.mktemp("full"))
    assert not is_light(library)
    return loaded(library)


def plain(value: object) -> object:
    """A result as something that compares: types and values, tensors by their lists."""
    if isinstance(value, torch.Tensor):
        return ("tensor", str(value.dtype), value.tolist())
    if isinstance(value, list | tuple):
        return (type(value).__name__, [plain(one) for one in value])
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    # An object that is not the same one, made for each of two calls, has its address in its words.
    return (type(value).__name__, repr(value).partition(" at 0x")[0])


def outcome(function: Callable[..., object], *arguments: object, **words: object) -> object:
    try:
        return plain(function(*arguments, **words))
    except Exception as error:  # noqa: BLE001 - which error is what is compared
        return type(error).__name__


def echoes() -> Iterator[tuple[str, Callable[[], object]]]:
    for line in (DIRECTORY / "pybind11.cpp").read_text().splitlines():
        if line.startswith("    ECHO("):
            name = "echo_" + line.removeprefix("    ECHO(").partition(",")[0]
            for value in VALUES:
                yield name, lambda value=value: value  # type: ignore[misc]
            for make in MADE:
                yield name, make


@pytest.mark.slow  # pybind11's own build of the same source takes 20 s
def test_every_argument_type_takes_and_gives_what_pybind11_does(light: ModuleType, full: ModuleType) -> None:
    compared, different = 0, []
    for name, make in echoes():
        ours, theirs = outcome(getattr(light, name), make()), outcome(getattr(full, name), make())
        compared += 1
        if ours != theirs:
            different.append((name, repr(make()), ours, theirs))
    assert not different, different[:20]
    assert compared > 3000


@pytest.mark.slow  # pybind11's own build of the same source takes 20 s
def test_keywords_defaults_overloads_and_exceptions_are_pybind11s(
    light: ModuleType, full: ModuleType
) -> None:
    different = [
        (name, arguments, words, ours, theirs)
        for name, arguments, words in CALLS
        if (ours := outcome(getattr(light, name), *arguments, **words))
        != (theirs := outcome(getattr(full, name), *arguments, **words))
    ]
    assert not different, different


def test_a_refused_call_says_what_is_taken_and_what_was_given(light: ModuleType) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments") as caught:
        light.named(torch.ones(2), 1.5, mode="m")
    text = str(caught.value)
    assert text.startswith("named(): ")
    assert "named(x: torch.Tensor, n: int = 3, flag: bool = False, bias: torch.Tensor | None = None, " in text
    assert text.endswith("It was given: (torch.Tensor, float 1.5, mode=str 'm')")
    with pytest.raises(TypeError) as caught:
        light.over(None, y=b"")
    assert [line.strip() for line in str(caught.value).splitlines()][1:6] == [
        "over(arg0: int) -> str",
        "over(arg0: float) -> str",
        "over(arg0: str) -> str",
        "over(arg0: torch.Tensor) -> str",
        "over(values: list[float], flag: bool = True) -> str",
    ]
    assert str(caught.value).endswith("given: (None, y=bytes)")


def test_errors_keep_their_words(light: ModuleType) -> None:
    for which, words in ((0, "runtime"), (2, "range"), (8, "value"), (13, "which is 13"), (14, "torch")):
        with pytest.raises(Exception, match=f"^{words}$"):
            light.thrown(which)
    with pytest.raises(RuntimeError, match=r"shape '\[5\]' is invalid"):
        light.thrown(16)


@pytest.mark.slow  # pybind11's own build of the same source takes 20 s
def test_a_module_has_its_attributes_documentation_and_parts(light: ModuleType, full: ModuleType) -> None:
    for module in (light, full):
        assert module.__doc__ == "bindings of all kinds"
        assert (module.tile, module.names) == (2048, ["a", "b"])
        assert module.part.half(3) == 1.5
        assert module.part.__doc__ == "a part"
        assert (module.named.__name__, module.named.__module__) == ("named", module.__name__)
        assert "named parameters" in module.named.__doc__
    assert "over(arg0: str) -> str\n\ntext" in light.over.__doc__


def test_no_reference_is_lost_or_kept(light: ModuleType) -> None:
    x, bias, items, text = torch.ones(2), torch.ones(1), [1, "x"], "some text"
    pair, function, shape = ("a", 2), lambda n: n, [10**9, 2]
    objects = (x, bias, items, text, pair, function, shape, None, True, torch.Tensor, light.named, light.over)

    def calls(count: int) -> None:
        for _ in range(count):
            light.named(x, 4, bias=bias, mode=text)
            light.echo_tensor(x)
            light.echo_maybe_tensor(None)
            light.echo_shape(shape)
            light.echo_object(pair)
            light.echo_map({"a": 1})
            light.built(items, pair)
            light.inside(function)
            light.pair_of(x)
            light.over(x)
            light.caught(function)
            for name, arguments in (("named", (x, 1.5)), ("over", (None,)), ("thrown", (16,))):
                assert outcome(getattr(light, name), *arguments) in ("TypeError", "RuntimeError")

    calls(10)
    gc.collect()
    before = [sys.getrefcount(one) for one in objects]
    blocks = [sys.getallocatedblocks()]
    for _ in range(4):
        calls(300)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    after = [sys.getrefcount(one) for one in objects]
    assert all(abs(now - then) < 50 for now, then in zip(after, before, strict=True))
    # One block kept by one of the calls is 300 more every time; what else happens in this process is not.
    assert min(now - then for then, now in pairwise(blocks)) < 150


PLAIN = """#include <torch/extension.h>
%s
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { %s }
"""


def test_a_source_gets_pybind11_where_the_layer_is_not_enough(tmp_path: Path) -> None:
    """By what it names, by a compile that fails, and never for an error of its own."""
    named = PLAIN % (
        "#include <pybind11/numpy.h>\nstruct Plan { int tiles; };",
        'py::class_<Plan>(m, "Plan").def(py::init<int>()).def_readwrite("tiles", &Plan::tiles);'
        ' m.def("sum", [](py::array_t<float> x, const at::Tensor& y) { return *x.data() + y.numel(); });'
        ' m.def("wrong", [](at::Tensor x) { return x.view({7}); });',
    )
    build_named = build({"kernel/a.cpp": named}, tmp_path / "named", "_named_ext")
    assert build_named.binary is not None, build_named.compilation.log
    (tmp_path / "_named_ext.so").write_bytes(build_named.binary)
    module = loaded(tmp_path / "_named_ext.so")
    assert module.Plan(3).tiles == 3
    assert module.sum(np.float32([1.5]), torch.ones(2)) == 3.5
    with pytest.raises(RuntimeError, match=r"shape '\[7\]' is invalid"):  # torch's own, through pybind11
        module.wrong(torch.ones(2))

    failing = PLAIN % ("", 'm.def("text", [](int n) { return py::str("{} tiles").format(n); });')
    build_failing = build({"kernel/a.cpp": failing}, tmp_path / "failing", "_failing_ext")
    assert build_failing.binary is not None, build_failing.compilation.log
    (tmp_path / "_failing_ext.so").write_bytes(build_failing.binary)
    assert loaded(tmp_path / "_failing_ext.so").text(4) == "4 tiles"

    wrong = PLAIN % ("", 'm.def("text", [](int n) { return n + undeclared; });')
    found = build({"kernel/a.cpp": wrong}, tmp_path / "wrong").compilation
    assert not found.ok
    assert {(one.file, one.line) for one in found.findings} == {("kernel/a.cpp", 3)}
    assert "undeclared" in found.findings[0].message
    assert "opmend_light" not in found.log


def test_a_source_with_pybind11_alone_gets_the_layer(tmp_path: Path) -> None:
    text = "#include <pybind11/pybind11.h>\nnamespace py = pybind11;\nPYBIND11_MODULE(_plain_ext, m) {\n"
    text += 'm.def("add", [](int a, int b) { return a + b; }, py::arg("a"), py::arg("b") = 2);\n}\n'
    library = compiled({"kernel/plain.cpp": text}, "_plain_ext", tmp_path)
    assert is_light(library)
    assert loaded(library).add(b=3, a=4) == 7

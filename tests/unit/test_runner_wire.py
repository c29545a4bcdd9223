"""The format that crosses the wall of the sandbox: what goes in comes out, and nothing malformed gets through."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from npu_worker.runner import poison, wire
from npu_worker.sim.report import parse_report

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool", "complex64")
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5))


@st.composite
def tensors(draw):
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    return torch.randint(0, 2, shape, generator=generator).to(dtype)


values = st.recursive(
    st.one_of(scalars, tensors()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=8,
)


def same(left, right):
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and left.shape == right.shape and torch.equal(left, right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return left == right or (isinstance(left, float) and math.isnan(left) and math.isnan(right))


@given(values)
def test_what_is_described_is_rebuilt(value):
    payload = []
    tree = wire.describe(value, payload, most_bytes=1 << 20)
    frame = b"".join(wire.pack({"value": tree}, payload))
    header, raw = wire.unpack(frame, most_payload=1 << 20)
    assert same(wire.rebuild(header["value"], raw), value)


def test_views_and_strides_cross_as_values_and_own_their_memory():
    base = torch.arange(12.0).reshape(3, 4)
    for view in (base.t(), base[:, 1:3], base[0].expand(2, 4), torch.complex(base, base).conj()):
        payload = []
        tree = wire.describe(view, payload, most_bytes=1 << 20)
        raw = b"".join(payload)
        rebuilt = wire.rebuild(tree, raw)
        assert torch.equal(rebuilt, view)
        assert rebuilt.is_contiguous()


@given(values, st.data())
def test_a_damaged_frame_is_refused_or_read_but_never_worse(value, data):
    payload = []
    frame = bytearray(
        b"".join(wire.pack({"value": wire.describe(value, payload, most_bytes=1 << 20)}, payload))
    )
    for _ in range(data.draw(st.integers(1, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    try:
        header, raw = wire.unpack(frame, most_payload=1 << 20)
        wire.rebuild(header.get("value"), raw)
    except wire.WireError:
        pass


@pytest.mark.parametrize(
    "tree",
    [
        None,
        {},
        {"kind": "tensor"},
        {"kind": "tensor", "dtype": "float32", "shape": [1 << 40], "offset": 0, "bytes": 1 << 42},
        {"kind": "tensor", "dtype": "float32", "shape": [2], "offset": 4, "bytes": 8},
        {"kind": "tensor", "dtype": "float32", "shape": [2], "offset": 0, "bytes": 4},
        {"kind": "tensor", "dtype": "float32", "shape": [-2], "offset": 0, "bytes": 8},
        {"kind": "tensor", "dtype": "Tensor", "shape": [2], "offset": 0, "bytes": 8},
        {"kind": "tensor", "dtype": "float32", "shape": [True], "offset": 0, "bytes": 4},
        {"kind": "int", "value": "9" * 5000},
        {"kind": "int", "value": "x"},
        {"kind": "float", "value": "0x1p99999"},
        {"kind": "dtype", "value": "load"},
        {"kind": "list", "items": [{"kind": "none"}] * 5000},
        {"kind": "dict", "items": [["a"]]},
    ],
)
def test_a_tree_that_lies_is_refused(tree):
    with pytest.raises(wire.WireError):
        wire.rebuild(tree, bytes(8))


def test_deep_large_and_strange_values_are_refused():
    deep = []
    for _ in range(50):
        deep = [deep]
    for value in (deep, [0] * 5000, object(), torch.zeros(300), torch.zeros(2).to_sparse(), {1: 2}):
        with pytest.raises(wire.WireError):
            wire.describe(value, [], most_bytes=1000)


def test_bytes_that_are_no_bool_become_true():
    tree = {"kind": "tensor", "dtype": "bool", "shape": [3], "offset": 0, "bytes": 3}
    assert wire.rebuild(tree, b"\x00\x01\xc1").tolist() == [False, True, True]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_canary_fills_every_dtype_and_is_no_number_in_the_three_main_ones(dtype):
    for tensor in (
        torch.zeros(3, 5, dtype=getattr(torch, dtype)),
        torch.zeros((), dtype=getattr(torch, dtype)),
    ):
        before = tensor.clone()
        assert poison.fill(tensor) is tensor
        assert not torch.equal(tensor, before)
        if dtype in ("float16", "bfloat16", "float32"):
            assert tensor.isnan().all()


def test_a_report_is_read_with_its_bounds():
    lines = ['{"rule": "a", "message": "m", "count": 2}'] * 3 + [
        "[]",
        "{",
        '{"rule": 3}',
        '{"rule": "odd", "severity": "odd"}',
        '{"rule": "b", "message": 7, "line": 3, "count": -1}',
    ]
    first, second = parse_report("\n".join(lines)).findings
    assert (first.rule, first.count) == ("a", 6)
    assert (second.rule, second.severity, second.count) == ("b", "violation", 1)
    cost = (
        '{"cost": {"kernel": "k", "soc": "S", "launches": 2, "cores": 8, "scalars": -1, "moved": {"gm>ub": 64}, '
        '"busiest": {"cycles": 10, "serial": 15, "pipes": {"V": 5, "MTE2": 10}}, "rates": "guess"}}'
    )
    costs = parse_report("\n".join([cost, '{"cost": 3}', cost])).costs
    assert costs is not None
    assert (costs.soc, costs.launches, costs.total, costs.moved) == ("S", 4, {"cores": 16}, {"gm>ub": 128})
    assert (costs.pipes, costs.cycles, costs.serial, costs.guessed) == ({"V": 10, "MTE2": 20}, 20, 30, True)
    assert len(parse_report("\n".join(f'{{"rule": "r{i}"}}' for i in range(999))).findings) == 200

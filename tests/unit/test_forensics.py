"""Forensics: each kind of bug, made on arrays, is called by its name."""

import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_worker.compare import compare_case
from npu_worker.forensics import HINTS, analyse, observe, sample_output
from npu_worker.forensics.divisor import explain_ratio
from npu_worker.forensics.observe import find_signs
from npu_worker.tolerance import profile_named
from schema.cases import AbsentInput, AttributeInput, Case, TensorInput

MERE_MARE = profile_named("mere_mare")
POISON = {
    torch.float32: lambda n: torch.full((n,), 0x7FC17FC1, dtype=torch.int32).view(torch.float32),
    torch.float16: lambda n: torch.full((n,), 0x7FC1, dtype=torch.int16).view(torch.float16),
}


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def case_of(*shapes, dtype="float32", absent=(), **attributes):
    tensors = [TensorInput(name=f"x{place}", dtype=dtype, shape=shape) for place, shape in enumerate(shapes)]
    left_out = [AbsentInput(name=name) for name in absent]
    plain = [
        AttributeInput(name=name, dtype=type(value).__name__, value=value)
        for name, value in attributes.items()
    ]
    return Case(inputs=(*tensors, *left_out, *plain))


def seen(expected, actual, case=None, *, index=0):
    case = case or case_of(tuple(expected.shape), dtype=str(expected.dtype).removeprefix("torch."))
    return observe(compare_case(expected, actual, profile=MERE_MARE), case, index=index)


def hint(expected, actual):
    """Main class, all classes and evidence of one failing output, by its leading signs."""
    observation = seen(expected, actual)
    assert not observation.passed
    forensics = analyse([observation])
    assert forensics.hint == forensics.hints[0]
    assert set(forensics.hints) <= set(HINTS)
    assert len(set(forensics.hints)) == len(forensics.hints)
    json.dumps(forensics.evidence, allow_nan=False)
    return forensics


def test_nothing_failed_means_no_forensics():
    x = randn(8)
    assert analyse([]) is None
    assert analyse([seen(x, x.clone())]) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_few_nans_or_infs_are_contamination(bad):
    expected = randn(40, 50)
    actual = expected.clone()
    actual[3, 7] = actual[20, 11] = bad
    found = hint(expected, actual)
    assert found.hint == "nan_inf_contamination"
    assert found.evidence["signs"]["nan_inf_contamination"]["not_finite"] == 2
    assert "2 elements" in found.summary


def test_a_nan_of_the_reference_that_the_kernel_lacks_is_contamination():
    expected = randn(100)
    actual = expected.clone()
    expected[5] = math.nan
    found = hint(expected, actual)
    assert found.hint == "nan_inf_contamination"
    assert "reference is NaN or Inf at 1" in found.summary


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_tail_that_was_never_written_is_a_tail(dtype):
    expected = randn(1000, dtype=dtype)
    actual = expected.clone()
    actual[992:] = POISON[dtype](8)
    found = hint(expected, actual)
    assert found.hint == "tail_spike"
    assert "nan_inf_contamination" in found.hints
    assert found.evidence["never_written"] == 1.0
    assert "never written" in found.summary


def test_an_output_that_was_never_written_at_all():
    expected = randn(64, 64)
    found = hint(expected, POISON[torch.float32](4096).reshape(64, 64))
    assert found.hint == "all_wrong"
    assert found.evidence["never_written"] == 1.0


def test_poison_of_the_harness_can_be_named():
    expected = torch.arange(100, dtype=torch.int32)
    actual = torch.full((100,), 0x5A5A5A5A, dtype=torch.int32)
    comparison = compare_case(expected, actual, profile=MERE_MARE)
    case = case_of((100,), dtype="int32")
    assert "never_written" not in analyse([observe(comparison, case, index=0)]).evidence
    found = analyse([observe(comparison, case, index=0, poison_words=(0x7FC17FC1, 0x5A5A5A5A))])
    assert found.evidence["never_written"] == 1.0


def test_all_wrong_and_its_kinds():
    expected = randn(64, 32)
    assert hint(expected, randn(64, 32, seed=9)).hint == "all_wrong"
    zeros = hint(expected, torch.zeros(64, 32))
    assert zeros.hint == "all_wrong"
    assert zeros.evidence["zeros"] == 1.0
    constant = hint(expected, torch.full((64, 32), 7.0))
    assert constant.hint == "all_wrong"
    assert constant.evidence["constant"] == 7.0
    square = randn(40, 40)
    displaced = hint(square, square.T.contiguous())
    assert displaced.hint == "all_wrong"
    assert displaced.evidence["signs"]["all_wrong"]["displaced"]


def test_uniform_offset():
    expected = randn(500)
    found = hint(expected, expected + 2.5)
    assert found.hint == "uniform_offset"
    assert found.evidence["signs"]["uniform_offset"]["offset"] == pytest.approx(2.5, rel=1e-3)
    assert "all_wrong" in found.hints


def test_a_wrong_divisor_is_read_from_the_factor():
    x = randn(64, 50) + 3
    found = hint_of_case(x.mean(dim=1), x.sum(dim=1) / 64, case_of((64, 50)))
    assert found.hint == "uniform_offset"
    assert found.evidence["signs"]["uniform_offset"]["ratio"] == pytest.approx(50 / 64, rel=1e-3)
    assert "size padded to 64" in found.evidence["factor"]["rules"]
    assert "50/64" in found.summary


def hint_of_case(expected, actual, case):
    return analyse([seen(expected, actual, case)])


def test_a_wrong_divisor_of_scalars_is_read_across_cases():
    observations = []
    for index, length in enumerate((50, 100, 70)):
        x = randn(length, seed=index) + 3
        padded = -(-length // 32) * 32
        observations.append(
            seen(x.mean().reshape(1), (x.sum() / padded).reshape(1), case_of((length,)), index=index)
        )
    found = analyse(observations)
    assert found.hint == "uniform_offset"
    assert found.evidence["factor"]["rules"] == ["size padded to 32"]


def test_readings_of_factors():
    assert explain_ratio(100 / 99, [(100,)], "float32").rules[0] == "size less one"
    assert explain_ratio(100.0, [(100,)], "float32").rules[0] == "missing divisor"
    assert explain_ratio(0.01, [(100,)], "float32").rules[0] == "extra divisor"
    assert explain_ratio(0.7531, [(100,)], "float32") is None
    assert explain_ratio(1000 / 999, [(1000,)], "bfloat16") is None  # too close to 1 to tell


@pytest.mark.parametrize(
    ("dtype", "length"), [(torch.float32, 1003), (torch.float16, 1003), (torch.float16, 4104)]
)
def test_a_tail_of_the_whole_output(dtype, length):
    expected = randn(length, dtype=dtype)
    actual = expected.clone()
    block = 32 // expected.element_size()
    rest = length % block
    actual[length - rest :] = 9
    found = hint(expected, actual)
    assert found.hint == "tail_spike"
    assert found.evidence["signs"]["tail_spike"]["tail"] == rest
    assert found.evidence["signs"]["tail_spike"]["unit"] == "output"


def test_a_tail_of_each_row():
    expected = randn(37, 100)
    actual = expected.clone()
    actual[:, 96:] += 1
    found = hint(expected, actual)
    assert found.hint == "tail_spike"
    sign = found.evidence["signs"]["tail_spike"]
    assert (sign["unit"], sign["tail"], sign["tail_rate"], sign["body_rate"]) == ("row", 4, 1.0, 0.0)
    assert not sign["aligned_32_bytes"] or 100 * 4 % 32 == 0


@pytest.mark.parametrize("tile", [8, 16, 32, 64, 128, 256])
def test_the_remainder_over_each_tile_size(tile):
    length = tile * 7 + tile // 2 + 1
    expected = randn(3, length)
    actual = expected.clone()
    actual[:, tile * 7 :] *= 5
    found = hint(expected, actual)
    assert found.hint == "tail_spike"
    assert found.evidence["signs"]["tail_spike"]["tail"] == tile // 2 + 1


def test_a_tail_of_a_large_tile_that_no_named_size_fits():
    expected = randn(50_000)
    actual = expected.clone()
    actual[49_152:] = 0  # 24 tiles of 2048, then 848 elements
    assert hint(expected, actual).hint == "tail_spike"


@pytest.mark.parametrize(
    ("index", "dimension"), [((2,), 0), ((slice(None), 5), 1), ((slice(None), slice(None), 3), 2)]
)
def test_one_slice_of_a_dimension(index, dimension):
    expected = randn(6, 12, 20)
    actual = expected.clone()
    actual[index] += 4
    found = hint(expected, actual)
    assert found.hint == "dimension_concentration"
    sign = found.evidence["signs"]["dimension_concentration"]
    assert sign["dimension"] == dimension
    assert sign["wrong_slices"] == [5 if dimension == 1 else 2 if dimension == 0 else 3]


def test_every_other_channel():
    expected = randn(4, 16, 30)
    actual = expected.clone()
    actual[:, 1::2] = 0
    found = hint(expected, actual)
    assert found.hint == "dimension_concentration"
    assert found.evidence["signs"]["dimension_concentration"]["period"] == 2


def test_large_values_fail():
    expected = randn(100, 100) * torch.exp(2 * randn(100, 100, seed=1))
    actual = torch.where(expected.abs() > 8, expected.clamp(-8, 8), expected)
    found = hint(expected, actual)
    assert found.hint == "magnitude_correlated"
    assert found.evidence["signs"]["magnitude_correlated"]["magnitude_ratio"] > 3


def test_half_rounding_that_grows_along_a_scan():
    x = torch.rand(16, 2048, generator=torch.Generator().manual_seed(3))
    expected = x.half().float().cumsum(1).half()
    total = torch.zeros(16, dtype=torch.float16)
    steps = []
    for column in x.half().T:
        total = total + column
        steps.append(total)
    found = hint(expected, torch.stack(steps, 1))
    assert found.hint == "magnitude_correlated"
    assert found.evidence["signs"]["magnitude_correlated"]["grows_along"] == 1


def test_borders_of_a_convolution():
    expected = randn(2, 8, 24, 24)
    actual = expected.clone()
    for border in (
        (..., 0, slice(None)),
        (..., -1, slice(None)),
        (..., slice(None), 0),
        (..., slice(None), -1),
    ):
        actual[border] += 2
    found = hint(expected, actual)
    assert found.hint == "boundary_concentration"
    assert found.evidence["signs"]["boundary_concentration"]["borders_of"] == [2, 3]


@pytest.mark.parametrize(("period", "width"), [(2048, 8), (512, 16), (1000, 4)])
@pytest.mark.parametrize("side", ["before", "after"])
def test_seams_between_tiles_or_cores(period, width, side):
    expected = randn(20 * period)
    actual = expected.clone().reshape(20, period)
    actual[:-1, period - width :] += 3 if side == "before" else 0
    actual[1:, :width] += 3 if side == "after" else 0
    found = hint(expected, actual.reshape(-1))
    assert found.hint == "boundary_concentration"
    sign = found.evidence["signs"]["boundary_concentration"]
    assert sign["period"] == period
    assert sign["side"] == side


def test_scattered():
    expected = randn(100, 100)
    wrong = torch.rand(100, 100, generator=torch.Generator().manual_seed(5)) < 0.2
    actual = torch.where(wrong, randn(100, 100, seed=7), expected)
    found = hint(expected, actual)
    assert found.hint == "scattered"
    assert found.hints == ("scattered",)


def test_wrong_shape_is_told():
    expected = randn(4, 5)
    found = hint(expected, expected.T.contiguous())
    assert found.hint == "all_wrong"
    assert "shape differs: expected [4, 5], got [5, 4]" in found.summary


def test_wrong_dtype_with_right_values_is_told():
    expected = randn(4, 5)
    found = hint(expected, expected.double())
    assert "dtype differs" in found.summary


# --- across cases -------------------------------------------------------------------------------------------------


def noisy(expected, size, seed=1):
    noise = torch.randn(expected.shape, generator=torch.Generator().manual_seed(seed)).to(expected.dtype)
    return expected + expected.abs() * noise * size


def test_half_accumulation():
    observations = []
    for index, (dtype, length) in enumerate(
        (kind, length) for kind in ("float32", "float16", "bfloat16") for length in (64, 256, 1024, 4096)
    ):
        kind = getattr(torch, dtype)
        expected = (randn(30, seed=index) + 3).to(kind)
        error = 0 if dtype == "float32" else length * torch.finfo(kind).eps / 8
        observations.append(
            seen(expected, noisy(expected, error), case_of((30, length), dtype=dtype), index=index)
        )
    found = analyse(observations)
    assert found.hint == "magnitude_correlated"
    assert found.evidence["half_accumulation"] is True
    assert "float32" in found.summary
    assert found.evidence["across"][0]["feature"] == "dtype"


def test_errors_grow_with_size():
    observations = []
    for index, length in enumerate((100, 1000, 10_000, 100_000)):
        expected = randn(64, seed=index) + 4
        observations.append(
            seen(expected, noisy(expected, length * 1e-5), case_of((64, length)), index=index)
        )
    assert analyse(observations).evidence["grows_with_size"] >= 0.8


def test_only_unaligned_rows_fail():
    observations = []
    for index, length in enumerate((64, 128, 65, 127, 100, 256)):
        x = randn(20, length, seed=index)
        aligned = length * 4 % 32 == 0
        expected = x.sum(dim=1)
        # Stale lanes beyond the row enter every sum: no place inside the output is spared.
        actual = expected if aligned else expected + randn(20, seed=50 + index) * 3
        observations.append(seen(expected, actual, case_of((20, length)), index=index))
    found = analyse(observations)
    assert found.hint == "tail_spike"
    assert "all_wrong" in found.hints
    assert found.evidence["only_unaligned_rows_fail"] is True
    assert "32 bytes" in found.summary


@pytest.mark.parametrize("last", [-1, 2])
def test_only_one_attribute_value_fails(last):
    observations = []
    for index, dim in enumerate((0, last, 1, last, 0, 1)):
        x = randn(4, 8, 16, seed=index)
        expected = x.cumsum(dim)
        actual = expected if dim == last else x.cumsum(-1)
        observations.append(seen(expected, actual, case_of((4, 8, 16), dim=dim), index=index))
    found = analyse(observations)
    first = found.evidence["across"][0]
    assert first["feature"] in ("dim", "dim is the last dimension")
    assert (first["failed_with"], first["passed_with"], first["passed_without"]) == (4, 0, 2)
    assert "4 of 6 cases fail" in found.summary


def test_only_cases_with_a_left_out_input_fail():
    observations = []
    for index in range(6):
        x = randn(30, seed=index)
        without = index % 2
        case = case_of((30,), absent=("weight",)) if without else case_of((30,), weight=2)
        observations.append(seen(x, x * 2 if without else x, case, index=index))
    assert any("weight" in entry["feature"] for entry in analyse(observations).evidence["across"])


def test_only_large_cases_fail():
    observations = []
    for index, length in enumerate((10, 100, 1000, 5000, 9000)):
        x = randn(length, seed=index)
        observations.append(
            seen(x, x if length <= 1000 else randn(length, seed=99), case_of((length,)), index=index)
        )
    found = analyse(observations)
    assert any(entry["feature"] == "elements" for entry in found.evidence["across"])


def test_two_facts_together_are_named():
    observations = []
    for index, (dim, keep) in enumerate((d, k) for d in (0, 1) for k in (True, False) for _ in range(2)):
        x = randn(20, 30, seed=index)
        bad = dim == 0 and keep
        case = case_of((20, 30), order=dim, keepdim=keep)
        observations.append(seen(x, x * 2 if bad else x, case, index=index))
    first = analyse(observations).evidence["across"][0]
    assert first["feature"] == "order × keepdim"
    assert (first["failed_with"], first["passed_with"]) == (2, 0)


def test_the_value_that_passes_is_named_where_many_fail():
    observations = []
    for index, alpha in enumerate((1.0, 0.5, 2.0, 3.0, 1.0, -1.0, 0.25)):
        x = randn(40, seed=index)
        observations.append(seen(x * alpha, x, case_of((40,), alpha=alpha), index=index))
    first = analyse(observations).evidence["across"][0]
    assert "alpha is not 1.0" in first["text"]


def test_where_errors_begin_is_told():
    x = randn(6, 700)
    parts = [part.cumsum(1) for part in x.split(256, 1)]
    found = hint(x.cumsum(1), torch.cat(parts, 1))
    assert found.evidence["right_before"] == {"dimension": 1, "index": 256, "size": 700}
    assert "first 256 indices are right" in found.summary


def test_no_case_passes_means_no_difference():
    x = randn(30)
    assert analyse([seen(x, x + 1, index=index) for index in range(3)]).evidence["across"] == []


def test_the_class_of_most_cases_leads():
    x = randn(1000)
    tail = x.clone()
    tail[992:] = 9
    other = x.clone()
    other[::7] += 3
    found = analyse([seen(x, tail, index=0), seen(x, tail, index=1), seen(x, other, index=2)])
    assert found.hint == "tail_spike"
    assert "scattered" in found.hints
    assert found.evidence["example"]["case"] == 0


# --- laws -----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=0, max_size=4),
    st.sampled_from(["float16", "float32", "bfloat16", "int32", "int8", "bool"]),
    st.integers(0, 1000),
    st.sampled_from([0.02, 0.3, 1.0]),
)
def test_law_any_failing_output_has_a_class_and_it_is_the_same_twice(shape, dtype, seed, rate):
    generator = torch.Generator().manual_seed(seed)
    kind = getattr(torch, dtype)
    expected = (torch.randn(shape, generator=generator) * 20).to(kind)
    changed = torch.rand(shape, generator=generator) < rate
    noise = (torch.randn(shape, generator=generator) * 20).to(kind)
    actual = torch.where(changed, noise, expected)
    case = case_of(tuple(shape), dtype=dtype)
    first = analyse([seen(expected, actual, case)])
    second = analyse([seen(expected.clone(), actual.clone(), case)])
    assert first == second
    if first is not None:
        assert first.hint in HINTS
        assert first.summary.startswith("1 of 1 cases fail")
        json.dumps(first.model_dump(mode="json"), allow_nan=False)


@settings(max_examples=25, deadline=None)
@given(st.integers(8, 40), st.integers(20, 300), st.integers(1, 9))
def test_law_a_wrong_block_of_columns_is_never_called_scattered(rows, columns, width):
    expected = randn(rows, columns)
    actual = expected.clone()
    actual[:, columns - width :] += 5
    assert hint(expected, actual).hint != "scattered"


def test_a_bounded_sample_keeps_counts_whole():
    expected = torch.zeros(100_000)
    actual = expected.clone()
    actual[::3] = 1
    mask = actual != expected
    sample = sample_output(expected, actual, mask, most=100)
    assert sample.wrong == int(mask.sum())
    assert sample.places.size <= 100
    assert (sample.actual == 1).all()
    assert (sample.places % 3 == 0).all()
    assert find_signs(sample)

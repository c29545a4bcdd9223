"""Comparison: rules at their edges, NaN and Inf, structure, laws."""

import math
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_worker.compare import CHUNK, compare, compare_case
from npu_worker.tolerance import PROFILES, profile_named

MERE_MARE = profile_named("mere_mare")
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = [*FLOATS, "int8", "int16", "int32", "int64", "uint8", "bool"]
nan, inf = math.nan, math.inf


def values(dtype, shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(kind)
    return torch.randint(0, 2 if dtype == "bool" else 100, shape, generator=generator).to(kind)


@pytest.mark.parametrize("name", list(PROFILES))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0), (4, 5, 6)])
def test_identical_outputs_pass(name, dtype, shape):
    output = values(dtype, shape)
    assert compare(output, output.clone(), profile=PROFILES[name]) == (True, ())


@pytest.mark.parametrize("name", list(PROFILES))
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gross_error_fails(name, dtype):
    expected = values(dtype, (50,))
    actual = expected.clone()
    actual[7] = not actual[7] if dtype == "bool" else actual[7] + 50
    passed, (deviation,) = compare(expected, actual, profile=PROFILES[name])
    assert not passed
    assert deviation.mismatched == 1
    assert deviation.total == 50
    assert deviation.first_index == (7,)
    assert deviation.output == "0"
    assert deviation.dtype == dtype
    assert deviation.shape == (50,)


@pytest.mark.parametrize(("dtype", "limit"), [("float16", 2**-10), ("bfloat16", 2**-7), ("float32", 2**-13)])
def test_mare_is_ten_times_the_limit(dtype, limit):
    # Doubles on the candidate's side show the edge itself; a real candidate has the reference's dtype.
    expected = torch.full((4096,), 1.0, dtype=torch.float64)
    rule_of = {"expected": expected.to(getattr(torch, dtype))}
    for factor, wrong in ((9.9, 0), (10.1, 1)):
        actual = expected.clone()
        actual[100] += factor * limit
        output = compare_case(rule_of["expected"], actual, profile=MERE_MARE).outputs[0]
        assert output.deviation.mismatched == wrong
        assert int(output.mask().sum()) == wrong


def test_where_only_the_mean_fails_the_note_says_so_and_the_mask_takes_its_limit():
    limit = 2**-13
    expected = torch.ones(1000)
    actual = expected.clone()
    actual[:500] += 3 * limit
    output = compare_case(expected, actual, profile=MERE_MARE).outputs[0]
    assert not output.passed
    assert "only the mean fails" in output.deviation.note
    assert output.deviation.mismatched == 500
    assert int(output.mask().sum()) == 500
    assert output.deviation.max_rel < 10 * limit
    assert output.deviation.mean_rel == pytest.approx(1.5 * limit, rel=1e-3)


def test_tiny_absolute_errors_count_as_none():
    limit = 2**-13
    expected = torch.zeros(10)
    assert compare(expected, expected + limit * 0.9e-3, profile=MERE_MARE)[0]
    assert not compare(expected, expected + limit * 1.1e-3, profile=MERE_MARE)[0]


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_small_integers_may_be_off_by_one(dtype):
    expected = torch.arange(-5, 5, dtype=getattr(torch, dtype))
    assert compare(expected, expected + 1, profile=MERE_MARE)[0]
    assert not compare(expected, expected + 2, profile=MERE_MARE)[0]


def test_large_integers_are_exact_beyond_double_precision():
    expected = torch.tensor([2**60, 5])
    passed, (deviation,) = compare(expected, torch.tensor([2**60 + 1, 5]), profile=MERE_MARE)
    assert not passed
    assert deviation.mismatched == 1
    assert deviation.actual == str(2**60 + 1)


def test_v2_needs_both_errors_and_finite_values():
    profile = PROFILES["npukernelbench_v2"]
    large, small = torch.tensor([1000.0]), torch.tensor([1e-4])
    assert compare(large, large + 0.5, profile=profile)[0]  # absolute alone
    assert compare(small, small * 2, profile=profile)[0]  # relative alone
    assert not compare(large, large + 2, profile=profile)[0]
    passed, (deviation,) = compare(torch.tensor([nan, 1.0]), torch.tensor([nan, 1.0]), profile=profile)
    assert not passed
    assert "not finite" in deviation.note


def test_nan_is_not_mapped_to_zero():
    passed, (deviation,) = compare(
        torch.tensor([nan, 1]), torch.tensor([0.0, 1]), profile=PROFILES["allclose_1e2"]
    )
    assert not passed
    assert "NaN positions differ at 1" in deviation.note


@pytest.mark.parametrize("name", ["mere_mare", "allclose_1e2", "multikernelbench", "kernelbench"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_inf_must_agree(name, dtype):
    kind = getattr(torch, dtype)
    expected = torch.tensor([nan, inf, -inf, 1.0, 2.0], dtype=kind)
    assert compare(expected, expected.clone(), profile=PROFILES[name])[0]
    for place, value in ((0, inf), (0, 0.0), (1, -inf), (1, nan), (1, 60000.0), (2, inf), (3, nan), (3, inf)):
        actual = expected.clone()
        actual[place] = value
        passed, (deviation,) = compare(expected, actual, profile=PROFILES[name])
        assert not passed
        assert deviation.mismatched == 1
        assert deviation.first_index == (place,)
        assert deviation.max_abs == 0
        assert "differ at 1" in deviation.note


def test_nothing_finite_leaves_the_numbers_out():
    (output,) = compare_case(torch.tensor([nan]), torch.tensor([nan]), profile=MERE_MARE).outputs
    assert output.passed
    assert output.deviation.max_abs is None


def test_shape_dtype_and_structure_must_agree():
    x = torch.ones(2, 3)
    for actual, words in (
        (torch.ones(3, 2), "shape differs: expected [2, 3], got [3, 2]"),
        (torch.ones(1, 2, 3), "shape differs"),
        (x.double(), "dtype differs: expected float32, got float64"),
        (x.int(), "dtype differs"),
        (x.to(torch.complex64), "complex"),
        (None, "expected a tensor, got nothing"),
        ("text", "expected a tensor, got a str"),
        (1.0, "kind differs"),
        ([x], "structure differs: expected a tensor, got 1 outputs"),
    ):
        passed, deviations = compare(x, actual, profile=MERE_MARE)
        assert not passed
        assert words in deviations[0].note
    passed, deviations = compare((x, x), [x], profile=MERE_MARE)
    assert not passed
    assert [deviation.output for deviation in deviations] == ["1"]
    assert "expected 2 outputs, got 1" in deviations[0].note
    passed, deviations = compare([x], (x, x), profile=MERE_MARE)
    assert not passed
    assert "no such output" in deviations[0].note
    assert not compare([], [], profile=MERE_MARE)[0]


def test_nested_outputs_and_plain_values():
    x = torch.ones(2)
    expected = {"out": (x, [x * 2, None]), "count": 3, "loss": 0.5, "name": "a"}
    assert compare(
        expected, {"out": [x, (x * 2, None)], "count": 3, "loss": 0.5, "name": "a"}, profile=MERE_MARE
    )[0]
    passed, deviations = compare(
        expected, {"out": [x, (x * 3, None)], "count": 4, "loss": 0.6, "name": "b"}, profile=MERE_MARE
    )
    assert not passed
    assert [deviation.output for deviation in deviations] == ["out.1.0", "count", "loss", "name"]


def test_complex_outputs_are_compared_by_parts():
    expected = torch.complex(torch.ones(3, 4), torch.full((3, 4), 2.0))
    assert compare(expected, expected.clone(), profile=MERE_MARE)[0]
    actual = expected.clone()
    actual[1, 2] += 1j
    passed, (deviation,) = compare(expected, actual, profile=MERE_MARE)
    assert not passed
    assert deviation.shape == (3, 4)
    assert deviation.first_index == (1, 2)


def test_views_compare_as_their_values():
    x = torch.arange(12.0).reshape(3, 4)
    assert compare(x.T, x.T.contiguous(), profile=MERE_MARE)[0]
    actual = x.clone()
    actual[2, 1] += 1
    output = compare_case(x.T, actual.T, profile=MERE_MARE).outputs[0]
    assert output.deviation.first_index == (1, 2)
    assert output.mask().nonzero().tolist() == [[1, 2]]


def test_gradients_do_not_disturb():
    assert compare(torch.ones(2, requires_grad=True), torch.ones(2), profile=MERE_MARE)[0]


element = st.one_of(st.floats(-100, 100, width=16), st.sampled_from([nan, inf, -inf, 0.0]))
vectors = st.lists(element, min_size=1, max_size=40)


@settings(deadline=None)
@given(vectors, st.sampled_from(FLOATS), st.sampled_from(["mere_mare", "allclose_1e2", "multikernelbench"]))
def test_law_identical_tensors_pass(numbers, dtype, name):
    tensor = torch.tensor(numbers, dtype=torch.float64).to(getattr(torch, dtype))
    assert compare(tensor, tensor.clone(), profile=PROFILES[name])[0]


@settings(deadline=None)
@given(vectors, st.permutations(range(40)), st.sampled_from(list(PROFILES)))
def test_law_a_permutation_that_moves_a_nan_never_passes(numbers, order, name):
    expected = torch.tensor(numbers, dtype=torch.float32)
    actual = expected[[place for place in order if place < len(numbers)]]
    if bool((expected.isnan() != actual.isnan()).any()):
        assert not compare(expected, actual, profile=PROFILES[name])[0]


@settings(deadline=None)
@given(vectors, vectors, st.integers(1, 50), st.sampled_from(list(PROFILES)))
def test_law_chunks_do_not_matter(left, right, chunk, name):
    size = min(len(left), len(right))
    expected, actual = torch.tensor(left[:size]), torch.tensor(right[:size])
    # A shared head makes mixtures of right and wrong elements.
    actual[: size // 2] = expected[: size // 2]
    whole = compare_case(expected, actual, profile=PROFILES[name]).outputs[0]
    parts = compare_case(expected, actual, profile=PROFILES[name], chunk=chunk).outputs[0]
    assert whole.passed == parts.passed
    assert (whole.deviation.mean_rel or 0) == pytest.approx(parts.deviation.mean_rel or 0, rel=1e-12)
    plain = {"mean_rel", "note"}
    assert whole.deviation.model_dump(exclude=plain) == parts.deviation.model_dump(exclude=plain)


@settings(deadline=None)
@given(vectors, vectors, st.sampled_from(list(PROFILES)))
def test_law_mask_count_and_first_index_agree(left, right, name):
    size = min(len(left), len(right))
    output = compare_case(
        torch.tensor(left[:size]), torch.tensor(right[:size]), profile=PROFILES[name]
    ).outputs[0]
    wrong = output.mask().nonzero().flatten().tolist()
    assert len(wrong) == output.deviation.mismatched
    assert output.deviation.first_index == ((wrong[0],) if wrong else ())
    assert output.passed == (not wrong)


@settings(deadline=None)
@given(vectors, st.integers(1, 6))
def test_law_the_shape_does_not_change_the_verdict(numbers, rows):
    expected = torch.tensor(numbers * rows)
    actual = expected + 0.01
    flat = compare_case(expected, actual, profile=MERE_MARE).outputs[0].deviation
    square = (
        compare_case(expected.reshape(rows, -1), actual.reshape(rows, -1), profile=MERE_MARE)
        .outputs[0]
        .deviation
    )
    assert flat.mismatched == square.mismatched
    assert flat.max_rel == square.max_rel


def test_more_than_one_chunk_finds_the_last_element():
    expected = torch.zeros(2 * CHUNK + 3)
    actual = expected.clone()
    actual[-1] = 1
    output = compare_case(expected, actual, profile=MERE_MARE).outputs[0]
    assert output.deviation.first_index == (2 * CHUNK + 2,)
    assert output.mask().nonzero().tolist() == [[2 * CHUNK + 2]]


MEMORY = """
import resource, torch
from npu_worker.compare import compare_case
from npu_worker.tolerance import profile_named

profile = profile_named("mere_mare")
compare_case(torch.ones(9), torch.zeros(9), profile=profile)
expected = torch.ones(24_000_000)
actual = expected.clone()
actual[::3] = 7
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert not compare_case(expected, actual, profile=profile).passed
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_temporaries_stay_small_beside_large_outputs():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    # In kilobytes; a float64 copy of one side alone would be 192 MB.
    assert int(done.stdout) < 64 * 1024

from hypothesis import given
from hypothesis import strategies as st

from schema.cases import AttributeInput, Case, TensorInput
from schema.compact import compact_set

DTYPES = ("float16", "bfloat16", "float32", "int32")


def case(dtype="float32", shape=(16,), other=None, dim=0):
    tensors = [TensorInput(name="x", dtype=dtype, shape=shape)]
    if other is not None:
        tensors.append(TensorInput(name="y", dtype=dtype, shape=other))
    return Case(inputs=(*tensors, AttributeInput(name="dim", dtype="int", value=dim)))


case_sets = st.lists(
    st.builds(
        case,
        dtype=st.sampled_from(DTYPES),
        shape=st.lists(st.integers(1, 40), min_size=1, max_size=4).map(tuple),
        other=st.one_of(st.none(), st.just((1,)), st.just((8,))),
        dim=st.integers(-2, 2),
    ),
    max_size=40,
).map(tuple)


@given(case_sets, st.integers(1, 12), st.one_of(st.none(), st.integers(0, 5000)))
def test_the_set_is_small_ordered_within_the_limit_and_the_same_each_time(cases, most, limit):
    chosen = compact_set(cases, most=most, max_elements=limit)
    able = [index for index, one in enumerate(cases) if limit is None or one.elements <= limit]
    assert chosen == compact_set(cases, most=most, max_elements=limit)
    assert list(chosen) == sorted(set(chosen))
    assert set(chosen) <= set(able)
    assert len(chosen) == min(most, len(able))


@given(case_sets)
def test_every_dtype_and_both_extreme_sizes_are_in_it(cases):
    chosen = compact_set(cases, most=10)
    if not cases:
        assert chosen == ()
        return
    assert {cases[index].tensors[0].dtype for index in chosen} == {one.tensors[0].dtype for one in cases}
    sizes = [cases[index].elements for index in chosen]
    assert min(sizes) == min(one.elements for one in cases)
    assert max(sizes) == max(one.elements for one in cases)


def test_attribute_values_ranks_broadcasts_and_ragged_rows_beat_more_of_the_same():
    same = [case(shape=(64, 64)) for _ in range(50)]
    rare = [
        case(dim=1),
        case(dim=-1),
        case(shape=(4, 4, 16)),
        case(shape=(64, 64), other=(1,)),
        case(shape=(17, 31)),
        case(dtype="float16", shape=(64, 64)),
    ]
    cases = [*same[:25], *rare, *same[25:]]
    assert set(range(25, 31)) <= set(compact_set(cases, most=10))


def test_a_tie_goes_to_the_cheap_case():
    cases = (
        [case(shape=(16, 16))]
        + [case(shape=(16, 16 * size), dim=1) for size in (8, 2, 4)]
        + [case(shape=(16, 999 * 16))]
    )
    assert compact_set(cases, most=3) == (0, 2, 4)

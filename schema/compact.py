"""The compact set: the few cases of an operator that steer its repair.

Upstream lets a model pick them; here a greedy cover does, so that the same cases give the same set everywhere
and its hash can stand in a frozen manifest. A case shows features (a dtype, a rank, an attribute's value, an
extreme size, a broadcast, a ragged row...); each pick is the case that shows most of what no earlier pick has
shown, by weight. Cheap cases win ties: the compact set runs after every edit.
"""

from collections.abc import Hashable, Sequence

from schema.cases import DTYPE_BYTES, AbsentInput, AttributeInput, Case, TensorInput

Feature = tuple[Hashable, ...]

BLOCK_BYTES = 32
"""Unit of a data copy on the device: rows that are no multiple of it take another path in most kernels."""

_DTYPE, _RANK, _ATTRIBUTE, _ABSENT, _BROADCAST, _EXTREME, _RAGGED, _SPECIAL, _PAIR = range(9)
# A pick that shows a new dtype or an extreme size beats any number of lesser news: levels, not sums.
_LEVELS: tuple[frozenset[int], ...] = (
    frozenset({_DTYPE, _EXTREME}),
    frozenset({_RANK, _ATTRIBUTE, _ABSENT, _BROADCAST, _RAGGED, _SPECIAL}),
    frozenset({_PAIR}),
)


def compact_set(cases: Sequence[Case], *, most: int = 10, max_elements: int | None = None) -> tuple[int, ...]:
    """Choose at most `most` cases that cover dtypes, ranks, attribute values, extreme sizes and broadcasts.

    Args:
        cases: the full set.
        most: the largest size of the compact set.
        max_elements: the size limit of the cohort; cases above it never run and are not chosen.

    Returns:
        Indices into `cases`, ascending; empty only if no case is within the limit. All of them where
        `most` or fewer are.
    """
    able = [
        index for index, case in enumerate(cases) if max_elements is None or case.elements <= max_elements
    ]
    if len(able) <= most:
        return tuple(able)
    size = {index: cases[index].elements for index in able}
    shown = {index: _features(cases[index]) for index in able}
    smallest = min(able, key=lambda index: (size[index], index))
    largest = max(able, key=lambda index: (size[index], -index))
    shown[smallest].add((_EXTREME, "smallest"))
    shown[largest].add((_EXTREME, "largest"))
    covered: set[Feature] = set()
    chosen: list[int] = []
    while len(chosen) < most:
        left = [index for index in able if index not in chosen]
        best = max(left, key=lambda index: (*_news(shown[index] - covered), -size[index], -index))
        if not shown[best] - covered:
            # Everything is shown: spread what is left over the sizes.
            best = _farthest(left, chosen, size)
        covered |= shown[best]
        chosen.append(best)
    return tuple(sorted(chosen))


def _news(features: set[Feature]) -> tuple[int, ...]:
    return tuple(sum(feature[0] in level for feature in features) for level in _LEVELS)


def _farthest(left: Sequence[int], chosen: Sequence[int], size: dict[int, int]) -> int:
    order = {value: place for place, value in enumerate(sorted(set(size.values())))}
    return max(
        left,
        key=lambda index: (
            min(abs(order[size[index]] - order[size[other]]) for other in chosen),
            -size[index],
            -index,
        ),
    )


def _features(case: Case) -> set[Feature]:
    features: set[Feature] = set()
    for entry in case.inputs:
        match entry:
            case TensorInput():
                features |= _tensor_features(entry)
            case AttributeInput():
                features.add((_ATTRIBUTE, entry.name, repr(entry.value)))
            case AbsentInput():
                features.add((_ABSENT, entry.name))
    tensors = case.tensors
    ranks = tuple(len(tensor.shape) for tensor in tensors)
    if tensors:
        features.add((_DTYPE, tensors[0].dtype))
    shapes = {tensor.shape for tensor in tensors}
    if len(shapes) > 1:
        # Which tensors have a size of 1, or no axis, where another has more: how a broadcast looks, sizes aside.
        width = max(ranks)
        pattern = tuple(
            tuple(place < len(tensor.shape) and tensor.shape[-1 - place] != 1 for place in range(width))
            for tensor in tensors
        )
        features.add((_BROADCAST, pattern))
    if tensors:
        main = max(tensors, key=lambda tensor: tensor.elements)
        ragged = _ragged(main)
        features.add((_PAIR, main.dtype, "ragged", ragged))
        for attribute in case.attributes:
            features.add((_PAIR, main.dtype, attribute.name, repr(attribute.value)))
            features.add((_PAIR, "rank", len(main.shape), attribute.name, repr(attribute.value)))
    return features


def _tensor_features(tensor: TensorInput) -> set[Feature]:
    features: set[Feature] = {
        (_DTYPE, tensor.name, tensor.dtype),
        (_RANK, tensor.name, len(tensor.shape)),
        (_RAGGED, tensor.name, _ragged(tensor)),
    }
    if tensor.elements == 0:
        features.add((_SPECIAL, tensor.name, "empty"))
    if tensor.elements == 1:
        features.add((_SPECIAL, tensor.name, "one element"))
    return features


def _ragged(tensor: TensorInput) -> str:
    """Whether rows, or at least the whole tensor, are a multiple of the device's block."""
    if tensor.bytes % BLOCK_BYTES:
        return "whole"
    row = tensor.shape[-1] * DTYPE_BYTES[tensor.dtype] if tensor.shape else tensor.bytes
    return "row" if row % BLOCK_BYTES else "even"

"""What sets failing cases apart from passing ones: dtype, size, alignment, attributes, left-out inputs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from npu_worker.forensics.sign import rounded
from schema.cases import DTYPE_BYTES, AbsentInput, Case, TensorInput, broadcast_shape

BLOCK_BYTES = 32
HALF = frozenset({"float16", "bfloat16"})
AXIS_NAMES = frozenset({"axis", "dim", "dims", "axes"})
LEAST_PRECISION = 0.5
MOST_VALUES = 4
MOST_STATEMENTS = 3
LEAST_CORRELATION = 0.8

DTYPE = "dtype"
ROW_ALIGNED = "rows are a multiple of 32 bytes"


@dataclass(frozen=True, kw_only=True)
class CaseFacts:
    """A case as the search for differences sees it.

    Attributes:
        dtype: of the first floating tensor; of the first tensor where none floats.
        features: texts by feature; cases of one operator have the same features.
        sizes: numbers by name.
        shapes: of the tensors.
    """

    index: int
    name: str
    dtype: str
    features: Mapping[str, str]
    sizes: Mapping[str, int]
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One statement that holds for every failing case.

    Attributes:
        exact: no passing case has it.
    """

    feature: str
    text: str
    failed_with: int
    passed_with: int
    passed_without: int

    @property
    def exact(self) -> bool:
        """The statement separates failing and passing cases without a remainder."""
        return self.passed_with == 0

    def as_evidence(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "feature": self.feature,
            "text": self.text,
            "failed_with": self.failed_with,
            "passed_with": self.passed_with,
            "passed_without": self.passed_without,
        }


def case_facts(case: Case, *, index: int) -> CaseFacts:
    """The facts of one case."""
    tensors = case.tensors
    floating = [tensor for tensor in tensors if "float" in tensor.dtype]
    main = next(iter(floating or tensors), None)
    shape = main.shape if main else ()
    features: dict[str, str] = {DTYPE: main.dtype if main else "none", "rank": str(len(shape))}
    row = shape[-1] if shape else 1
    row_bytes = row * (DTYPE_BYTES[main.dtype] if main else 1)
    features[ROW_ALIGNED] = _yes(row_bytes % BLOCK_BYTES == 0)
    if main:
        features["the first tensor is a multiple of 32 bytes"] = _yes(main.bytes % BLOCK_BYTES == 0)
    shapes = [tensor.shape for tensor in floating]
    features["inputs are broadcast"] = _yes(len(set(shapes)) > 1 and broadcast_shape(shapes) is not None)
    features["dtypes are mixed"] = _yes(len({tensor.dtype for tensor in floating}) > 1)
    for entry in case.inputs:
        if isinstance(entry, AbsentInput):
            features[f"{entry.name} is given"] = "no"
        elif isinstance(entry, TensorInput):
            features[f"{entry.name} is given"] = "yes"
    for attribute in case.attributes:
        features[attribute.name] = repr(attribute.value)
        if attribute.name in AXIS_NAMES and isinstance(attribute.value, int) and shape:
            last = attribute.value in (-1, len(shape) - 1)
            features[f"{attribute.name} is the last dimension"] = _yes(last)
    return CaseFacts(
        index=index,
        name=case.name,
        dtype=features[DTYPE],
        features=features,
        sizes={"elements": case.elements, "row length": row, "rows": math.prod(shape[:-1])},
        shapes=tuple(tensor.shape for tensor in tensors),
    )


def differences(failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> tuple[Difference, ...]:
    """Statements that hold for every failing case and not for every passing one, the sharpest first.

    A statement about one value or a few ("axis is 0 or 1"), or about a limit ("more than 4096 elements"), counts where
    at least half of the cases it covers fail.
    """
    if not failed or not passed:
        return ()
    found = [statement for name in _names(failed, passed) if (statement := _by_value(name, failed, passed))]
    found += [statement for name in failed[0].sizes if (statement := _by_size(name, failed, passed))]
    if not any(statement.exact for statement in found):
        found += _by_two_values(failed, passed)
    # Stable: features come in the order in which case_facts names them, plain ones first.
    found.sort(
        key=lambda entry: (not entry.exact, -min(entry.failed_with, entry.passed_without), entry.passed_with)
    )
    return tuple(found[:MOST_STATEMENTS])


def half_alone_fails(failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> bool:
    """Every failing case is float16 or bfloat16, and float32 was tried and passed."""
    if not failed or any(case.dtype not in HALF for case in failed):
        return False
    return any(case.dtype == "float32" for case in passed)


def unaligned_alone_fails(failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> bool:
    """Only rows that are no multiple of 32 bytes fail: at least two of them, and most of those that were tried."""
    if len(failed) < 2 or any(case.features[ROW_ALIGNED] == "yes" for case in failed):
        return False
    aligned = sum(case.features[ROW_ALIGNED] == "yes" for case in passed)
    return aligned > 0 and len(failed) / (len(failed) + len(passed) - aligned) >= LEAST_PRECISION


def grows_with_size(sizes: Sequence[int], errors: Sequence[float]) -> float | None:
    """Rank correlation of error and size over failing cases, where it is at least 0.8 over four sizes or more."""
    if len(set(sizes)) < 4:
        return None
    correlation = _rank_correlation(np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64))
    return rounded(correlation) if correlation >= LEAST_CORRELATION else None


def _names(failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> list[str]:
    return list(dict.fromkeys(name for case in (*failed, *passed) for name in case.features))


def _by_value(name: str, failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> Difference | None:
    bad = {case.features.get(name, "absent") for case in failed}
    good = [case.features.get(name, "absent") for case in passed]
    with_it = sum(value in bad for value in good)
    if with_it == len(passed) or len(failed) / (len(failed) + with_it) < LEAST_PRECISION:
        return None
    if with_it and (len(failed) < 2 or len(bad) > 1):
        # A list of values that some passing cases have as well says next to nothing.
        return None
    # A feature that is new in every case (a shape, say) tells failing from passing ones by its nature.
    if len(bad) <= MOST_VALUES and (len(bad) == 1 or len(bad) < len(failed)):
        statement = _statement(name, " or ".join(sorted(bad)))
    elif with_it == 0 and len(set(good)) <= MOST_VALUES and len(set(good)) < max(len(good), 2):
        statement = f"{name} is not {' or '.join(sorted(set(good)))}"
    else:
        return None
    return _difference(name, statement, len(failed), with_it, len(passed) - with_it)


def _by_two_values(failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> list[Difference]:
    """Pairs of values that all failing cases share and no passing case has together ("axis = 0 and keepdim = True")."""
    shared = {
        name: value
        for name, value in failed[0].features.items()
        if all(case.features.get(name) == value for case in failed)
        and any(case.features.get(name) != value for case in passed)
    }
    if len(failed) < 2:
        return []
    pairs = []
    for first, second in combinations(shared, 2):
        with_both = [
            case
            for case in passed
            if case.features.get(first) == shared[first] and case.features.get(second) == shared[second]
        ]
        if not with_both:
            statement = f"{_statement(first, shared[first])} and {_statement(second, shared[second])}"
            pairs.append(_difference(f"{first} × {second}", statement, len(failed), 0, len(passed)))
    return pairs


def _statement(name: str, value: str) -> str:
    return {"yes": name, "no": _negated(name)}.get(value, f"{name} = {value}")


def _negated(name: str) -> str:
    """The feature's name, denied: every yes/no feature has "is" or "are" in it."""
    return name.replace(" is ", " is not ", 1).replace(" are ", " are not ", 1)


def _by_size(name: str, failed: Sequence[CaseFacts], passed: Sequence[CaseFacts]) -> Difference | None:
    bad, good = [case.sizes[name] for case in failed], [case.sizes[name] for case in passed]
    if len(failed) < 2 or len(passed) < 2:
        return None
    if min(bad) > max(good):
        return _difference(name, f"{name} >= {min(bad)}", len(bad), 0, len(good))
    if max(bad) < min(good):
        return _difference(name, f"{name} <= {max(bad)}", len(bad), 0, len(good))
    return None


def _difference(
    feature: str, statement: str, failed: int, passed_with: int, passed_without: int
) -> Difference:
    text = f"in every failing case {statement} ({failed} cases)"
    if passed_with:
        text += f"; so it is in {passed_with} passing cases, but not in {passed_without} others"
    else:
        text += f", and in none of the {passed_without} passing ones"
    return Difference(
        feature=feature,
        text=text,
        failed_with=failed,
        passed_with=passed_with,
        passed_without=passed_without,
    )


def _rank_correlation(left: "np.ndarray[Any, Any]", right: "np.ndarray[Any, Any]") -> float:
    first, second = _ranks(left), _ranks(right)
    first, second = first - first.mean(), second - second.mean()
    scale = math.sqrt(float((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / scale if scale else 0.0


def _ranks(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Ranks, with the mean rank for equal values."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: np.ndarray[Any, Any] = (ends - (counts - 1) / 2)[inverse]
    return ranks


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"

"""Run the detectors over one compared case and keep the small facts, so that its tensors can be dropped."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from npu_worker.compare import Comparison, OutputComparison
from npu_worker.forensics import (
    all_wrong,
    begins,
    boundary_concentration,
    dimension_concentration,
    magnitude_correlated,
    nan_inf_contamination,
    never_written,
    scattered,
    tail_spike,
    uniform_offset,
)
from npu_worker.forensics.across import CaseFacts, case_facts
from npu_worker.forensics.divisor import Factor, explain_ratio
from npu_worker.forensics.sample import POISON_WORDS, OutputSample, sample_output
from npu_worker.forensics.sign import Sign, rounded
from schema.cases import Case

DETECTORS = (
    nan_inf_contamination.detect,
    uniform_offset.detect,
    all_wrong.detect,
    tail_spike.detect,
    boundary_concentration.detect,
    dimension_concentration.detect,
    magnitude_correlated.detect,
)
"""In the order in which classes lead where several fit one output."""

LOOKS = (never_written.look, begins.look)
"""What stands beside a class and is none."""

FEW_ELEMENTS = 8
"""Below this an output shows no pattern: one wrong element of one is "all wrong" whatever the cause."""


@dataclass(frozen=True, kw_only=True)
class OutputSigns:
    """What one failing output shows.

    Attributes:
        signs: the classes that fit, the leading one first; empty for a structural failure.
        total: number of elements.
        median_relative: median relative error of the wrong elements; None where none is finite.
        extra_text, extra: what is no class of its own: never written, all zeros, where errors begin.
        factor: a constant factor that reads as a quotient of sizes.
        structural: the note of a shape, dtype or structure that differs; empty otherwise.
    """

    name: str
    signs: tuple[Sign, ...]
    total: int = 0
    median_relative: float | None = None
    extra_text: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    factor: Factor | None = None
    structural: str = ""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One case that ran to its end: what it is, and what its failing outputs show (none where it passed)."""

    facts: CaseFacts
    passed: bool
    outputs: tuple[OutputSigns, ...] = ()
    mean_rel: float = 0.0


def observe(
    comparison: Comparison, case: Case, *, index: int, poison_words: Sequence[int] = POISON_WORDS
) -> Observation:
    """Look at one compared case; call it for passing cases as well, they show what failing ones have in common.

    Args:
        comparison: `compare_case` of this case; not kept.
        case: its facts.
        index: position in the full set.
        poison_words: 32-bit fills of memory that nobody wrote (the simulator's, the harness's).
    """
    facts = case_facts(case, index=index)
    if comparison.passed:
        return Observation(facts=facts, passed=True)
    return Observation(
        facts=facts,
        passed=False,
        outputs=tuple(_observe_output(output, facts, poison_words) for output in comparison.failing),
        mean_rel=max((output.deviation.mean_rel or 0.0 for output in comparison.failing), default=0.0),
    )


def _observe_output(output: OutputComparison, facts: CaseFacts, poison_words: Sequence[int]) -> OutputSigns:
    mask = output.mask()
    if output.expected is None or output.actual is None or mask is None or not bool(mask.any()):
        note = output.deviation.note or "values differ"
        return OutputSigns(name=output.name, signs=(), total=output.deviation.total, structural=note)
    sample = sample_output(output.expected, output.actual, mask, name=output.name, poison_words=poison_words)
    structural = output.deviation.note if " differs:" in output.deviation.note else ""
    signs = find_signs(sample)
    extras = [extra for look in LOOKS if (extra := look(sample))]
    median = sample.median_relative
    return OutputSigns(
        name=output.name,
        signs=signs,
        total=sample.total,
        median_relative=None if median is None else rounded(median),
        extra_text="; ".join(text for text, _ in extras),
        extra={name: value for _, numbers in extras for name, value in numbers.items()},
        factor=_factor(sample, facts),
        structural=structural,
    )


def find_signs(sample: OutputSample) -> tuple[Sign, ...]:
    """Every class that fits one output, the leading one first; scattered alone where none does."""
    signs = [sign for detect in DETECTORS if (sign := detect(sample))]
    gradual = [sign for sign in signs if "grows_along" in sign.evidence]
    if gradual:
        # Small errors that grow steadily explain why the far end, or its slices, are over the limit.
        signs = gradual + [sign for sign in signs if sign not in gradual]
    signs.sort(key=lambda sign: not sign.leading)
    return tuple(signs) if signs else (scattered.detect(sample),)


def _factor(sample: OutputSample, facts: CaseFacts) -> Factor | None:
    finite = sample.finite & (sample.expected != 0)
    if not finite.any() or not finite.all():
        return None
    ratios = sample.actual / sample.expected
    if np.ptp(ratios) > 0.02 * abs(float(np.median(ratios))):
        return None
    return explain_ratio(float(np.median(ratios)), (*facts.shapes, sample.shape), sample.dtype)

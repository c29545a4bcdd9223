"""Join what all cases show into one `Forensics`: the main class, all that fit, and what sets failures apart."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from npu_worker.forensics.across import (
    differences,
    grows_with_size,
    half_alone_fails,
    unaligned_alone_fails,
)
from npu_worker.forensics.observe import FEW_ELEMENTS, Observation, OutputSigns
from npu_worker.forensics.sign import HINTS, Sign, rounded
from schema.results import Forensics

MOST_ROUNDING = 0.25
"""Median relative error up to which half precision alone may be at fault: sums that cancel lose many digits."""

_YIELDING_TO_TAIL = frozenset({"all_wrong", "scattered", "dimension_concentration", "boundary_concentration"})
_STRONGER_THAN_HALF = frozenset({"nan_inf_contamination", "tail_spike"})


def analyse(observations: Sequence[Observation]) -> Forensics | None:
    """What the pattern of deviations says, over all cases that ran to their end.

    The main class is the one most failing cases show; facts across cases overrule it in two situations: where only
    half precision fails with small errors (magnitude_correlated), and where only unaligned rows fail without a place
    inside the output that says more (tail_spike). Deterministic: the same observations give the same result.

    Returns:
        None where no case failed.
    """
    failed = [entry for entry in observations if not entry.passed]
    passed = [entry.facts for entry in observations if entry.passed]
    if not failed:
        return None
    facts = [entry.facts for entry in failed]
    votes = _votes(failed)
    statements = differences(facts, passed)
    medians = [
        out.median_relative for entry in failed for out in entry.outputs if out.median_relative is not None
    ]
    rounding = bool(medians) and median(medians) <= MOST_ROUNDING
    half = half_alone_fails(facts, passed) and rounding
    unaligned = unaligned_alone_fails(facts, passed)
    growth = grows_with_size([case.sizes["elements"] for case in facts], [entry.mean_rel for entry in failed])
    rules = _shared_rules(failed)

    main = max(votes, key=lambda hint: (votes[hint], -HINTS.index(hint)))
    reasons: list[str] = []
    fits = [sign.hint for entry in failed for out in entry.outputs for sign in out.signs]
    if rules and main in ("all_wrong", "scattered", "magnitude_correlated"):
        main = "uniform_offset"
    if half and main not in _STRONGER_THAN_HALF:
        main = "magnitude_correlated"
        reasons.append("only half precision fails, with small errors: accumulate in float32")
    elif unaligned and main in _YIELDING_TO_TAIL:
        main = "tail_spike"
        reasons.append("only rows that are no multiple of 32 bytes fail: the padded tail enters the result")
    others = sorted({*fits, *votes} - {main}, key=lambda hint: (-votes.get(hint, 0.0), HINTS.index(hint)))
    if unaligned and main != "tail_spike" and "tail_spike" not in others:
        others.append("tail_spike")
    if "scattered" in others and len(others) > 1:
        others.remove("scattered")
        others.append("scattered")

    example, output, sign = _example(failed, main)
    evidence: dict[str, Any] = {
        "failed": len(failed),
        "passed": len(passed),
        "votes": {hint: rounded(votes[hint]) for hint in HINTS if hint in votes},
        "example": {"case": example.facts.index, "name": example.facts.name, "output": output.name},
        "signs": {entry.hint: dict(entry.evidence) for entry in output.signs},
        "across": [statement.as_evidence() for statement in statements],
        **output.extra,
    }
    if output.median_relative is not None:
        evidence["median_relative_error"] = output.median_relative
    if half:
        evidence["half_accumulation"] = True
    if unaligned:
        evidence["only_unaligned_rows_fail"] = True
    if growth is not None:
        evidence["grows_with_size"] = growth
    if output.factor and (rules or main == "uniform_offset"):
        evidence["factor"] = {"rules": list(rules or output.factor.rules), "reading": output.factor.reading}
    if output.structural:
        evidence["structural"] = output.structural
    summary = _summary(failed, len(passed), example, output, sign, evidence, reasons)
    return Forensics(hint=main, hints=(main, *others), summary=summary, evidence=evidence)


def _votes(failed: Sequence[Observation]) -> dict[str, float]:
    """One vote a failing case, shared by its failing outputs; few elements or a weak sign have half a voice."""
    votes: defaultdict[str, float] = defaultdict(float)
    for entry in failed:
        for output in entry.outputs:
            weight = 1 / len(entry.outputs)
            if output.total < FEW_ELEMENTS or (output.signs and not output.signs[0].leading):
                weight /= 2
            # An output of the wrong shape, dtype or number is wrong as a whole.
            votes[output.signs[0].hint if output.signs else "all_wrong"] += weight
    return dict(votes) or {"all_wrong": 0.0}


def _shared_rules(failed: Sequence[Observation]) -> tuple[str, ...]:
    """The readings of a factor that fit every failing output, over at least two cases."""
    read = [output.factor.rules if output.factor else () for entry in failed for output in entry.outputs]
    if len(failed) < 2 or not read:
        return ()
    return tuple(rule for rule in read[0] if all(rule in other for other in read))


def _example(failed: Sequence[Observation], main: str) -> tuple[Observation, OutputSigns, Sign | None]:
    """The first failing output that shows the main class as its own leading one, else at all, else the first."""
    shown: list[tuple[int, Observation, OutputSigns, Sign | None]] = []
    for entry in failed:
        for output in entry.outputs or (OutputSigns(name="0", signs=()),):
            places = [place for place, sign in enumerate(output.signs) if sign.hint == main]
            rank = places[0] if places else len(HINTS)
            few = len(HINTS) * (output.total < FEW_ELEMENTS)
            sign = output.signs[places[0]] if places else output.signs[0] if output.signs else None
            shown.append((rank + few, entry, output, sign))
    _, entry, output, sign = min(shown, key=lambda found: found[0])
    return entry, output, sign


def _summary(
    failed: Sequence[Observation],
    passed: int,
    example: Observation,
    output: OutputSigns,
    sign: Sign | None,
    evidence: dict[str, Any],
    reasons: list[str],
) -> str:
    what = sign.text if sign else output.structural
    if sign and output.structural:
        what = f"{output.structural}; {what}"
    if "factor" in evidence:
        what += f"; the factor fits {evidence['factor']['reading']}"
    total = len(failed) + passed
    sentences = [
        f"{len(failed)} of {total} cases fail; in case {example.facts.index} ({example.facts.name}),"
        f" output {output.name}, {what}."
    ]
    if output.extra_text:
        sentences.append(f"{output.extra_text[0].upper()}{output.extra_text[1:]}.")
    across = [*reasons, *(statement["text"] for statement in evidence["across"][:1])]
    if "grows_with_size" in evidence:
        across.append(
            f"errors grow with the number of elements (rank correlation {evidence['grows_with_size']:.2f})"
        )
    if across:
        text = "; ".join(across)
        sentences.append(f"{text[0].upper()}{text[1:]}.")
    return " ".join(sentences)

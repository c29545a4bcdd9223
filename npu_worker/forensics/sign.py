"""What a detector says when its class fits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HINTS = (
    "nan_inf_contamination",
    "uniform_offset",
    "all_wrong",
    "tail_spike",
    "boundary_concentration",
    "dimension_concentration",
    "magnitude_correlated",
    "scattered",
)
"""Forensic classes; an earlier one wins where two have the same number of votes."""


@dataclass(frozen=True, kw_only=True)
class Sign:
    """One class that fits one output.

    Attributes:
        hint: one of `HINTS`.
        text: one plain sentence that names numbers, without the output's name.
        evidence: the numbers, JSON values.
        leading: False where the class fits but explains less than a later one would.
    """

    hint: str
    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    leading: bool = True


def percent(share: float) -> str:
    """A share for people: "97 %", "0.3 %", "100 %" only where it is whole."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    value = min(max(share * 100, 0.01), 99.99)
    return f"{value:.3g} %"


def rounded(value: float) -> float:
    """Six significant digits: evidence is read by people and compared between runs."""
    return float(f"{value:.6g}")

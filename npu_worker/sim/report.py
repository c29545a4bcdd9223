"""Reads the simulator's side channel: the JSON-lines file that OPMEND_SIM_REPORT names.

Two kinds of lines: a finding, {"rule", "severity", "message", "file", "line", "core", "buffer", "mend", "count"}, and
the costs of launches, {"cost": {counter: number, "moved": {way: bytes}, "busiest": {"cycles", "serial", "pipes"}}}.
The file was written beside hostile code: lines that do not fit are left out, and every text and number is bounded.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schema.results import CostCounters, Finding

MOST_FINDINGS = 200
_MOST_BYTES = 4 * 1024 * 1024
_MOST_COUNTERS = 64
_MOST_COUNT = 1 << 60
_SEVERITIES = ("error", "violation", "warning")


@dataclass(frozen=True, kw_only=True)
class SimReport:
    """What one process's side channel said."""

    findings: tuple[Finding, ...] = ()
    costs: CostCounters | None = None


def read_report(path: Path) -> tuple[Finding, ...]:
    """Findings in a side channel's file; none if there is no file. All past 4 MiB is left out."""
    try:
        with path.open("rb") as source:
            text = source.read(_MOST_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ()
    return parse_report(text).findings


def parse_report(text: str) -> SimReport:
    """The side channel's text: findings as `merged_findings` has them, costs of all launches added up."""
    findings: list[Finding] = []
    costs: CostCounters | None = None
    for line in text.splitlines():
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            continue
        if "cost" in record:
            costs = added_costs(costs, _costs(record["cost"]))
        elif (finding := _finding(record)) is not None:
            findings.append(finding)
    return SimReport(findings=merged_findings(findings), costs=costs)


def merged_findings(findings: Iterable[Finding], *, most: int = MOST_FINDINGS) -> tuple[Finding, ...]:
    """Findings of one rule at one place as one (the first's words, counts added), errors first, else as they came.

    Findings without a place are told apart by their message.
    """
    merged: dict[tuple[str, ...], Finding] = {}
    for finding in findings:
        place = f"{finding.file}:{finding.line}" if finding.file else f"said {finding.message}"
        key = (finding.rule, finding.severity, place)
        known = merged.get(key)
        if known is not None:
            merged[key] = known.model_copy(update={"count": min(known.count + finding.count, _MOST_COUNT)})
        elif len(merged) < most:
            merged[key] = finding
    return tuple(sorted(merged.values(), key=lambda finding: _SEVERITIES.index(finding.severity)))


def added_costs(one: CostCounters | None, other: CostCounters | None) -> CostCounters | None:
    """Both together, as if their launches had followed each other."""
    if one is None or other is None:
        return one or other
    return CostCounters(
        soc=one.soc or other.soc,
        launches=one.launches + other.launches,
        total=_added(one.total, other.total),
        moved=_added(one.moved, other.moved),
        pipes=_added(one.pipes, other.pipes),
        cycles=min(one.cycles + other.cycles, _MOST_COUNT),
        serial=min(one.serial + other.serial, _MOST_COUNT),
        guessed=one.guessed or other.guessed,
    )


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    names = list(dict.fromkeys([*one, *other]))[:_MOST_COUNTERS]
    return {name: min(one.get(name, 0) + other.get(name, 0), _MOST_COUNT) for name in names}


def _finding(record: Mapping[str, Any]) -> Finding | None:
    rule, severity = record.get("rule"), record.get("severity", "violation")
    if not isinstance(rule, str) or not rule or severity not in _SEVERITIES:
        return None
    file = _text(record.get("file"), 300)
    return Finding(
        rule=rule[:100],
        message=_text(record.get("message"), 500) or "",
        severity=severity,
        file=file,
        line=_whole(record.get("line")) if file else None,
        count=_whole(record.get("count")) or 1,
        core=_text(record.get("core"), 40),
        buffer=_text(record.get("buffer"), 300),
        mend=_text(record.get("mend"), 300),
    )


def _costs(cost: object) -> CostCounters | None:
    if not isinstance(cost, dict):
        return None
    busiest = cost.get("busiest")
    busiest = busiest if isinstance(busiest, dict) else {}
    total = _counters(cost)
    return CostCounters(
        soc=_text(cost.get("soc"), 40) or "",
        launches=total.pop("launches", 1),
        total=total,
        moved=_counters(cost.get("moved")),
        pipes=_counters(busiest.get("pipes")),
        cycles=_whole(busiest.get("cycles")) or 0,
        serial=_whole(busiest.get("serial")) or 0,
        guessed=cost.get("rates") == "guess",
    )


def _counters(value: object) -> dict[str, int]:
    """The whole numbers above 0 in a JSON object."""
    if not isinstance(value, dict):
        return {}
    found = ((name[:60], _whole(number)) for name, number in value.items())
    return {name: number for name, number in list(found)[:_MOST_COUNTERS] if number is not None}


def _text(value: object, most: int) -> str | None:
    return value[:most] if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    """A whole number above 0 and within bounds, else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return (
        value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST_COUNT else None
    )

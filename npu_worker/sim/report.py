"""Reads the simulator's side channel: the JSON-lines file that OPMEND_SIM_REPORT names."""

import json
from pathlib import Path
from typing import Any

from schema.results import Finding

_MOST_BYTES = 4 * 1024 * 1024
_SEVERITIES = ("error", "violation", "warning")


def read_report(path: Path, *, most: int = 256) -> tuple[Finding, ...]:
    """Findings of a process, equal ones added up, errors first, then in order of appearance.

    The file was written beside hostile code: lines that do not fit are left out, and so is all past 4 MiB.
    """
    try:
        with path.open("rb") as source:
            text = source.read(_MOST_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ()
    merged: dict[tuple[str, str, str | None, int | None], Finding] = {}
    for line in text.splitlines():
        finding = _finding(line)
        if finding is None:
            continue
        key = (finding.rule, finding.severity, finding.file, finding.line)
        known = merged.get(key)
        if known is None and len(merged) >= most:
            continue
        merged[key] = (
            finding if known is None else known.model_copy(update={"count": known.count + finding.count})
        )
    return tuple(sorted(merged.values(), key=lambda finding: _SEVERITIES.index(finding.severity)))


def _finding(line: str) -> Finding | None:
    try:
        record: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    rule, message, severity = record.get("rule"), record.get("message"), record.get("severity")
    file, place, count = record.get("file"), record.get("line"), record.get("count")
    if not (
        isinstance(rule, str)
        and isinstance(message, str)
        and severity in _SEVERITIES
        and isinstance(count, int)
    ):
        return None
    return Finding(
        rule=rule[:80],
        message=message[:500],
        severity=str(severity),
        file=file[:200] if isinstance(file, str) else None,
        line=place if isinstance(place, int) else None,
        count=max(1, count),
    )

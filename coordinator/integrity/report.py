"""What an integrity scan says: a verdict, the reasons for it, and the executable path it traced."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from coordinator.integrity.rules import RULES, Level
from schema.results import Record
from schema.texts import shown

Verdict = Literal["CLEAN", "SUSPECT", "CHEAT"]


class Reason(Record):
    """One thing the scan noticed, with its source evidence.

    Attributes:
        rule: kebab-case name of the rule (`coordinator.integrity.rules`), stable across releases.
        level: "cheat" and "suspect" decide the verdict; "note" only informs.
        file: workspace-relative path.
        line: 1-based; 0 where the whole file, or its absence, is the matter.
        message: what was seen, for people.
        source_line: the line itself, stripped; empty where `line` is 0.
    """

    rule: str
    level: Level
    file: str
    line: int
    message: str
    source_line: str = ""


class PathStep(Record):
    """One hop of the way from ModelNew.forward to the kernel.

    Attributes:
        kind: "adapter" (ModelNew.forward), "call" (the extension function called in Python), "binding"
            (m.def), "host" (a C++ function), "launcher" (the function with the launch site) or "kernel".
        name: the function's name.
        file: workspace-relative path.
        line: 1-based line of the call, registration or definition.
    """

    kind: Literal["adapter", "call", "binding", "host", "launcher", "kernel"]
    name: str
    file: str
    line: int


class IntegrityReport(Record):
    """The verdict on one workspace.

    Attributes:
        verdict: CHEAT if any reason is a cheat, else SUSPECT if any is suspect, else CLEAN.
        reasons: in order of weight, then of file and line.
        path: hops from ModelNew.forward to every kernel that is reached, in order of discovery.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = Field(default=())
    path: tuple[PathStep, ...] = Field(default=())


@dataclass(kw_only=True)
class Findings:
    """Collects reasons while the scanners walk; one reason a rule, file and line."""

    files: dict[str, list[str]]
    _reasons: dict[tuple[str, str, int], Reason] = field(default_factory=dict)

    def add(self, rule: str, *, file: str, line: int, message: str, level: Level | None = None) -> None:
        """Record that `rule` was seen; `level` lowers or raises the rule's own level for this place.

        Raises:
            KeyError: the rule is not declared in `coordinator.integrity.rules`.
        """
        weight = level or RULES[rule].level
        key = (rule, file, line)
        known = self._reasons.get(key)
        if known is not None and _WEIGHT[known.level] <= _WEIGHT[weight]:
            return
        lines = self.files.get(file, [])
        source = lines[line - 1].strip()[:240] if 0 < line <= len(lines) else ""
        self._reasons[key] = Reason(
            rule=rule, level=weight, file=file, line=line, message=shown(message), source_line=shown(source)
        )

    def reasons(self) -> tuple[Reason, ...]:
        """All reasons, the heaviest first."""
        return tuple(
            sorted(
                self._reasons.values(), key=lambda reason: (_WEIGHT[reason.level], reason.file, reason.line)
            )
        )


_WEIGHT: dict[Level, int] = {"cheat": 0, "suspect": 1, "note": 2}

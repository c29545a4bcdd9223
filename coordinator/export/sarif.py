"""The SARIF export: failed benchmarks, findings, forensics and integrity reasons at their lines.

Format: SARIF 2.1.0 (OASIS). All regions count in the exported revision. A result of level `note` is history: a
failure that a revision answered, at what is left of the lines that it changed. A heavier one holds now, on the
exported tree. Fingerprints hang on position keys, so a result stays the same one while lines move.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from sqlalchemy.orm import Session

from coordinator.export.lines import Line, ranges
from coordinator.export.objects import commits
from coordinator.export.source import TOOL, Made, Source, Validated, capped, clean, tool_version, utc
from coordinator.integrity.rules import RULES
from schema.errors import BadInput
from schema.results import CaseStatus

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "WORKSPACE"
FINGERPRINT = "opmendPositionKey/v1"
_MOST_CHARACTERS = 1_000
_INTEGRITY_LEVELS = {"cheat": "error", "suspect": "warning", "note": "note"}
_FINDING_LEVELS = {"error": "error", "violation": "error", "warning": "warning"}
_FINE = {CaseStatus.PASSED.value, CaseStatus.CUT.value}

# As GCC and Clang write it; paths in a log are relative to the workspace.
_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)?\s+(?:fatal )?error:", re.MULTILINE)

_Result = dict[str, Any]


def export(session: Session, source: Source) -> Iterator[str]:
    """The log, in pieces."""
    try:
        commit = commits(session, source)[-1]
    except BadInput:
        commit = None  # a path that git can't carry: there is no commit to name
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_Run(source, commit).run()]}
    yield from json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(log)
    yield "\n"


class _Run:
    """One run: results in order, and the rules that they speak of, each once."""

    def __init__(self, source: Source, commit: str | None) -> None:
        self.source = source
        self.commit = commit
        self.rules: dict[str, dict[str, Any]] = {}
        self.places: dict[int, dict[str, list[Line]]] = {}

    def run(self) -> dict[str, Any]:
        source, last = self.source, self.source.last
        results = [*self._answered(), *self._failing(), *self._noticed()]
        provenance = {
            "repositoryUri": source.uri("git"),
            "revisionId": self.commit,
            "branch": "main",
            "asOfTimeUtc": utc(last.created_at),
        }
        invocation = {
            "executionSuccessful": source.outcome != "infrastructure",
            "startTimeUtc": utc(source.created_at),
            **({} if source.finished_at is None else {"endTimeUtc": utc(source.finished_at)}),
        }
        return {
            "tool": {"driver": {"name": TOOL, "version": tool_version(), "rules": list(self.rules.values())}},
            "automationDetails": {
                "id": f"{TOOL}/{quote(source.cohort, safe='')}/{quote(source.name, safe='')}/{source.trial}",
                "guid": source.guid("sarif", last.revision),
                "correlationGuid": str(source.identity),
            },
            "invocations": [invocation],
            **({} if self.commit is None else {"versionControlProvenance": [provenance]}),
            "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the operator's workspace."}}},
            "artifacts": [
                {
                    "location": {"uri": _uri(path), "uriBaseId": ROOT},
                    "hashes": {"sha-256": digest},
                }
                for path, digest in sorted(last.files.items())
            ],
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {
                "task": source.task,
                "name": source.name,
                "cohort": source.cohort,
                "arm": source.arm,
                "model": source.model,
                "outcome": source.outcome,
                "revision": last.revision,
                "round": last.round,
                "tree": last.tree,
            },
        }

    def _answered(self) -> Iterator[_Result]:
        """The failed benchmarks behind each revision."""
        for made, changed in zip(
            self.source.revisions, self.source.lines.changes(len(self.source.revisions)), strict=True
        ):
            if not made.failures:
                continue
            written = [line for change in changed.values() for _, line in change.new]
            ended = [line for change in changed.values() for line in change.gone]
            locations = self._regions(self.source.lines.living([*written, *ended]))
            # Where all of it is gone, the file is still the place.
            locations = locations or [_whole(path) for path in changed if path in self.source.last.files]
            keys = [f"{line.path}:{line.key}" for line in written or ended]
            for failed in made.failures:
                rule = self._benchmark_rule(failed.kind)
                told = f"Round {made.round}: {failed.benchmark} failed: {failed.output or 'no output'}"
                yield self._result(
                    rule,
                    "note",
                    told + (f"\nAnswered by {_named(made)}: {made.explanation}" if made.explanation else ""),
                    locations,
                    [failed.benchmark, *keys],
                    {
                        "benchmark": failed.benchmark,
                        "round": made.round,
                        "revision": made.revision,
                        "cause": made.cause,
                        "entries": list(made.entry_ids),
                        "direction": made.direction,
                        "model": made.model,
                        "state": "answered",
                    },
                )

    def _failing(self) -> Iterator[_Result]:
        """What fails on the exported tree, at the lines that its benchmark changed last."""
        now: dict[str, tuple[str, str, Validated]] = {}
        for validation in self._of(self.source.last.tree):
            for name, status in validation.tests:
                now[name] = (status, validation.messages.get(name, ""), validation)
        tree = self.source.last.tree
        broken = self.source.broken.get(tree)
        if broken is not None:
            rule = self._benchmark_rule("build")
            line, path = self._place(tree, *self._first_error(broken.log))
            yield self._result(
                rule,
                "error",
                f"The exported revision does not build ({broken.failure_type}): {broken.log or 'no output'}",
                self._regions([line] if line is not None else []) or [_whole(path or self._suspect)],
                [],
                {"benchmark": "BUILD", "status": broken.failure_type, "state": "failing"},
            )
        changes = list(self.source.lines.changes(len(self.source.revisions)))
        for name, (status, message, validation) in now.items():
            if status in _FINE:
                continue
            lines: list[Line] = []
            for made in reversed(self.source.revisions):
                if any(failed.benchmark == name for failed in made.failures):
                    lines = [line for change in changes[made.revision].values() for _, line in change.new]
                    break
            yield self._result(
                self._benchmark_rule("case"),
                "error",
                f"{name} fails ({status}): {message or 'no output'}",
                self._regions(self.source.lines.living(lines)) or [_whole(self._suspect)],
                [name],
                {"benchmark": name, "status": status, "round": validation.round, "state": "failing"},
            )

    def _noticed(self) -> Iterator[_Result]:
        """Findings, forensics and integrity reasons of every tree; what the newest one says of a line stands."""
        found: dict[tuple[str, ...], _Result] = {}
        for validation in self.source.validations:
            holds = validation.tree == self.source.last.tree
            for finding in validation.body.findings:
                rule = self._rule("finding", finding.rule, finding.rule.replace("-", " "))
                level = _FINDING_LEVELS.get(finding.severity, "warning")
                self._keep(
                    found,
                    rule,
                    level if holds else "note",
                    f"{finding.message} (×{finding.count})" if finding.count > 1 else finding.message,
                    self._place(validation.tree, finding.file, finding.line),
                    validation.round,
                    holds,
                )
            forensics = validation.body.forensics
            if forensics is not None:
                rule = self._rule(
                    "forensics", forensics.hint, f"how values deviate: {forensics.hint.replace('_', ' ')}"
                )
                self._keep(
                    found,
                    rule,
                    "warning" if holds else "note",
                    forensics.summary or forensics.hint,
                    (None, self._suspect),
                    validation.round,
                    holds,
                )
        for judged in self.source.verdicts:
            holds = judged.tree == self.source.last.tree
            for reason in judged.reasons:
                name, level = str(reason.get("rule", "")), str(reason.get("level", ""))
                known = RULES.get(name)
                rule = self._rule("integrity", name, known.summary if known is not None else name)
                file, line = reason.get("file"), reason.get("line")
                self._keep(
                    found,
                    rule,
                    _INTEGRITY_LEVELS.get(level, "warning") if holds else "note",
                    str(reason.get("message", "")),
                    self._place(
                        judged.tree,
                        file if isinstance(file, str) else None,
                        line if isinstance(line, int) else None,
                    ),
                    None,
                    holds,
                )
        yield from found.values()

    def _first_error(self, log: str) -> tuple[str | None, int | None]:
        """File of the task, and line, that a compiler names first."""
        for found in _ERROR.finditer(log):
            if found["file"] in self.source.last.files:
                return found["file"], int(found["line"])
        return None, None

    def _keep(
        self,
        found: dict[tuple[str, ...], _Result],
        rule: str,
        level: str,
        message: str,
        place: tuple[Line | None, str | None],
        round: int | None,
        holds: bool,
    ) -> None:
        line, path = place
        if line is not None:
            root = self.source.lines.root(line)
            identity: tuple[str, ...] = (rule, root.path, root.key)
            locations = self._regions(self.source.lines.living([line]))
        else:
            identity = (rule, path or "")
            locations = []
        if not locations and path is not None and path in self.source.last.files:
            locations = [_whole(path)]
        more = {"state": "holds" if holds else "earlier", **({} if round is None else {"round": round})}
        found[identity] = self._result(rule, level, message, locations, list(identity[1:]), more)

    def _place(self, tree: str, file: str | None, number: int | None) -> tuple[Line | None, str | None]:
        """The line of the store that a file and line of a tree mean, and the file."""
        revision = self.source.revision_of.get(tree)
        if file is None or revision is None:
            return None, file
        if revision not in self.places:
            self.places[revision] = self.source.lines.at(revision)
        lines = self.places[revision].get(file, [])
        return (lines[number - 1] if number is not None and 0 < number <= len(lines) else None), file

    @cached_property
    def _suspect(self) -> str:
        """The file that a matter without a line belongs to: what repair changed, else what it may change."""
        last, first = self.source.last.files, self.source.revisions[0].files
        changed = [path for path in sorted(last) if last[path] != first.get(path)]
        kernel = [path for path in sorted(last) if path.startswith("kernel/")]
        return next(iter([*changed, *kernel, *sorted(last)]), "kernel/")

    def _of(self, tree: str) -> list[Validated]:
        return [validation for validation in self.source.validations if validation.tree == tree]

    def _regions(self, lines: Iterable[Line]) -> list[dict[str, Any]]:
        """Locations of living lines, one a run of neighbours."""
        numbers: dict[str, list[int]] = {}
        for line in lines:
            numbers.setdefault(line.path, []).append(self._numbers[line.id])
        return [
            _whole(path, {"startLine": first, "endLine": last})
            for path, found in sorted(numbers.items())
            for first, last in ranges(found)
        ]

    @cached_property
    def _numbers(self) -> dict[tuple[int, str], int]:
        return {
            line.id: number
            for lines in self.source.lines.at(self.source.last.revision).values()
            for number, line in enumerate(lines, start=1)
        }

    def _benchmark_rule(self, kind: str) -> str:
        words = {
            "case": "A case of the operator does not match its reference.",
            "build": "The workspace does not build.",
            "command": "A command line of the program does not do what it should.",
        }
        return self._rule("benchmark", kind, words.get(kind, f"A benchmark of kind {kind} failed."))

    def _rule(self, room: str, name: str, summary: str) -> str:
        rule = f"{room}/{name}"
        if rule not in self.rules:
            text = clean(summary).strip() or rule
            text = text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
            self.rules[rule] = {
                "id": rule,
                "shortDescription": {"text": text},
                "properties": {"tags": [room]},
            }
        return rule

    def _result(
        self,
        rule: str,
        level: str,
        message: str,
        locations: list[dict[str, Any]],
        identity: list[str],
        properties: Mapping[str, Any],
    ) -> _Result:
        # A place is where to look, the others are where else: SARIF keeps `locations` for the first.
        others = [{**location, "id": number} for number, location in enumerate(locations[1:], start=1)]
        return {
            "ruleId": rule,
            "ruleIndex": list(self.rules).index(rule),
            "level": level,
            "message": {"text": capped(clean(message), _MOST_CHARACTERS)},
            "locations": locations[:1],
            **({"relatedLocations": others} if others else {}),
            "partialFingerprints": {FINGERPRINT: sha256("\0".join([rule, *identity]).encode()).hexdigest()},
            "properties": dict(properties),
        }


def _named(made: Made) -> str:
    return made.author or made.cause


def _whole(path: str, region: Mapping[str, int] | None = None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(path), "uriBaseId": ROOT}}
    if region is not None:
        place["region"] = dict(region)
    return {"physicalLocation": place}


def _uri(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"), safe="/")

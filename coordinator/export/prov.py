"""The PROV export: what a task's lines derive from, who made them and what ended them, as PROV-JSON.

Entities are snippets, files at a revision, failures and evidence; activities are revisions and validations;
agents are models, entries and opmend itself. Format: W3C PROV-JSON submission of 2013, over PROV-DM.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import quote

from sqlalchemy.orm import Session

from coordinator.export.lines import Line, LineId
from coordinator.export.source import DOMAIN, TOOL, Failed, Made, Source, Validated, capped, clean, utc

_MOST_CONTENT = 2_000
_Section = dict[str, dict[str, Any]]


def export(session: Session, source: Source) -> Iterator[str]:
    """The document, in pieces: one section after the other."""
    del session  # the records hold all of it
    document = _Document(source)
    yield "{\n" + f'"prefix": {json.dumps(document.prefixes)}'
    for name, section in document.sections():
        yield f',\n"{name}": {{'
        for number, (key, value) in enumerate(section):
            yield f"{',' if number else ''}\n{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        yield "\n}"
    yield "\n}\n"


class _Document:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.prefixes = {"opmend": f"https://{DOMAIN}/ns#", "task": source.base}
        self.agents: dict[str, dict[str, Any]] = {}

    def sections(self) -> Iterator[tuple[str, Iterator[tuple[str, dict[str, Any]]]]]:
        """(Name, records) of each section that has a record."""
        for name, records in (
            ("entity", self._entities()),
            ("activity", self._activities()),
            ("agent", self._agents()),
            ("wasGeneratedBy", self._generated()),
            ("used", self._used()),
            ("wasInformedBy", self._informed()),
            ("wasAssociatedWith", self._associated()),
            ("actedOnBehalfOf", self._delegated()),
            ("wasDerivedFrom", self._derived()),
            ("wasInvalidatedBy", self._invalidated()),
        ):
            first = next(records, None)
            if first is not None:
                yield name, _again(first, records)

    def _entities(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for line in self.source.lines.all:
            yield (
                _snippet(line.id),
                _filled(
                    {
                        "prov:type": _name("opmend:Snippet"),
                        "prov:value": capped(clean(line.content), _MOST_CONTENT),
                        "opmend:path": clean(line.path),
                        "opmend:positionKey": line.key,
                        "opmend:scope": clean(line.scope),
                        "opmend:nodeKind": line.node_kind,
                    }
                ),
            )
        for made in self.source.revisions:
            for path, digest in self._changed_files(made):
                yield (
                    _file(made, path),
                    {
                        "prov:type": _name("opmend:File"),
                        "opmend:path": clean(path),
                        "opmend:revision": made.revision,
                        "opmend:sha256": digest,
                    },
                )
            for failed in made.failures:
                yield (
                    _failure(made, failed),
                    _filled(
                        {
                            "prov:type": _name("opmend:Failure"),
                            "prov:value": capped(failed.output, _MOST_CONTENT),
                            "opmend:benchmark": failed.benchmark,
                            "opmend:kind": failed.kind,
                        }
                    ),
                )
        for validation in self.source.validations:
            yield (
                _evidence(validation),
                {
                    "prov:type": _name("opmend:Evidence"),
                    "opmend:sha256": validation.digest,
                    "opmend:passed": validation.passed,
                    "opmend:failed": [
                        name for name, status in validation.tests if status not in {"passed", "cut"}
                    ],
                },
            )

    def _activities(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for made in self.source.revisions:
            yield (
                _revision(made),
                _filled(
                    {
                        "prov:endTime": utc(made.created_at),
                        "prov:type": _name("opmend:Revision"),
                        "opmend:round": made.round,
                        "opmend:revision": made.revision,
                        "opmend:cause": made.cause,
                        "opmend:direction": made.direction,
                        "opmend:explanation": made.explanation,
                        "opmend:tree": made.tree,
                    }
                ),
            )
        for validation in self.source.validations:
            yield (
                _validation(validation),
                {
                    "prov:endTime": utc(validation.created_at),
                    "prov:type": _name("opmend:Validation"),
                    "opmend:round": validation.round,
                    "opmend:caseSet": validation.case_set,
                    "opmend:tree": validation.tree,
                },
            )

    def _agents(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield _agent(TOOL), {"prov:type": _name("prov:SoftwareAgent"), "prov:label": TOOL}
        yield from self._others().items()

    def _others(self) -> _Section:
        found: _Section = {}
        for made in self.source.revisions:
            for name, kind in _makers(made):
                found[_agent(f"{kind}/{name}")] = {
                    "prov:type": [_name("prov:SoftwareAgent"), _name(f"opmend:{kind.capitalize()}")],
                    "prov:label": name,
                }
        return found

    def _generated(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, line in enumerate(self.source.lines.all):
            yield _relation("g", number), self._made(_snippet(line.id), line.created)
        for made in self.source.revisions:
            for number, (path, _) in enumerate(self._changed_files(made)):
                yield _relation(f"gf{made.revision}", number), self._made(_file(made, path), made.revision)
        for number, validation in enumerate(self.source.validations):
            yield (
                _relation("ge", number),
                {"prov:entity": _evidence(validation), "prov:activity": _validation(validation)},
            )

    def _made(self, entity: str, revision: int) -> dict[str, Any]:
        return {"prov:entity": entity, "prov:activity": _revision(self.source.revisions[revision])}

    def _used(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for made in self.source.revisions:
            for number, failed in enumerate(made.failures):
                yield (
                    _relation(f"u{made.revision}", number),
                    {"prov:activity": _revision(made), "prov:entity": _failure(made, failed)},
                )
        for number, validation in enumerate(self.source.validations):
            revision = self.source.revision_of.get(validation.tree)
            if revision is None:
                continue
            for place, (path, made) in enumerate(self._files[revision].items()):
                yield (
                    _relation(f"v{number}", place),
                    {"prov:activity": _validation(validation), "prov:entity": _file(made, path)},
                )

    def _informed(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """A revision answers the validation whose failure it mends."""
        jobs = {validation.job_id: validation for validation in self.source.validations}
        for made in self.source.revisions:
            if made.answers in jobs:
                yield (
                    _relation("i", made.revision),
                    {
                        "prov:informed": _revision(made),
                        "prov:informant": _validation(jobs[made.answers]),
                    },
                )

    def _associated(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for made in self.source.revisions:
            makers = [_agent(f"{kind}/{name}") for name, kind in _makers(made)] or [_agent(TOOL)]
            for number, agent in enumerate(makers):
                if made.cause != "initial":  # nobody knows who wrote the baseline
                    yield (
                        _relation(f"a{made.revision}", number),
                        {"prov:activity": _revision(made), "prov:agent": agent},
                    )
        for number, validation in enumerate(self.source.validations):
            yield (
                _relation("av", number),
                {"prov:activity": _validation(validation), "prov:agent": _agent(TOOL)},
            )

    def _delegated(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, agent in enumerate(self._others()):
            yield _relation("d", number), {"prov:delegate": agent, "prov:responsible": _agent(TOOL)}

    def _derived(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, edge in enumerate(self.source.lines.edges):
            child = self.source.lines.by_id[edge.child]
            kinds = [_name(f"opmend:{edge.kind}")]
            if edge.kind == "modified":
                kinds.append(_name("prov:Revision"))
            yield (
                _relation("l", number),
                {
                    "prov:generatedEntity": _snippet(edge.child),
                    "prov:usedEntity": _snippet(edge.parent),
                    "prov:activity": _revision(self.source.revisions[child.created]),
                    "prov:type": kinds,
                },
            )

    def _invalidated(self) -> Iterator[tuple[str, dict[str, Any]]]:
        tombstones: list[Line] = [line for line in self.source.lines.all if line.disabled is not None]
        for number, line in enumerate(tombstones):
            assert line.disabled is not None
            ended = self.source.revisions[line.disabled]
            yield (
                _relation("t", number),
                {
                    "prov:entity": _snippet(line.id),
                    "prov:activity": _revision(ended),
                    "prov:time": utc(ended.created_at),
                },
            )

    def _changed_files(self, made: Made) -> list[tuple[str, str]]:
        """(Path, SHA-256) of the files that a revision made or changed."""
        before = self.source.revisions[made.revision - 1].files if made.revision else {}
        return [(path, digest) for path, digest in sorted(made.files.items()) if before.get(path) != digest]

    @cached_property
    def _files(self) -> list[dict[str, Made]]:
        """For each revision: path → the revision that made the file as it is."""
        found: list[dict[str, Made]] = []
        for made in self.source.revisions:
            before = found[-1] if found else {}
            changed = {path: made for path, _ in self._changed_files(made)}
            found.append({path: changed.get(path) or before[path] for path in sorted(made.files)})
        return found


def _makers(made: Made) -> list[tuple[str, str]]:
    """(Name, kind) of who made a revision."""
    if made.cause not in {"rewrite", "session"}:
        return []
    if made.cause == "rewrite" and made.entry_ids:
        return [(entry, "entry") for entry in made.entry_ids]
    return [(made.model or "unknown", "model")]


def _again(
    first: tuple[str, dict[str, Any]], rest: Iterator[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield first
    yield from rest


def _filled(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value != ""}


def _name(value: str) -> dict[str, str]:
    return {"$": value, "type": "prov:QUALIFIED_NAME"}


def _local(*parts: object) -> str:
    return "task:" + "/".join(quote(str(part), safe="") for part in parts)


def _snippet(line: LineId) -> str:
    return _local("snippet", *line)


def _file(made: Made, path: str) -> str:
    return _local("file", made.revision, clean(path))


def _failure(made: Made, failed: Failed) -> str:
    return _local("failure", made.revision, failed.benchmark)


def _evidence(validation: Validated) -> str:
    return _local("evidence", validation.job_id)


def _revision(made: Made) -> str:
    return _local("revision", made.revision)


def _validation(validation: Validated) -> str:
    return _local("validation", validation.job_id)


def _agent(name: str) -> str:
    return "opmend:" + quote(f"agent/{name}", safe="/")


def _relation(kind: str, number: int) -> str:
    return f"_:{kind}-{number}"

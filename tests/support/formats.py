"""Judges of what `opmend export` writes: each reads an export as its own readers would, and complains."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from prov.model import ProvDocument
from pydantic import BaseModel
from sarif_pydantic import Sarif

UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
URI = "^[a-z][a-z0-9+.-]*:[!#-;=?-Z_a-z~%\\[\\]]+$"


def _closed(required: str, optional: str = "", **properties: Any) -> dict[str, Any]:
    assert {*required.split(), *optional.split()} == set(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


# The fields of the RFC (research/provenance.md lists them), and no others.
_CONTRIBUTOR = _closed(
    "type",
    "model_id",
    type={"enum": ["human", "ai", "mixed", "unknown"]},
    model_id={"type": "string", "minLength": 1, "maxLength": 250},
)
_RANGE = _closed(
    "start_line end_line",
    "content_hash contributor",
    start_line={"type": "integer", "minimum": 1},
    end_line={"type": "integer", "minimum": 1},
    content_hash={"type": "string"},
    contributor=_CONTRIBUTOR,
)
_CONVERSATION = _closed(
    "ranges",
    "url contributor related",
    url={"type": "string", "pattern": URI},
    contributor=_CONTRIBUTOR,
    ranges={"type": "array", "items": _RANGE},
    related={
        "type": "array",
        "items": _closed("type url", type={"type": "string"}, url={"type": "string", "pattern": URI}),
    },
)
TRACE_RECORD = _closed(
    "version id timestamp files",
    "vcs tool metadata",
    version={"const": "0.1.0"},
    id={"type": "string", "pattern": UUID},
    timestamp={
        "type": "string",
        "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$",
    },
    vcs=_closed(
        "type revision", type={"const": "git"}, revision={"type": "string", "pattern": "^[0-9a-f]{40}$"}
    ),
    tool=_closed("name version", name={"type": "string"}, version={"type": "string"}),
    files={
        "type": "array",
        "items": _closed(
            "path conversations",
            path={"type": "string", "minLength": 1},
            conversations={"type": "array", "items": _CONVERSATION},
        ),
    },
    metadata={"type": "object"},
)


def git(directory: Path, *arguments: str) -> bytes:
    """What a git command prints; it must succeed, whatever the git settings of this machine are."""
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        capture_output=True,
        env={
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
        },
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def judged_git(directory: Path) -> list[str]:
    """The commits of `main`, oldest first, of a repository without a flaw."""
    done = subprocess.run(
        ["git", "-C", str(directory), "fsck", "--strict", "--full"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert "dangling" not in done.stderr
    return git(directory, "rev-list", "--reverse", "main").decode().split()


def authorship(note: str) -> tuple[dict[str, dict[str, list[int]]], dict[str, Any]]:
    """A note of the Git AI Standard: file → agent → line numbers, and the metadata."""
    attestation, divider, metadata = note.partition("---\n")
    assert divider
    files: dict[str, dict[str, list[int]]] = {}
    for line in attestation.splitlines():
        entry = re.fullmatch(r"  ([0-9a-f]{16}) (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)", line)
        if entry is None:
            assert line == line.lstrip()
            assert line
            path = line[1:-1] if line.startswith('"') else line
            files[path] = {}
            continue
        numbers: list[int] = []
        for part in entry[2].split(","):
            first, _, last = part.partition("-")
            numbers += range(int(first), int(last or first) + 1)
        assert numbers == sorted(set(numbers))
        assert numbers[0] >= 1
        files[path][entry[1]] = numbers
    log = json.loads(metadata)
    assert log["schema_version"] == "authorship/3.0.0"
    assert all(files.values()), "a file without an agent has no place there"
    assert {agent for agents in files.values() for agent in agents} <= set(log["prompts"])
    for prompt in log["prompts"].values():
        assert set(prompt["agent_id"]) == {"tool", "id", "model"}
        for count in ("total_additions", "total_deletions", "accepted_lines", "overridden_lines"):
            assert isinstance(prompt[count], int)
        assert {message["type"] for message in prompt["messages"]} <= {"user", "assistant"}
    return files, log


def judged_traces(text: str) -> list[dict[str, Any]]:
    """The records of an Agent Trace export."""
    records = [json.loads(line) for line in text.split("\n") if line]
    for record in records:
        jsonschema.validate(record, TRACE_RECORD)
        for file in record["files"]:
            for conversation in file["conversations"]:
                assert all(one["start_line"] <= one["end_line"] for one in conversation["ranges"])
    assert len({record["id"] for record in records}) == len(records)
    return records


def judged_statements(text: str) -> list[dict[str, Any]]:
    """The Statements of an in-toto export."""
    found = []
    for line in filter(None, text.split("\n")):
        statement = json_format.Parse(line, statement_pb2.Statement())
        Statement.copy_from_pb(statement).validate()
        raw = json.loads(line)
        json_format.ParseDict(raw["predicate"], test_result_pb2.TestResult())
        assert raw["predicate"]["result"] in {"PASSED", "WARNED", "FAILED"}
        assert raw["predicate"]["configuration"]
        found.append(raw)
    return found


def judged_sarif(text: str) -> dict[str, Any]:
    """The one run of a SARIF export."""
    raw = json.loads(text)
    log = Sarif.model_validate(raw)
    # The package's models let any field pass; one that it does not know would be a slip of ours, but for these.
    assert _unknown(log) <= {"columnKind", "asOfTimeUtc"}
    (run,) = raw["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]
        for location in [*result["locations"], *result.get("relatedLocations", [])]:
            region = location["physicalLocation"].get("region")
            assert region is None or 1 <= region["startLine"] <= region["endLine"]
        assert result["partialFingerprints"]
    return run


def _unknown(model: BaseModel) -> set[str]:
    found = set(model.model_extra or ())
    for name in type(model).model_fields:
        value = getattr(model, name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, BaseModel):
                found |= _unknown(one)
    return found


def judged_prov(text: str) -> tuple[ProvDocument, dict[str, Any]]:
    """A PROV-JSON export, read by a PROV library, and as it is; every name that it uses is declared in it."""
    document = ProvDocument.deserialize(content=text, format="json")
    raw = json.loads(text)
    declared = {*raw.get("entity", ()), *raw["activity"], *raw["agent"]}
    for section, records in raw.items():
        if section in {"prefix", "entity", "activity", "agent"}:
            continue
        for record in records.values():
            for role, value in record.items():
                if role not in {"prov:time", "prov:type"}:
                    assert value in declared, (section, role, value)
    assert len(document.records) == sum(len(records) for name, records in raw.items() if name != "prefix")
    return document, raw

"""Exports of a task's provenance: in-toto, SARIF and PROV, each judged by a reader of its format."""

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from coordinator.export.objects import commits
from schema.database import Database
from schema.lineage import why
from schema.results import CaseStatus, Finding, Forensics
from schema.snippets import snippets_at
from schema.tables import (
    LineageEdge,
    Revision,
    Snippet,
    Verdict,
)
from tests.support.formats import (
    judged_prov,
    judged_sarif,
    judged_statements,
)
from tests.support.told import GUARDED, SECRET, Told, tell, validate


@pytest.fixture
def told(database: Database) -> Iterator[Told]:
    with database.transaction() as session:
        yield tell(session)


P, M, C = CaseStatus.PASSED, CaseStatus.MISMATCH, CaseStatus.CUT


def test_in_toto_tells_each_validation(told: Told) -> None:
    session, task = told.session, told.task
    digests = [
        validate(session, task, 0, {"a #0": P, "b #1": M}),
        validate(session, task, 1, {"a #0": P, "b #1": P, "c #2": C}),
        validate(session, task, 2, {"a #0": P, "b #1": P}),
        validate(session, task, 2, {"a #0": P}, complete=False),
        validate(session, task, 3, {"a #0": P}),
    ]
    trees = [session.get_one(Revision, (task.id, revision)).tree for revision in range(4)]
    session.add(Verdict(task_id=task.id, tree=trees[1], verdict="CHEAT", origin="scan", body={}))
    session.add(Verdict(task_id=task.id, tree=trees[1], verdict="CLEAN", origin="resolution", body={}))
    session.add(Verdict(task_id=task.id, tree=trees[3], verdict="CHEAT", origin="scan", body={}))
    session.flush()
    statements = judged_statements(told.text("in-toto"))
    predicates = [statement["predicate"] for statement in statements]
    assert [one["result"] for one in predicates] == ["FAILED", "WARNED", "PASSED", "FAILED", "FAILED"]
    assert [one["passedTests"] for one in predicates] == [
        ["a #0"],
        ["a #0", "b #1", "integrity"],
        ["a #0", "b #1"],
        ["a #0"],
        ["a #0"],
    ]
    assert [one["failedTests"] for one in predicates] == [["b #1"], [], [], [], ["integrity"]]
    assert [one["warnedTests"] for one in predicates] == [[], ["c #2"], [], [], []]
    for statement, revision, evidence in zip(statements, (0, 1, 2, 2, 3), digests, strict=True):
        assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
        subject = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
        assert subject == {
            path: hashlib.sha256(data).hexdigest() for path, data in told.bytes_at(revision).items()
        }
        assert statement["predicate"]["configuration"][-1]["digest"]["sha256"] == evidence
    assert len(judged_statements(told.text("in-toto", 1))) == 2


def places(result: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    found = []
    for location in [*result["locations"], *result.get("relatedLocations", [])]:
        place = location["physicalLocation"]
        region = place.get("region", {})
        found.append((place["artifactLocation"]["uri"], region.get("startLine"), region.get("endLine")))
    return found


def test_sarif_puts_failures_at_the_lines_that_they_changed(told: Told) -> None:
    run = judged_sarif(told.text("sarif"))
    results = {result["properties"]["revision"]: result for result in run["results"]}
    assert set(results) == {1, 2, 3}
    assert places(results[1]) == [("kernel/add.cpp", 5, 5)]
    assert places(results[2]) == [("kernel/add.cpp", 6, 6), ("kernel/data/odd%20file.txt", 1, 5)]
    # Revision 3 came to nothing but for what came back after it: its own line, and the file that it dropped.
    (_, first, last), odd = places(results[3])
    assert first <= 5 <= last
    assert odd == ("kernel/data/odd%20file.txt", 1, 5)
    assert {result["level"] for result in run["results"]} == {"note"}
    assert "Round 1: float16[7] #3 failed: expected 1.5" in results[1]["message"]["text"]
    assert "Answered by datacopy-pad" in results[1]["message"]["text"]
    assert run["versionControlProvenance"][0]["revisionId"] == commits(told.session, told.source())[-1]
    hashes = {one["location"]["uri"]: one["hashes"]["sha-256"] for one in run["artifacts"]}
    assert hashes["kernel/add.cpp"] == hashlib.sha256(GUARDED.encode()).hexdigest()


def test_a_fingerprint_survives_lines_that_move(told: Told) -> None:
    """In revision 3 a line was put in front; its export and that of 2 must know each other's results."""
    session, task = told.session, told.task
    finding = Finding(
        rule="datacopy-unaligned", message="not 32 bytes", file="kernel/add.cpp", line=6, count=3
    )
    # Revision 3 rewrites this line: its finding is still the one of its oldest ancestor.
    edited = Finding(rule="queue-leak", message="never freed", file="kernel/add.cpp", line=5)
    gone = Finding(rule="stack-smash", message="somewhere", severity="warning")
    validate(session, task, 2, {"float16[7] #3": M}, findings=(finding, gone, edited))
    validate(
        session,
        task,
        3,
        {"float16[7] #3": M},
        findings=(finding.model_copy(update={"line": 7}), edited.model_copy(update={"line": 6})),
        forensics=Forensics(hint="tail_spike", summary="It is the tail."),
    )
    runs = [judged_sarif(told.text("sarif", revision)) for revision in (2, 3)]
    found = [
        {
            (result["ruleId"], result["properties"].get("revision")): (
                result["partialFingerprints"]["opmendPositionKey/v1"],
                places(result),
                result["level"],
            )
            for result in run["results"]
        }
        for run in runs
    ]
    rewrite, case, unaligned = (
        ("benchmark/case", 1),
        ("benchmark/case", None),
        ("finding/datacopy-unaligned", None),
    )
    assert found[0][rewrite][1] == [("kernel/add.cpp", 5, 5)]
    assert found[1][rewrite][1] == [("kernel/add.cpp", 6, 6)]
    assert found[0][unaligned][1:] == ([("kernel/add.cpp", 6, 6)], "error")
    assert found[1][unaligned][1:] == ([("kernel/add.cpp", 7, 7)], "error")
    assert found[0][case][2] == found[1][case][2] == "error"
    leak = ("finding/queue-leak", None)
    assert (found[0][leak][1], found[1][leak][1]) == ([("kernel/add.cpp", 5, 5)], [("kernel/add.cpp", 6, 6)])
    for name in (rewrite, case, unaligned, leak):
        assert found[0][name][0] == found[1][name][0], name
    assert len({fingerprint for fingerprint, _, _ in found[1].values()}) == len(found[1])
    assert found[1]["forensics/tail_spike", None][2] == "warning"
    assert found[1]["finding/stack-smash", None][2] == "note"


def test_sarif_has_the_reasons_of_a_verdict(told: Told) -> None:
    session, task = told.session, told.task
    tree = session.get_one(Revision, (task.id, 4)).tree
    reason = {
        "rule": "torch-compute",
        "level": "cheat",
        "file": "model.py",
        "line": 1,
        "message": f"computes in Python, {SECRET}",
        "source_line": "x = 1",
    }
    whole = {**reason, "rule": "adapter-missing", "level": "suspect", "line": 0, "file": "gone.py"}
    session.add(
        Verdict(task_id=task.id, tree=tree, verdict="CHEAT", origin="scan", body={"reasons": [reason, whole]})
    )
    session.flush()
    run = judged_sarif(told.text("sarif"))
    results = {result["ruleId"]: result for result in run["results"]}
    assert results["integrity/torch-compute"]["level"] == "error"
    assert places(results["integrity/torch-compute"]) == [("model.py", 1, 1)]
    assert results["integrity/adapter-missing"]["level"] == "warning"
    assert results["integrity/adapter-missing"]["locations"] == []


def test_prov_is_lineage_tombstones_and_makers(told: Told) -> None:
    validate(told.session, told.task, 1, {"a #0": P})
    document, raw = judged_prov(told.text("prov"))
    assert stays_the_same(document)
    snippets = told.session.execute(select(Snippet)).scalars().all()
    entities = {name for name in raw["entity"] if name.startswith("task:snippet/")}
    assert len(entities) == len(snippets)
    ended = [one for one in snippets if one.disabled_revision is not None]
    assert len(raw["wasInvalidatedBy"]) == len(ended) > 0
    edges = told.session.execute(select(LineageEdge)).scalars().all()
    assert len(raw["wasDerivedFrom"]) == len(edges) > 0
    kinds = {one["$"] for record in raw["wasDerivedFrom"].values() for one in record["prov:type"]}
    assert {"opmend:modified", "opmend:restored", "prov:Revision"} <= kinds
    labels = {agent["prov:label"] for agent in raw["agent"].values()}
    assert labels == {"opmend", "datacopy-pad", "provider/some-model"}
    # The chain of `why` can be walked in the document alone.
    chain = [step.position_key for step in why(told.session, told.task.id, "kernel/add.cpp", 5).steps]
    file_id = snippets_at(told.session, told.task.id, path="kernel/add.cpp")[0].file_id
    parents = {
        (one["prov:generatedEntity"], one["prov:usedEntity"]) for one in raw["wasDerivedFrom"].values()
    }
    for child, parent in itertools.pairwise(chain):
        assert (f"task:snippet/{file_id}/{child}", f"task:snippet/{file_id}/{parent}") in parents
    assert len(chain) > 1


def stays_the_same(document: Any) -> bool:
    return bool(
        type(document).deserialize(content=document.serialize(format="json"), format="json") == document
    )

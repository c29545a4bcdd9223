"""The in-toto export: one Statement a validation, JSON Lines.

Formats: in-toto Attestation Framework, Statement v1; predicate Test Result v0.1. The subject is every file of
the validated tree by its SHA-256. Statements are not signed: sign them with a tool of your own.
"""

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy.orm import Session

from coordinator.export.source import Source, Validated, clean, utc
from schema.results import CaseStatus

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
# The integrity verdict counts as a test: a kernel that cheats has not passed.
INTEGRITY = "integrity"


def export(session: Session, source: Source) -> Iterator[str]:
    """The Statements, oldest first, each on a line of its own."""
    del session  # the records hold all of it
    for validation in source.validations:
        yield json.dumps(_statement(source, validation), ensure_ascii=False) + "\n"


def _statement(source: Source, validation: Validated) -> dict[str, Any]:
    subject = [
        {"name": clean(path), "digest": {"sha256": digest}}
        for path, digest in sorted(validation.files.items())
    ]
    return {
        "_type": STATEMENT_TYPE,
        # A Statement needs a subject: an empty workspace is its manifest.
        "subject": subject or [{"name": "tree", "digest": {"sha256": validation.tree}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate(source, validation),
    }


def _predicate(source: Source, validation: Validated) -> dict[str, Any]:
    passed = [name for name, status in validation.tests if status == CaseStatus.PASSED]
    # Left out by the size limit: reduced coverage, never a pass.
    warned = [name for name, status in validation.tests if status == CaseStatus.CUT]
    failed = [name for name, status in validation.tests if status not in {CaseStatus.PASSED, CaseStatus.CUT}]
    judged = source.verdict(validation.tree)
    if judged is not None:
        {"CLEAN": passed, "SUSPECT": warned}.get(judged.verdict, failed).append(INTEGRITY)
    # A validation that did not come to its end has not passed, whatever its cases say.
    result = "FAILED" if failed or not validation.passed else "WARNED" if warned else "PASSED"
    return {
        "result": result,
        "configuration": _configuration(source, validation),
        "url": source.uri("evidence", validation.digest),
        "passedTests": passed,
        "warnedTests": warned,
        "failedTests": failed,
    }


def _configuration(source: Source, validation: Validated) -> list[dict[str, Any]]:
    """What the result hangs on: the frozen cohort, the frozen workspace, and the evidence itself."""
    revision = source.revision_of.get(validation.tree)
    return [
        {"name": f"cohort/{source.cohort}", "digest": {"sha256": source.cohort_digest}},
        {"name": "baseline", "digest": {"sha256": source.revisions[0].tree}},
        {
            "name": "evidence",
            "digest": {"sha256": validation.digest},
            "annotations": {
                "task": source.task,
                "operator": source.name,
                "round": validation.round,
                **({} if revision is None else {"revision": revision}),
                "tree": validation.tree,
                "caseSet": validation.case_set,
                "seed": str(validation.body.seed),
                "coverage": validation.coverage,
                **({} if validation.match_rate is None else {"matchRate": validation.match_rate}),
                "failureType": validation.body.failure_type.value,
                "finishedOn": utc(validation.created_at),
            },
        },
    ]

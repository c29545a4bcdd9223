"""The knowledge base itself: every entry holds what it says, and retrieval is deterministic."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.context import RewriteContext
from kb.entry import CATEGORIES, HINTS, Entry, entry_by_id, load_entries, read_entry
from kb.lint import lint, lint_directory
from kb.retrieve import retrieve
from kb.rewrite import rewrites
from schema.errors import EntryError, NotFound
from schema.results import (
    CaseResult,
    CaseSet,
    CaseStatus,
    Deviation,
    FailureType,
    Finding,
    Forensics,
    Validation,
)

CONTEXTS = st.builds(
    RewriteContext,
    failure_type=st.sampled_from(
        [FailureType.PRECISION_FAILED, FailureType.TIMEOUT, FailureType.RUNTIME_ERROR]
    ),
    category=st.sampled_from(["", *CATEGORIES]),
    hints=st.lists(st.sampled_from(HINTS), unique=True, max_size=3).map(tuple),
    findings=st.lists(
        st.builds(Finding, rule=st.sampled_from(["datacopy-unaligned", "queue-leak"]), message=st.just("")),
        max_size=2,
    ).map(tuple),
)


@pytest.mark.parametrize("entry", load_entries(), ids=lambda entry: entry.id)
def test_the_rewrite_of_an_entry_turns_before_into_after_and_leaves_after_alone(entry: Entry) -> None:
    assert lint([entry]) == ()


def test_there_are_entries_for_every_known_pattern_and_every_rewrite_has_one() -> None:
    entries = load_entries()
    assert len(entries) >= 42
    assert {entry.rewrite for entry in entries if entry.rewrite} == set(rewrites())


def test_the_shipped_directory_is_clean() -> None:
    import kb

    assert lint_directory(Path(kb.__file__).parent / "entries") == ()


def test_lint_names_what_is_wrong(tmp_path: Path) -> None:
    good = load_entries()[0].model_dump(mode="json")
    bad = good | {"id": "wrong-one", "categories": ["nonsense"], "rewrite": "no-such-rewrite"}
    (tmp_path / "wrong-one.json").write_text(json.dumps(bad))
    (tmp_path / "torn.json").write_text('{"id": ')
    text = " ".join(error.message for error in lint_directory(tmp_path))
    assert "nonsense" in text
    assert "no-such-rewrite" in text
    assert "no JSON" in text


def test_an_example_that_its_rewrite_does_not_reach_is_reported() -> None:
    entry = next(entry for entry in load_entries() if entry.rewrite == "cast-mode")
    assert entry.example is not None
    twisted = entry.model_copy(
        update={"example": entry.example.model_copy(update={"before": entry.example.after})}
    )
    assert any("finds nothing" in error.message for error in lint([twisted]))


def test_a_broken_entry_says_which_field(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"id": "x", "title": "short title"}))
    with pytest.raises(EntryError, match=r"x\.json.*: failure_types"):
        read_entry(path)


def test_an_unknown_id_is_not_found() -> None:
    with pytest.raises(NotFound, match="no-such-entry"):
        entry_by_id("no-such-entry")


@settings(deadline=None)
@given(CONTEXTS)
def test_retrieval_is_gated_by_the_failure_type_sorted_and_repeatable(context: RewriteContext) -> None:
    matches = retrieve(context, most=None)
    assert matches == retrieve(context, most=None, entries=reversed(load_entries()))
    assert all(context.failure_type in match.entry.failure_types for match in matches)
    assert [(-match.score, match.entry.id) for match in matches] == sorted(
        (-match.score, match.entry.id) for match in matches
    )


def test_a_finding_outweighs_a_hint() -> None:
    finding = Finding(rule="datacopy-unaligned", message="")
    context = RewriteContext(category="reduction", hints=("uniform_offset",), findings=(finding,))
    assert retrieve(context)[0].entry.id == "datacopy-whole-blocks"


def test_the_source_decides_which_entries_can_apply() -> None:
    context = RewriteContext(category="elementwise", hints=("all_wrong",))
    ids = {match.entry.id for match in retrieve(context, files={"kernel/a.h": "int unused;"}, most=None)}
    assert "datacopy-whole-blocks" not in ids
    code = {"kernel/a.h": entry_by_id("lost-remainder").example.before}  # type: ignore[union-attr]
    first = retrieve(context, files=code)[0]
    assert first.entry.id == "lost-remainder"
    assert any("applies at 1 places" in reason for reason in first.reasons)


def test_a_validation_becomes_a_context() -> None:
    def case(index: int, dtype: str, wrong: int) -> CaseResult:
        status = CaseStatus.MISMATCH if wrong else CaseStatus.PASSED
        deviation = Deviation(output="0", dtype=dtype, shape=(4,), mismatched=wrong, total=4)
        return CaseResult(index=index, name=dtype, status=status, deviations=(deviation,))

    validation = Validation(
        case_set=CaseSet.COMPACT,
        failure_type=FailureType.PRECISION_FAILED,
        cases=(case(0, "float32", 0), case(1, "float16", 2)),
        forensics=Forensics(hint="magnitude_correlated", hints=("magnitude_correlated", "all_wrong")),
    )
    context = RewriteContext.of(validation, category="scan")
    assert context.failing_dtypes == {"float16"}
    assert context.passing_dtypes == ("float32",)
    assert context.hints == ("magnitude_correlated", "all_wrong")
    assert retrieve(context)[0].entry.id == "scan-rounds-each-step"

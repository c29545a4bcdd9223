"""Kernels written from AscendC's interface alone, without a look at the simulator or the rewrites.

Each workspace under tests/kernels/unseen holds a right kernel; near_misses.toml turns it into wrong ones. The right
kernel must pass, the wrong ones must be noticed, and what the knowledge base is said to mend must be mended.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from coordinator.integrity import scan
from kb.context import RewriteContext
from kb.entry import load_entries
from kb.rewrite import propose
from npu_worker.check import check
from schema.results import CaseSet, FailureType, Validation

UNSEEN = Path(__file__).parents[1] / "kernels" / "unseen"
OPERATORS = sorted(place.name for place in UNSEEN.iterdir())
QUICK = ("GlobalNorm", "RowScale", "UnfoldGrad")


def near_misses(operator: str) -> list[dict[str, Any]]:
    return list(tomllib.loads((UNSEEN / operator / "near_misses.toml").read_text())["near_miss"])


MISSES = [(operator, miss) for operator in OPERATORS for miss in near_misses(operator)]


def texts(operator: str) -> dict[str, str]:
    """The right workspace."""
    place = UNSEEN / operator
    return {
        str(path.relative_to(place)): path.read_text()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != "near_misses.toml"
    }


def broken(operator: str, miss: dict[str, Any]) -> dict[str, str]:
    """The workspace of a near miss."""
    files = texts(operator)
    for path, old, new in miss["edits"]:
        assert old in files[path], f"{operator}: {miss['name']} edits what is not there"
        files[path] = files[path].replace(old, new)
    return files


def validated(files: dict[str, str], place: Path) -> dict[str, Any]:
    """What `opmend check --cases full` finds, less the integrity scan."""
    for path, text in files.items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return check(place, cases=CaseSet.FULL)


def context_of(result: dict[str, Any]) -> RewriteContext:
    return RewriteContext.of(
        Validation.model_validate(result["validation"]), category=result["workspace"]["category"]
    )


def named(miss: tuple[str, dict[str, Any]]) -> str:
    return f"{miss[0]}-{miss[1]['name']}"


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_honest_kernel_is_clean(operator: str) -> None:
    report = scan(texts(operator))
    assert report.verdict == "CLEAN", report.reasons
    assert [step.kind for step in report.path][-1] == "kernel"


@pytest.mark.parametrize(
    "operator",
    [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in OPERATORS],
)
def test_the_right_kernel_passes_all_cases_without_a_finding(operator: str, tmp_path: Path) -> None:
    result = validated(texts(operator), tmp_path)
    assert result["compilation"]["ok"], result["compilation"]["log"]
    assert result["failure_type"] == "success", result["validation"]["message"]
    # What is right here and fragile on a device is a warning: cores that write scalars into one cache line of 64 bytes,
    # and a buffer widened in place.
    fragile = {("cache-line-shared", "warning"), ("operand-overlap", "warning")}
    found = {(one["rule"], one["severity"]) for one in result["validation"]["findings"]}
    assert found <= fragile, result["validation"]["findings"]


@pytest.mark.parametrize("miss", [one for one in MISSES if one[1]["mended"] == "exact"], ids=named)
def test_a_rewrite_gives_back_the_right_text(miss: tuple[str, dict[str, Any]]) -> None:
    operator, facts = miss
    wanted = {path: "".join(text.split()) for path, text in texts(operator).items()}
    files = broken(operator, facts)
    context = RewriteContext(
        failure_type=FailureType.PRECISION_FAILED, hints=("all_wrong",), category="other"
    )
    offered = [
        {path: "".join(text.split()) for path, text in {**files, **proposal.files}.items()}
        for entry in load_entries()
        for proposal in propose(files, entry, context)
    ]
    assert wanted in offered


@pytest.mark.slow
@pytest.mark.parametrize("miss", MISSES, ids=named)
def test_a_near_miss_is_noticed_and_what_rewrites_mend_passes(
    miss: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    operator, facts = miss
    files = broken(operator, facts)
    result = validated(files, tmp_path / "wrong")
    assert result["compilation"]["ok"], result["compilation"]["log"]
    assert result["failure_type"] in ("precision_failed", "runtime_error"), result["validation"]["message"]
    if facts["mended"] == "no":
        return
    context = context_of(result)
    changed = [
        {**files, **proposal.files}
        for entry in load_entries()
        if context.failure_type in entry.failure_types
        for proposal in propose(files, entry, context)
    ]
    assert any(
        validated(one, tmp_path / f"trial{number}")["failure_type"] == "success"
        for number, one in enumerate(changed)
    )

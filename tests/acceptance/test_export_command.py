"""`opmend export` on tasks of a real run: every format, judged by a reader of its own."""

import hashlib
from pathlib import Path

import pytest

from tests.acceptance.conftest import FirstRun
from tests.support.command import Opmend
from tests.support.formats import (
    authorship,
    git,
    judged_git,
    judged_prov,
    judged_sarif,
    judged_statements,
    judged_traces,
)

pytestmark = pytest.mark.timeout(600)

TEXTS = {
    "agent-trace": judged_traces,
    "in-toto": judged_statements,
    "sarif": judged_sarif,
    "prov": judged_prov,
}
FILE = "kernel/tiny_add.h"


def exported(opmend: Opmend, task: str, format: str) -> str:
    done = opmend("export", task, "--format", format)
    assert (done.code, done.err) == (0, ""), done
    return done.out


@pytest.mark.parametrize("name", ["TailAdd", "TwiceAdd", "CheatAdd", "BrokenAdd"])
def test_tasks_of_every_end_can_be_exported(
    first_run: FirstRun, stack: Opmend, tmp_path: Path, name: str
) -> None:
    (task,) = [str(row["task"]) for row in stack.json("report", "1")["tasks"] if row["name"] == name]
    for format, judged in TEXTS.items():
        judged(exported(stack, task, format))
    done = stack("export", task, "-f", "git", "-o", str(tmp_path / "r"))
    assert done.code == 0, done
    commits = judged_git(tmp_path / "r")
    for commit in commits:
        authorship(git(tmp_path / "r", "notes", "--ref=ai", "show", commit).decode())


def test_a_repaired_line_is_told_alike_by_all(first_run: FirstRun, stack: Opmend, tmp_path: Path) -> None:
    blamed = stack.json("blame", FILE, "--task", "TailAdd")
    repaired = {line["line"] for line in blamed if line["benchmarks"]}
    benchmarks = {name for line in blamed for name in line["benchmarks"]}
    assert repaired
    assert benchmarks

    assert stack("export", "TailAdd", "-f", "git", "-o", str(tmp_path / "r")).code == 0
    last = judged_git(tmp_path / "r")[-1]
    text = git(tmp_path / "r", "show", f"{last}:{FILE}")
    assert text.decode() == "".join(line["content"] for line in blamed)
    attested, _ = authorship(git(tmp_path / "r", "notes", "--ref=ai", "show", last).decode())
    assert {number for numbers in attested[FILE].values() for number in numbers} == repaired

    traces = judged_traces(exported(stack, "TailAdd", "agent-trace"))
    assert traces[-1]["vcs"]["revision"] == last
    (file,) = [file for file in traces[-1]["files"] if file["path"] == FILE]
    (conversation,) = file["conversations"]
    assert {
        number for one in conversation["ranges"] for number in range(one["start_line"], one["end_line"] + 1)
    } == repaired
    assert {one["type"] for one in conversation["related"]} == {"benchmark", "evidence", "entry"}

    run = judged_sarif(exported(stack, "TailAdd", "sarif"))
    answered = [result for result in run["results"] if result["properties"]["state"] == "answered"]
    assert {result["properties"]["benchmark"] for result in answered} == benchmarks
    assert not [result for result in run["results"] if result["level"] == "error"]

    statements = judged_statements(exported(stack, "TailAdd", "in-toto"))
    assert statements[0]["predicate"]["result"] == "FAILED"
    assert benchmarks <= set(statements[0]["predicate"]["failedTests"])
    assert statements[-1]["predicate"]["result"] == "PASSED"
    digests = {one["name"]: one["digest"]["sha256"] for one in statements[-1]["subject"]}
    assert digests[FILE] == hashlib.sha256(text).hexdigest()

    _, prov = judged_prov(exported(stack, "TailAdd", "prov"))
    assert len(prov["wasInformedBy"]) == 1
    # The state before the repair is the first commit's.
    assert stack("export", "TailAdd", "-f", "git", "-o", str(tmp_path / "b"), "--round", "0").code == 0
    assert judged_git(tmp_path / "b") == judged_git(tmp_path / "r")[:1]


def test_a_cheat_has_not_passed(first_run: FirstRun, stack: Opmend) -> None:
    (task,) = [str(row["task"]) for row in stack.json("report", "1")["tasks"] if row["name"] == "CheatAdd"]
    for statement in judged_statements(exported(stack, task, "in-toto")):
        assert statement["predicate"]["result"] == "FAILED"
    run = judged_sarif(exported(stack, task, "sarif"))
    reasons = [result for result in run["results"] if result["ruleId"].startswith("integrity/")]
    assert "error" in {result["level"] for result in reasons}
    assert {
        location["physicalLocation"]["artifactLocation"]["uri"]
        for result in reasons
        for location in result["locations"]
    } >= {"model_new_ascendc.py"}


def test_a_build_that_fails_stands_where_the_compiler_points(first_run: FirstRun, stack: Opmend) -> None:
    (task,) = [str(row["task"]) for row in stack.json("report", "1")["tasks"] if row["name"] == "BrokenAdd"]
    run = judged_sarif(exported(stack, task, "sarif"))
    (result,) = [result for result in run["results"] if result["ruleId"] == "benchmark/build"]
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    path = place["artifactLocation"]["uri"]
    line = (first_run.cohort / "BrokenAdd" / path).read_text().splitlines()[place["region"]["startLine"] - 1]
    assert "conut" in line

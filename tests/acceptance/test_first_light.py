"""`opmend run` on a cohort, and what can be asked of the store that it leaves behind."""

import csv
import io

import pytest

from tests.acceptance.conftest import FirstRun
from tests.support.command import Opmend

pytestmark = pytest.mark.timeout(600)

ENDS = {  # variant: outcome, a word of the reason
    "BrokenAdd": ("not_near_miss", "conut"),
    "CheatAdd": ("rejected", "model_new_ascendc.py:11"),
    "CrashAdd": ("not_near_miss", "SIGSEGV"),
    "EndlessAdd": ("not_near_miss", "timeout"),
    "RightAdd": ("not_near_miss", "passes already"),
    "TailAdd": ("passed", "full set pass"),
    "ThrowAdd": ("not_near_miss", "no input is small enough"),
    "TwiceAdd": ("stopped", "no rewrite applies"),
}
TASK_KEYS = {
    "task",
    "name",
    "level",
    "arm",
    "trial",
    "outcome",
    "rounds",
    "turns",
    "tokens",
    "match_rate",
} | {
    "verdict",
    "coverage",
    "wall_s",
}


def repaired_line(first_run: FirstRun) -> int:
    """Where TailAdd goes wrong; the rewrite changes this line."""
    text = (first_run.cohort / "TailAdd/kernel/tiny_add.h").read_text().splitlines()
    return next(number for number, line in enumerate(text, 1) if "DataCopy(outGm" in line)


def test_a_cold_run_ends_every_task_and_leaves_no_process(first_run: FirstRun) -> None:
    assert first_run.done.code == 0, first_run.done
    assert "8 of 8 tasks ended: 5 not_near_miss, 1 passed, 1 rejected, 1 stopped. 0 turns, 0 tokens" in (
        " ".join(first_run.done.out.split())
    )
    assert not first_run.done.err
    assert not first_run.left


def test_a_second_run_works_at_once(first_run: FirstRun) -> None:
    assert first_run.again.code == 0, first_run.again
    report = first_run.again.json()
    assert report["run"]["run"] == 2
    assert [(task["name"], task["outcome"]) for task in report["tasks"]] == [("BrokenAdd", "not_near_miss")]


def test_the_report_has_the_keys_of_the_contract(first_run: FirstRun, stack: Opmend) -> None:
    report = stack.json("report", "1")
    assert {"run", "tasks", "totals"} <= set(report)
    for task in report["tasks"]:
        assert set(task) >= TASK_KEYS
        assert set(task["tokens"]) == {"input", "output", "cache_creation", "cache_read"}
        assert set(task["match_rate"]) == {"baseline", "compact", "full"}
    ends = {task["name"]: (task["outcome"], task["reason"]) for task in report["tasks"]}
    assert {name: outcome for name, (outcome, _) in ends.items()} == {
        name: outcome for name, (outcome, _) in ENDS.items()
    }
    for name, (_, word) in ENDS.items():
        assert word in ends[name][1], name
    tail = next(task for task in report["tasks"] if task["name"] == "TailAdd")
    assert tail["match_rate"] == {"baseline": 0.6, "compact": 1.0, "full": 1.0}
    assert (tail["rounds"], tail["turns"], sum(tail["tokens"].values())) == (1, 0, 0)
    assert (tail["verdict"], tail["coverage"]) == ("CLEAN", 1.0)
    assert report["totals"]["outcomes"] == {"not_near_miss": 5, "passed": 1, "rejected": 1, "stopped": 1}


def test_the_report_as_csv_says_the_same(first_run: FirstRun, stack: Opmend) -> None:
    done = stack("report", "1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["name"]: row["outcome"] for row in rows} == {name: end for name, (end, _) in ENDS.items()}
    assert next(row for row in rows if row["name"] == "TailAdd")["full"] == "1.0"


def test_why_names_the_failed_benchmark_behind_a_repaired_line(first_run: FirstRun, stack: Opmend) -> None:
    place = f"{first_run.cohort.name}/TailAdd/kernel/tiny_add.h:{repaired_line(first_run)}"
    done = stack("why", place)
    assert done.code == 0, done
    words = " ".join(done.out.split())
    assert "DataCopyPad(outGm[start], out" in words
    assert "round 1" in words
    assert "failed benchmark:" in words
    assert "elements differ" in words  # the deviation
    assert "explanation:" in words
    assert "entry applied:" in words
    found = stack.json("why", place)
    assert (found["name"], found["path"]) == ("TailAdd", "kernel/tiny_add.h")
    newest = found["steps"][0]
    assert (newest["round"], newest["cause"]) == (1, "rewrite")
    assert newest["failures"]
    assert newest["entry_ids"]
    assert newest["explanation"]
    entry = stack("kb", "show", newest["entry_ids"][0])
    assert entry.code == 0, entry


def test_why_says_that_an_unchanged_line_is_initial_code(first_run: FirstRun, stack: Opmend) -> None:
    for place, options in (("kernel/tiny_add.h:1", ["--task", "TailAdd"]), ("tiny/RightAdd/model.py:5", [])):
        done = stack("why", place, *options)
        assert done.code == 0, done
        assert "Initial code: no benchmark has changed this line." in done.out


def test_blame_and_history_tell_the_same_story(first_run: FirstRun, stack: Opmend) -> None:
    lines = stack.json("blame", "kernel/tiny_add.h", "--task", "TailAdd")
    changed = [line for line in lines if line["benchmarks"]]
    assert changed
    assert all(line["last_round"] == 1 for line in changed)
    assert [line["line"] for line in lines] == list(range(1, len(lines) + 1))
    before = stack.json("blame", "kernel/tiny_add.h", "--task", "TailAdd", "--round", "0")
    text = (first_run.cohort / "TailAdd/kernel/tiny_add.h").read_text().splitlines()
    assert [line["content"].rstrip("\n") for line in before] == text
    assert not any(line["benchmarks"] for line in before)
    changes = stack.json("history", "kernel/tiny_add.h", "--task", "TailAdd")
    assert [(change["round"], change["cause"]) for change in changes] == [(0, "initial"), (1, "rewrite")]
    assert changes[1]["failures"]
    for command in ("blame", "history"):
        done = stack(command, "tiny/TailAdd/kernel/tiny_add.h")
        assert (done.code, done.err) == (0, "")
        assert "DataCopyPad(outGm[start]" in done.out


def test_tasks_replay_and_verify(first_run: FirstRun, stack: Opmend) -> None:
    names = ("TailAdd", "TwiceAdd", "CheatAdd")
    commands = [[command, name] for command in ("replay", "verify") for name in names]
    for (command, _), done in zip(commands, stack.together(*commands), strict=True):
        assert (done.code, done.err) == (0, ""), done
        assert {"replay": "every decision the same", "verify": "unbroken chain"}[command] in done.out


def test_show_tells_a_task_whole(first_run: FirstRun, stack: Opmend) -> None:
    done = stack("show", "TailAdd")
    assert done.code == 0, done
    for words in ("outcome passed", "round 1", "tail_spike", "full", "12/12", "kernel/tiny_add.h"):
        assert words in done.out
    told = stack.json("show", "TailAdd")
    assert told["row"]["outcome"] == "passed"
    assert told["tree"] != told["baseline"]
    assert [line["case_set"] for line in told["validations"]] == ["compact", "compact", "full"]


def test_status_speaks_of_the_latest_run(first_run: FirstRun, stack: Opmend) -> None:
    found = stack.json("status", "1")
    assert {task["status"] for task in found["tasks"]} == {"finished"}
    assert {job["status"] for job in found["jobs"]} <= {"done", "cancelled"}
    assert set(found["stack"]["processes"]) == {"coordinator", "llm-1", "compile-1", "npu-1"}

"""Bad input: one clear line that says what, where and how to mend it; the right exit code; nothing written."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Done, Opmend
from tests.support.operators import lay_out, lay_out_cohort

pytestmark = pytest.mark.timeout(600)

Counts = Callable[[], tuple[int, int]]


def one_line(done: Done, *words: str, code: int = 2) -> None:
    """The command failed with this code and one line that holds all the words."""
    assert done.code == code, done
    assert "Traceback" not in done.err
    assert done.err.startswith("opmend: ")
    assert done.err.count("\n") == 1, done.err
    for word in words:
        assert word in done.err, (word, done.err)


def each_one_line(stack: Opmend, *wrong: tuple[list[str], tuple[str, ...]]) -> None:
    """Each of the commands fails with one line that holds its words."""
    for done, (_, words) in zip(stack.together(*(arguments for arguments, _ in wrong)), wrong, strict=True):
        one_line(done, *words)


@pytest.fixture
def tail(tmp_path: Path) -> Path:
    """A good cohort of one operator, to be spoiled; its folder is returned."""
    return lay_out_cohort(tmp_path / "spoiled", ["TailAdd"]) / "TailAdd"


def test_a_cohort_that_is_not_there(stack: Opmend, counts: Counts, tmp_path: Path) -> None:
    before = counts()
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    each_one_line(
        stack,
        (["run", "no/such/cohort"], ("no/such/cohort", "no such cohort", "starter")),
        (["submit", "no/such/cohort"], ("no/such/cohort", "no such cohort")),
        (["run", str(tmp_path / "empty")], ("holds no operator", "model.py")),
        (["run", str(tmp_path / "file")], ("is a file",)),
    )
    assert counts() == before


def spoil_adapter(place: Path) -> None:
    adapter = place / "model_new_ascendc.py"
    adapter.write_text(adapter.read_text().replace("class ModelNew", "class Another"))


def spoil_toml(place: Path) -> None:
    (place / "operator.toml").write_text('name = "TailAdd"\nlevel = \n')


def spoil_cases(place: Path) -> None:
    (place / "cases.toml").unlink()
    good = (
        '{"inputs": [{"name": "x", "type": "tensor", "required": true, "dtype": "float32", "shape": [8]}, '
        '{"name": "y", "type": "tensor", "required": true, "dtype": "float32", "shape": [8]}]}'
    )
    (place / "tail_add.json").write_text(f'{good}\n{good}\n{{"inputs": [,\n')


def spoil_reference(place: Path) -> None:
    (place / "model.py").unlink()


def spoil_binding(place: Path) -> None:
    (place / "kernel/pybind11.cpp").unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_adapter, ("model_new_ascendc.py", "ModelNew")),
        (spoil_cases, ("tail_add.json:3",)),
        (spoil_toml, ("operator.toml",)),
        (spoil_reference, ("model.py",)),
        (spoil_binding, ("pybind11.cpp",)),
    ],
)
def test_a_workspace_that_is_not_whole(
    spoil: Callable[[Path], None], words: tuple[str, ...], stack: Opmend, counts: Counts, tail: Path
) -> None:
    before = counts()
    spoil(tail)
    # Beside a good one, so that a half-stored run would show.
    lay_out(tail.parent, "RightAdd")
    one_line(stack("submit", str(tail.parent)), *words)
    assert counts() == before


def test_check_and_integrity_refuse_the_same(stack: Opmend, tail: Path) -> None:
    spoil_cases(tail)
    each_one_line(
        stack,
        (["check", str(tail)], ("tail_add.json:3",)),
        (["check", str(tail), "--cases", "most"], ("most", "--cases compact")),
        (["check", str(tail), "--device", "moon"], ("moon",)),
        (["check", str(tail / "nowhere")], ("nowhere",)),
        (["integrity", str(tail / "nowhere")], ("nowhere",)),
    )


def test_models_and_arms_that_can_not_be_had(stack: Opmend, counts: Counts, cohort: Path) -> None:
    before = counts()
    submit = ["submit", str(cohort)]
    each_one_line(
        stack,
        ([*submit, "--model", "parrot-9000"], ("parrot-9000", "unknown model", "'kb'")),
        ([*submit, "--model", "anthropic/claude-sonnet-4-5"], ("ANTHROPIC_API_KEY", "environment")),
        ([*submit, "--arm", "debug-no-luck"], ("debug-no-luck", "debug-no-kb")),
        ([*submit, "--arm", "regenerate"], ("regenerate", "not available")),
        ([*submit, "--arm", "debug-no-kb"], ("debug-no-kb", "--model")),
    )
    assert counts() == before


def test_lines_files_runs_and_tasks_that_are_not_there(stack: Opmend, counts: Counts) -> None:
    before = counts()
    tail = ["--task", "TailAdd"]
    each_one_line(
        stack,
        (["why", "kernel/tiny_add.h", *tail], ("no line given", "FILE:LINE")),
        (["why", "kernel/tiny_add.h:0", *tail], ("lines count from 1",)),
        (["why", "kernel/tiny_add.h:9999", *tail], ("9999", "lines")),
        (["why", "kernel/nothing.h:1"], ("kernel/nothing.h", "no task has such a file")),
        (["why", "kernel/tiny_add.h:1"], ("several operators", "--task")),
        (["why", "kernel/tiny_add.h:1", *tail, "--round", "77"], ("no round 77", "TailAdd")),
        (["blame", "kernel/nothing.h"], ("kernel/nothing.h",)),
        (["report", "4711"], ("no run 4711",)),
        (["report", "--format", "poem"], ("poem", "table")),
        (["status", "4711"], ("no run 4711",)),
        (["show", "Nobody"], ("Nobody", "TailAdd")),
        (["replay", "4711"], ("4711",)),
        (["cancel", "4711"], ("no run 4711",)),
        (["resume", "4711"], ("no run 4711",)),
        (["resume", "--task", "Nothing"], ("no task 'Nothing'", "known names")),
        (["resume", "1", "--task", "1"], ("a run and a task were named", "name one")),
        (["resume", "--task", "1"], ("task 1", "come to its own end", "submit")),
        (["resolve", "TailAdd", "--verdict", "FINE"], ("CLEAN or CHEAT",)),
        (["kb", "show", "no-such-entry"], ("no-such-entry", "kb list")),
        (["worker", "nosuch"], ("nosuch", "llm, compile, npu")),
    )
    assert counts() == before


def test_a_wrong_setting(opmend: Opmend) -> None:
    one_line(opmend("status", OPMEND_CASE_TIMEOUT="soon"), "case_timeout")


@pytest.mark.parametrize(
    "arguments", [["run"], ["submit", "a", "--trials", "0"], ["sing"], ["why"], ["up", "--moon"]]
)
def test_wrong_use_of_the_command_itself(arguments: list[str], opmend: Opmend) -> None:
    done = opmend(*arguments)
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert "Usage: opmend" in done.err


def test_servers_that_refuse(opmend: Opmend, stack: Opmend, cohort: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound and not listening: refuses for sure
        port = free.getsockname()[1]
        database = f"postgresql://me:hunter2@127.0.0.1:{port}/opmend"
        for command in (["run", str(cohort)], ["report"], ["coordinator"]):
            done = opmend(*command, DATABASE_URL=database)
            one_line(done, "127.0.0.1", str(port), "DATABASE_URL", code=3)
            assert "hunter2" not in done.err + done.out
        done = opmend("run", str(cohort), "--limit", "1", BROKER_URL=f"redis://:hunter2@127.0.0.1:{port}/0")
        one_line(done, "127.0.0.1", str(port), "BROKER_URL", code=3)
        assert "hunter2" not in done.err + done.out


def test_a_home_that_can_not_be_written(opmend: Opmend, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    one_line(opmend("report", OPMEND_HOME=str(tmp_path / "file" / "home")), "OPMEND_HOME")

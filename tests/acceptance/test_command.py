"""The command itself: its help, its doctor, its start."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from coordinator.cli import app, cohorts, knowledge, operators, processes, provenance, runs, stack, tasks
from tests.support.command import Opmend
from tests.support.operators import lay_out

COMMANDS = {
    "run",
    "up",
    "down",
    "doctor",
    "submit",
    "status",
    "watch",
    "cancel",
    "resume",
    "report",
    "check",
    "integrity",
} | {
    "why",
    "blame",
    "history",
    "show",
    "replay",
    "verify",
    "resolve",
    "cohort",
    "kb",
    "coordinator",
    "worker",
    "flower",
}


def every_command() -> Iterator[tuple[str, Any]]:
    """Each command of the tree with its words, as `main` builds it."""
    tree = typer.Typer(name="opmend")
    for group in (stack, runs, operators, provenance, tasks, processes):
        group.add_commands(tree)
    tree.add_typer(cohorts.app, name="cohort")
    tree.add_typer(knowledge.app, name="kb")

    def walk(words: str, command: Any) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "commands"):
            for name, below in command.commands.items():
                yield from walk(f"{words} {name}", below)
        else:
            yield words, command

    yield from walk("opmend", typer.main.get_command(tree))


def test_every_command_says_what_it_does_and_shows_an_example() -> None:
    found = dict(every_command())
    assert {words.split()[1] for words in found} == COMMANDS
    for words, command in found.items():
        assert command.help, words
        assert f"Example: `{words}" in command.epilog or words in command.epilog.split("`")[1], words
    assert app.info.name == "opmend"


def test_help_shows_the_example(opmend: Opmend) -> None:
    for words in (["--help"], ["why", "-h"], ["kb", "show", "--help"]):
        done = opmend(*words)
        assert (done.code, done.err) == (0, ""), done
        assert "Usage: opmend" in done.out
    assert "cohorts/starter/Add/kernel/add.cpp:42" in opmend("why", "--help").out


def test_doctor_finds_this_machine_whole(opmend: Opmend) -> None:
    done = opmend("doctor", "--json")
    assert done.code == 0, done
    found = done.json()
    assert found["works"]
    assert {"python", "parts", "servers", "g++", "torch", "sandbox"} <= {
        check["name"] for check in found["checks"]
    }
    assert all(check["works"] for check in found["checks"] if check["needed"])
    (roles,) = (check for check in found["checks"] if check["name"] == "roles")
    assert roles["works"], roles
    assert "workers as opmend_embedded_worker (opmend_worker)" in roles["found"]


def test_a_missing_compiler_gets_one_line_that_says_how_to_get_it(opmend: Opmend, tmp_path: Path) -> None:
    done = opmend("check", str(lay_out(tmp_path, "RightAdd")), PATH=str(tmp_path))
    assert done.code == 3, done
    assert done.err.count("\n") == 1
    assert "g++" in done.err
    assert "apt-get install g++" in done.err


def test_the_coordinator_is_cheap_to_import() -> None:
    code = "import sys, time; t = time.process_time(); import coordinator, coordinator.cli; "
    code += "print(time.process_time() - t, sorted({'torch', 'litellm', 'celery'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, heavy = done.stdout.split(maxsplit=1)
    assert heavy.strip() == "[]"
    assert float(seconds) < 0.5

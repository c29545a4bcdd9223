"""docs/commands.md against the application itself: every command, argument, option, and field of a JSON document."""

import ast
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordinator.integrity.report import IntegrityReport, PathStep, Reason
from coordinator.local.doctor import Check
from coordinator.report.faults import Fault
from coordinator.report.outcomes import MatchRates, Report, RunRow, TaskRow, Totals
from coordinator.report.provenance_metrics import ProvenanceMetrics, ProvenanceRow, Spread
from coordinator.report.story import Story
from schema.jobs import Tokens
from schema.lineage import (
    BlamedLine,
    Ending,
    Explanation,
    Failure,
    FileChange,
    Relative,
    Step,
    Tombstone,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "commands.md"

# main() puts the groups of commands on the application; a process of its own keeps this one as it was.
INTROSPECT = """
import contextlib, io, json, sys
import typer.main
from coordinator import cli
sys.argv = ["opmend", "--help"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    cli.main()
def walk(command, words):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(words), command
    for name, one in (inner or {}).items():
        yield from walk(one, [*words, name])
found = {}
for name, command in walk(typer.main.get_command(cli.app), []):
    kinds = {kind: [one for one in command.params if one.param_type_name == kind] for kind in ("option", "argument")}
    found[name] = {
        "options": sorted(flag for one in kinds["option"] for flag in [*one.opts, *one.secondary_opts]),
        "arguments": [[one.metavar or one.name.upper(), one.required] for one in kinds["argument"]],
        "help": command.help or "",
        "epilog": command.epilog or "",
    }
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", INTROSPECT], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """Heading without `opmend ` → text."""
    parts = re.split(r"^## opmend (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    return {
        heading.strip(): re.split(r"^# ", text, flags=re.MULTILINE)[0]
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def words(heading: str) -> str:
    """The command in a heading: its lower-case words."""
    return " ".join(word for word in heading.split() if word.islower())


def section(sections: dict[str, str], command: str) -> str:
    return next(text for heading, text in sections.items() if words(heading) == command)


def test_every_command_is_documented_once_and_none_is_invented(
    commands: dict[str, Any], sections: dict[str, str]
) -> None:
    assert sorted(words(heading) for heading in sections) == sorted(commands)


def test_headings_name_the_arguments(commands: dict[str, Any], sections: dict[str, str]) -> None:
    for heading in sections:
        told = [word for word in heading.split() if not word.islower()]
        real = [
            name if required else f"[{name.strip('[]')}]"
            for name, required in commands[words(heading)]["arguments"]
        ]
        assert told == real, heading


def test_every_option_is_documented_and_none_is_invented(
    commands: dict[str, Any], sections: dict[str, str]
) -> None:
    for heading, text in sections.items():
        rows = re.findall(r"^\| (`-[^|]*) \| ([^|]+) \|$", text, re.MULTILINE)
        told = sorted(flag for names, _ in rows for flag in re.findall(r"`(--?[\w-]+)`", names))
        assert told == [
            flag for flag in commands[words(heading)]["options"] if flag not in {"-h", "--help"}
        ], heading


def test_every_section_has_an_example_that_parses(commands: dict[str, Any], sections: dict[str, str]) -> None:
    for heading, text in sections.items():
        command = words(heading)
        (example,) = re.findall(r"^```\n(.+?)\n```$", text, re.MULTILINE | re.DOTALL)
        called = example[example.index("opmend ") :].split(" > ")[0].split()[1:]
        assert called[: len(command.split())] == command.split(), heading
        used = {word.split("=")[0] for word in called if re.match(r"--?[a-z]", word)}
        assert used <= set(commands[command]["options"]), heading
        needed = sum(required for _, required in commands[command]["arguments"])
        assert len(called) - len(command.split()) >= needed, heading


def test_every_section_says_its_exit_codes(sections: dict[str, str]) -> None:
    for heading, text in sections.items():
        assert re.search(r"^Exit: \S", text, re.MULTILINE), heading


def test_every_command_has_help_with_an_example(commands: dict[str, Any]) -> None:
    for name, command in commands.items():
        assert command["help"].strip(), name
        assert f"opmend {name}" in command["epilog"], name


def test_a_json_document_is_described_where_there_is_one(
    commands: dict[str, Any], sections: dict[str, str]
) -> None:
    for heading, text in sections.items():
        described = re.search(r"^JSON: \S", text, re.MULTILINE) is not None
        assert described == ("--json" in commands[words(heading)]["options"]), heading


def names_of(*models: Any) -> set[str]:
    return {
        name
        for model in models
        for name in (
            [one.name for one in dataclasses.fields(model)]
            if dataclasses.is_dataclass(model)
            else model.model_fields
        )
    }


def check_keys() -> set[str]:
    """The keys of the document that `opmend check --json` prints, from the dictionary in its source."""
    tree = ast.parse((ROOT / "coordinator" / "local" / "check.py").read_text())
    function = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "check_workspace"
    )
    returned = next(node.value for node in ast.walk(function) if isinstance(node, ast.Return))
    assert isinstance(returned, ast.Dict)
    return {
        key.value for key in returned.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("report", names_of(Report, RunRow, TaskRow, Totals, MatchRates, Tokens)),
        ("show", names_of(Story)),
        ("integrity", names_of(IntegrityReport, Reason, PathStep)),
        ("why", names_of(Explanation, Step, Failure, Relative, Ending) | {"task", "name"}),
        ("blame", names_of(BlamedLine)),
        ("history", names_of(FileChange, Tombstone)),
        ("verify", names_of(Fault) | {"task", "name", "checked", "faults"}),
        ("stats provenance", names_of(ProvenanceMetrics, ProvenanceRow, Spread)),
        ("doctor", names_of(Check) | {"works", "checks"}),
        ("check", check_keys()),
    ],
)
def test_the_fields_of_a_json_document_are_the_real_ones(
    command: str, fields: set[str], sections: dict[str, str]
) -> None:
    text = section(sections, command)
    told = set(re.findall(r"`([a-z]\w*)`", text[text.index("JSON: ") :]))
    assert told == fields


def test_the_document_of_a_cohort_has_the_fields_that_the_page_names(sections: dict[str, str]) -> None:
    command = [sys.executable, "-m", "coordinator.cli", "cohort", "check", "starter", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    text = section(sections, "cohort check")
    assert set(re.findall(r"`([a-z]\w*)`", text[text.index("JSON: ") :])) == set(json.loads(done.stdout))


def test_the_entry_that_an_example_shows_is_there(sections: dict[str, str]) -> None:
    (entry,) = re.findall(r"^opmend kb show (\S+)$", section(sections, "kb show"), re.MULTILINE)
    assert (ROOT / "kb" / "entries" / f"{entry}.json").is_file()


def test_the_exit_codes_are_those_of_the_errors() -> None:
    from schema import errors

    codes = {
        one.exit_code
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.OpmendError)
    }
    told = {int(code) for code in re.findall(r"^\| (\d) \|", PAGE.read_text(), re.MULTILINE)}
    assert told == codes | {0}

"""Every sample workspace of tests/cheats gets the verdict its directory names, with the reasons it marks."""

import re
from pathlib import Path

import pytest

from coordinator.integrity import scan

CHEATS = Path(__file__).resolve().parents[1] / "cheats"
VERDICTS = {"cheat": "CHEAT", "suspect": "SUSPECT", "clean": "CLEAN"}


def read_workspace(path: Path) -> dict[str, str]:
    """Split a sample into its files: each starts after a line `=== path`."""
    files: dict[str, str] = {}
    current = ""
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("=== "):
            current = line[4:].strip()
            files[current] = ""
        else:
            files[current] += line
    return files


BASE = read_workspace(CHEATS / "base.workspace")
SAMPLES = sorted(path for directory in VERDICTS for path in (CHEATS / directory).glob("*.workspace"))


def expectations(files: dict[str, str]) -> set[tuple[str, str, int]]:
    """The marks `expect: rule` in a sample's comments: (rule, file, line)."""
    return {
        (match.group(1), name, number)
        for name, content in files.items()
        for number, line in enumerate(content.split("\n"), start=1)
        for match in re.finditer(r"(?:#|//) expect: ([\w-]+)", line)
    }


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_sample_gets_the_verdict_of_its_directory(sample: Path) -> None:
    own = read_workspace(sample)
    report = scan({**BASE, **own})
    shown = "\n".join(
        f"{r.level} {r.rule} {r.file}:{r.line} {r.message} | {r.source_line}" for r in report.reasons
    )
    assert report.verdict == VERDICTS[sample.parent.name], shown
    found = {(r.rule, r.file, r.line) for r in report.reasons if r.level != "note"}
    assert expectations(own) <= found, shown


def test_the_base_workspace_is_clean_and_its_path_complete() -> None:
    report = scan(BASE)
    assert (report.verdict, report.reasons) == ("CLEAN", ())
    assert [step.kind for step in report.path] == ["adapter", "call", "binding", "host", "launcher", "kernel"]
    assert report.path[-1].name == "add_float"

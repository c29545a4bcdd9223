"""docs/guarantees.md against the tests and disturbances that it names."""

import ast
import re
from pathlib import Path

import pytest

from tests.chaos.__main__ import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
][1:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_what_shows_a_guarantee_is_there(row: list[str]) -> None:
    (proof,) = re.findall(r"^`([^`]+)`$", row[3])
    kind, _, name = proof.partition(" ")
    if kind == "chaos":
        assert name in SCENARIOS
        return
    path, _, function = proof.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert function in functions if function else functions


def test_every_disturbance_shows_a_guarantee() -> None:
    assert {row[3].strip("`").removeprefix("chaos ") for row in ROWS if "`chaos " in row[3]} == set(SCENARIOS)


def test_every_boundary_of_the_way_has_its_rows() -> None:
    told = {row[0] for row in ROWS}
    assert told >= {
        "client → store",
        "store → broker",
        "broker → worker",
        "worker → device",
        "worker → store",
    }

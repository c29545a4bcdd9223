"""The glossary has every word of the contract, and the pages name only what exists."""

import importlib.util
import re
from pathlib import Path

import pytest

from coordinator.engine.arms import ARMS
from coordinator.report.outcomes import OWN_OUTCOMES
from schema.tables import Base

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
ROOMS = ("schema", "kb", "coordinator", "workers", "npu_worker")

# The words of the contract. A word may be added; none of these may go.
WORDS = [
    "cohort",
    "operator",
    "problem",
    "run",
    "task",
    "arm",
    "session",
    "turn",
    "round",
    "job",
    "benchmark",
    "evidence",
    "verdict",
    "outcome",
    "snippet",
    "revision",
    "lineage",
    "tombstone",
    "checkpoint",
    "direction",
    "entry",
    "device",
    "lease",
    "fence",
    "quarantine",
    "candidate",
    "trial",
    "rewrite",
    "coverage",
] + ["compact set", "full set", "match rate", "position key"]


def glossary() -> dict[str, tuple[str, str]]:
    """Word → sense, and where it lives."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    found = re.findall(r"^\| \*\*(.+?)\*\* \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert len({word for word, _, _ in found}) == len(found), "a word has one sense"
    return {word: (sense, place) for word, sense, place in found}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_contract_has_an_entry(word: str) -> None:
    assert word in glossary()


@pytest.mark.parametrize("word", sorted(glossary()))
def test_a_word_lives_where_the_glossary_says(word: str) -> None:
    _, place = glossary()[word]
    tables = re.findall(r"table `(\w+)`", place)
    modules = [name for name in re.findall(r"`([\w.]+)`", place) if name not in tables]
    assert tables or modules
    assert set(tables) <= set(Base.metadata.tables)
    assert [name for name in modules if not exists(name)] == []


def test_arms_and_outcomes_are_the_real_ones() -> None:
    arms, outcomes = glossary()["arm"][0], glossary()["outcome"][0]
    assert all(arm in arms for arm in ARMS)
    assert set(re.findall(r"\b[a-z_]+\b", outcomes.split(":")[1])) - {"or"} == OWN_OUTCOMES | {
        "infrastructure"
    }


def exists(module: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one. Nothing of torch or litellm is loaded."""
    if not all((ROOT / Path(*module.split(".")[: depth + 1])).exists() for depth in range(module.count("."))):
        return False
    path = ROOT / Path(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file() or importlib.util.find_spec(module) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()
    quoted = re.findall(r"`([^`\n]+)`", text)
    modules = [name for name in quoted if re.fullmatch(rf"(?:{'|'.join(ROOMS)})(?:\.[a-z_]\w*)+", name)]
    assert [name for name in modules if not exists(name)] == []
    tops = {*ROOMS, "cohorts", "docs", "ops", "tests"}
    paths = [
        name
        for name in quoted
        if re.fullmatch(r"[\w./-]+", name) and name.split("/")[0] in tops and "/" in name
    ]
    missing = [name for name in paths if not (ROOT / name).exists() and "YOUR" not in name]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name == "docs"], ids=lambda page: page.name
)
def test_a_page_of_the_docs_is_reachable(page: Path) -> None:
    others = [other.read_text() for other in PAGES if other != page]
    assert any(f"{page.name})" in text for text in others)


def test_the_architecture_names_every_room_and_its_directions() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| .+? \| (.+?) \|$", text, re.MULTILINE))
    assert {room: rows[room] for room in ROOMS} == {
        "schema": "nothing of ours",
        "kb": "`schema`",
        "coordinator": "`schema`, `kb`",
        "workers": "`schema`, `kb`",
        "npu_worker": "`schema`, `kb`",
    }

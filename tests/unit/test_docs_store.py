"""docs/store.md and docs/settings.md against tables, events, queues and settings."""

import re
from pathlib import Path

import pytest

from coordinator.cli import processes
from schema.events import EVENTS
from schema.migrations import history, sealing
from schema.queues import QUEUES
from schema.roles import FUNCTIONS, GRANTS, ROLES, Grant
from schema.settings import Settings
from schema.tables import Base

ROOT = Path(__file__).resolve().parents[2]
STORE = (ROOT / "docs" / "store.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()

READ_BY_PYTHON = re.compile(
    r"environ(?:\.get\(|\[)\s*\"(OPMEND_\w+)\"|environ\.setdefault\(\s*\"(OPMEND_\w+)\""
)
READ_BY_CPP = re.compile(r"getenv\(\"(OPMEND_\w+)\"")
READ_BY_COMPOSE = re.compile(r"\$\{(OPMEND_\w+)")


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The table under a heading: first column without backticks → all columns."""
    text = re.split(rf"^## {heading}$", page, flags=re.MULTILINE)[1]
    text = re.split(r"^## ", text, flags=re.MULTILINE)[0]
    found = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    return {cells[0].strip("`"): cells for cells in found}


def test_every_table_is_listed_and_none_is_invented() -> None:
    assert set(rows(STORE, "Tables")) == set(Base.metadata.tables)


def test_the_page_says_which_tables_are_append_only() -> None:
    told = {name for name, cells in rows(STORE, "Tables").items() if cells[3] == "yes"}
    assert told == {*history.APPEND_ONLY, *sealing.APPEND_ONLY}


def test_the_page_says_what_each_role_may_do() -> None:
    told = rows(STORE, "Roles")
    tables = {
        name: Grant(
            **dict(zip(ROLES, ("" if said == "nothing" else said for said in cells[1:]), strict=True))
        )
        for name, cells in told.items()
        if not name.startswith("opmend_")
    }
    assert tables == GRANTS
    functions = {
        name: tuple(cells[1].split(", ")) for name, cells in told.items() if name.startswith("opmend_")
    }
    assert functions == FUNCTIONS


def test_every_event_is_listed_and_none_is_invented() -> None:
    assert set(rows(STORE, "Events")) == set(EVENTS)


def test_fields_of_events_are_real() -> None:
    for kind, cells in rows(STORE, "Events").items():
        assert set(re.findall(r"`(\w+)`", cells[2])) <= set(EVENTS[kind].model_fields), kind


def test_every_queue_is_listed_with_its_jobs() -> None:
    told = {queue: set(re.findall(r"`(\w+)`", cells[1])) for queue, cells in rows(STORE, "Queues").items()}
    real: dict[str, set[str]] = {}
    for kind, queue in QUEUES.items():
        real.setdefault(queue, set()).add(kind.value)
    assert told == real
    assert {queue for _, queue in processes.ROLES.values()} == set(real)


def settings_rows() -> dict[str, list[str]]:
    return rows("## all\n" + SETTINGS.split("## ")[0], "all")


def test_every_setting_is_listed_and_none_is_invented() -> None:
    assert set(settings_rows()) == set(Settings.model_fields)


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_a_setting_has_its_variable_and_its_default(name: str) -> None:
    field = Settings.model_fields[name]
    _, variable, default, meaning = settings_rows()[name]
    assert variable == f"`{field.validation_alias or 'OPMEND_' + name.upper()}`"
    assert default == ("none" if field.default is None else f"`{field.default}`")
    assert meaning


def test_a_variable_that_the_page_names_is_the_one_that_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lease_seconds", "job_attempts", "npu_workers"):
        monkeypatch.setenv(settings_rows()[name][1].strip("`"), "7")
        assert getattr(Settings.load(), name) == 7


def test_the_file_takes_the_names_of_the_first_column(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for cells in settings_rows().values():
        monkeypatch.delenv(cells[1].strip("`"), raising=False)
    (tmp_path / "opmend.toml").write_text('npu_workers = 3\ndatabase_url = "postgresql://me@here/mine"\n')
    found = Settings.load()
    assert (found.npu_workers, found.database_url) == (3, "postgresql://me@here/mine")


def test_every_variable_that_the_code_reads_is_listed() -> None:
    read: set[str] = set()
    for room in ("schema", "kb", "coordinator", "workers", "npu_worker", "tests"):
        for path in (ROOT / room).rglob("*"):
            if path.suffix == ".py":
                read |= {name for pair in READ_BY_PYTHON.findall(path.read_text()) for name in pair if name}
            elif path.suffix in {".cpp", ".h"}:
                read |= set(READ_BY_CPP.findall(path.read_text()))
    read |= set(READ_BY_COMPOSE.findall((ROOT / "compose.yaml").read_text()))
    told = {cells[1].strip("`") for cells in settings_rows().values()} | set(
        rows(SETTINGS, "Variables that are no settings")
    )
    assert read - told == set()
    assert {"OPMEND_CACHE_DIR", "OPMEND_SIM_SOC", "OPMEND_UNMASK"} <= read, "the search finds what is there"
    invented = told - read - {cells[1].strip("`") for cells in settings_rows().values()}
    assert invented == set()

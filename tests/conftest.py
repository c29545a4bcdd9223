"""Fixtures that start real services: nothing is mocked."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from xdist.scheduler.loadscope import LoadScopeScheduling

from coordinator.local.postgres import EmbeddedPostgres
from coordinator.local.redis import EmbeddedRedis
from schema.database import Database

# Files over one set of kernels stay together: the second finds the objects that the first compiled.
_SAME_KERNELS = {
    "test_sim_cube.py": "cube",
    "test_sim_cube_units.py": "cube",
    "test_sim_numeric.py": "vector",
    "test_sim_proofs.py": "proofs",
    "test_sim_proofs_lines.py": "proofs",
    "test_sim_vector_forms.py": "vector",
}

# Acceptance tests that need no stack.
_OWN_HOME = {"test_check_command.py", "test_command.py", "test_wheel.py"}


class Rooms(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Who runs what with several workers: a file stays on one, and so do all that share the acceptance stack.

    xdist's own groups are of no use here: it writes them into a field that pytest 9.2 no longer reads, and
    then deals the tests out one by one, without a word.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::", 1)[0]
        name = path.rpartition("/")[2]
        shared = "/acceptance/" in path and name not in _OWN_HOME
        return "acceptance" if shared else _SAME_KERNELS.get(name, path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Deal the tests out by room."""
    config.option.loadscopereorder = False  # in the order of the next function
    return Rooms(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long rooms come first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.path.parent.name != "acceptance")


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the simulator reports its findings in this test."""
    path = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(path))
    return path


@pytest.fixture(scope="session")
def service_home() -> Iterator[Path]:
    """A private home for this session's servers; short, so that sockets fit."""
    home = Path(tempfile.mkdtemp(prefix="opmend-t-"))
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(service_home: Path) -> Iterator[str]:
    """URL of a real Postgres: the one in OPMEND_TEST_DATABASE_URL, or an embedded one."""
    given = os.environ.get("OPMEND_TEST_DATABASE_URL")
    if given:
        yield given
        return
    server = EmbeddedPostgres(service_home)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def template(postgres: str) -> str:
    """A migrated database that others are copied from: a copy takes 20 ms, migrations 300 ms."""
    name = f"template_{uuid.uuid4().hex[:12]}"
    _administer(postgres, f"CREATE DATABASE {name}")
    database = Database(_named(postgres, name))
    database.migrate()
    database.close()
    return name


@pytest.fixture
def database_url(postgres: str, template: str) -> Iterator[str]:
    """URL of a fresh database with the newest schema."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    _administer(postgres, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _named(postgres, name)
    _administer(postgres, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A fresh database with the newest schema."""
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture(scope="session")
def broker_url(service_home: Path) -> Iterator[str]:
    """URL of a real Redis."""
    given = os.environ.get("OPMEND_TEST_BROKER_URL")
    if given:
        yield given
        return
    server = EmbeddedRedis(service_home)
    server.start()
    yield server.url
    server.stop()


def _named(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def _administer(url: str, statement: str) -> None:
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", pool_size=1
    )
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()

"""Fixtures that start real services: nothing is mocked."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from coordinator.local.postgres import EmbeddedPostgres
from coordinator.local.redis import EmbeddedRedis
from schema.database import Database


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers (`make test`): a file stays on one, and so do all that share the acceptance stack.

    The long groups come first, so that no worker is left alone with one at the end.
    """
    groups = {}
    for item in items:
        acceptance = item.path.parent.name == "acceptance" and item.path.name != "test_wheel.py"
        groups[item] = "acceptance" if acceptance else item.path.name
        item.add_marker(pytest.mark.xdist_group(groups[item]))
    order = {"acceptance": 0, "test_wheel.py": 1}
    items.sort(key=lambda item: order.get(groups[item], 2))


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

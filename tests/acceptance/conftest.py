"""One home, one cold run and one stack for all acceptance tests: real processes, servers and compiles."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import func, select

from coordinator.local.postgres import EmbeddedPostgres
from schema.database import Database
from schema.tables import Event, Run
from tests.support.command import Done, Opmend
from tests.support.model_server import ModelServer, model_server, says
from tests.support.operators import VARIANTS, lay_out_cohort

# Leases are short, so that a killed worker is missed soon; attempts are many, so that a slow machine is
# not taken for a broken one.
SETTINGS = {
    "OPMEND_CASE_TIMEOUT": "2.5",
    "OPMEND_LEASE_SECONDS": "6",
    "OPMEND_JOB_ATTEMPTS": "5",
}


@dataclass(frozen=True, kw_only=True)
class FirstRun:
    """A run of all variants by a command that had nothing to build on, and the same command once more."""

    cohort: Path
    done: Done
    left: list[str]
    again: Done


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A working directory outside the checkout; short, for it holds the homes."""
    found = Path(tempfile.mkdtemp(prefix="oa-"))
    yield found
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture(scope="session")
def make_home(folder: Path) -> Iterator[Callable[..., Opmend]]:
    """Makes commands with a home of their own, and ends what they leave running."""
    made: list[Opmend] = []

    def make(name: str, **environment: str) -> Opmend:
        made.append(Opmend(folder / name, folder, **{**SETTINGS, **environment}))
        return made[-1]

    yield make
    for one in made:
        if (one.home / "stack.json").exists():
            one("down")
        for process in one.processes():
            process.kill()


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    """A scripted model on loopback; a test puts its own script and an empty `requests` in."""
    with model_server([says("nothing to say")]) as server:
        yield server


@pytest.fixture(scope="session")
def opmend(make_home: Callable[..., Opmend], model: ModelServer) -> Opmend:
    """The command, with the home that most tests share and the scripted model as its provider."""
    return make_home("h", OPENAI_BASE_URL=model.url, OPENAI_API_KEY="sk-of-the-tests")


@pytest.fixture(scope="session")
def cohort(folder: Path) -> Path:
    """A cohort of all variants."""
    return lay_out_cohort(folder / "tiny", VARIANTS)


@pytest.fixture(scope="session")
def first_run(opmend: Opmend, cohort: Path) -> FirstRun:
    """`opmend run` twice, with nothing running before, between and after."""
    done = opmend("run", str(cohort))
    left = [" ".join(process.cmdline()) for process in opmend.processes()]
    return FirstRun(
        cohort=cohort, done=done, left=left, again=opmend("run", str(cohort), "--limit", "1", "--json")
    )


@pytest.fixture(scope="session")
def stack(opmend: Opmend, first_run: FirstRun) -> Iterator[Opmend]:
    """The command with its stack up, behind the first run."""
    started = opmend("up")
    assert started.code == 0, started
    yield opmend
    opmend("down")


@pytest.fixture
def store(stack: Opmend) -> Iterator[Database]:
    """The store of the stack, to look at."""
    database = Database(EmbeddedPostgres(stack.home).url, pool_size=1)
    yield database
    database.close()


@pytest.fixture
def counts(store: Database) -> Callable[[], tuple[int, int]]:
    """How many runs and events the store holds now."""

    def count() -> tuple[int, int]:
        with store.transaction() as session:
            runs = session.execute(select(func.count()).select_from(Run)).scalar_one()
            return runs, session.execute(select(func.count()).select_from(Event)).scalar_one()

    return count

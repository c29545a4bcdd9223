"""Cancelling stops what runs: compilers, candidates, calls of a model, and a worker that can't be reached otherwise.

Every limit of time in this stack is far away, so that nothing but the cancellation can end the work.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import select

from coordinator.engine.replay import replay
from coordinator.local.postgres import EmbeddedPostgres
from coordinator.report.verification import verify_task
from schema import events
from schema.database import Database
from schema.execute import PATIENCE
from schema.tables import Evidence, Job, ModelCall, Task
from tests.support.command import Opmend, wait_until
from tests.support.model_server import ModelServer, hangs, model_server
from tests.support.operators import lay_out_cohort

pytestmark = pytest.mark.timeout(600)

# A heartbeat takes 2 s to see a cancellation; the machine may be slow.
SOON = 40.0


@pytest.fixture(scope="module")
def silent() -> Iterator[ModelServer]:
    """A model that never answers."""
    with model_server([hangs()]) as server:
        yield server


@pytest.fixture(scope="module")
def patient(make_home: Callable[..., Opmend], silent: ModelServer) -> Iterator[Opmend]:
    """A stack in which a case has 20 minutes."""
    opmend = make_home(
        "c",
        OPMEND_CASE_TIMEOUT="1200",
        OPMEND_VALIDATE_TIMEOUT="2400",
        OPMEND_COMPILE_TIMEOUT="1200",
        OPMEND_LEASE_SECONDS="60",
        OPENAI_BASE_URL=silent.url,
        OPENAI_API_KEY="sk-of-the-tests",
    )
    started = opmend("up")
    assert started.code == 0, started
    yield opmend
    opmend("down")


@pytest.fixture
def store(patient: Opmend) -> Iterator[Database]:
    database = Database(EmbeddedPostgres(patient.home).url, pool_size=1)
    yield database
    database.close()


def submitted(opmend: Opmend, folder: Path, variant: str, *options: str) -> int:
    """A run of one variant; its number."""
    cohort = folder / f"only-{variant}"
    if not cohort.exists():
        lay_out_cohort(cohort, [variant])
    return int(opmend.json("submit", str(cohort), *options)["run"])


def task_of(store: Database, run: int) -> int:
    with store.transaction() as session:
        return session.execute(select(Task.id).where(Task.run_id == run)).scalar_one()


def running(store: Database, run: int, kind: str) -> list[str]:
    """Ids of the run's jobs of one kind that are under way."""
    with store.transaction() as session:
        query = select(Job.id).join(Task).where(Task.run_id == run, Job.kind == kind, Job.status == "running")
        return list(session.execute(query).scalars())


def below(opmend: Opmend, worker: str) -> list[psutil.Process]:
    """All processes that a worker has started."""
    try:
        return psutil.Process(opmend.stack()[worker]).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def compilers(opmend: Opmend, source: str = "") -> list[psutil.Process]:
    """Compilers at work, of this source or of any."""
    return [one for one in below(opmend, "compile-1") if _is(one, "cc1plus", source)]


def sandboxes(opmend: Opmend) -> list[psutil.Process]:
    return [one for one in below(opmend, "npu-1") if _is(one, "bwrap")]


def cases(opmend: Opmend) -> list[psutil.Process]:
    """Processes of a case: forks of the warm one in the sandbox that have computed for a second."""
    found = []
    for process in below(opmend, "npu-1"):
        try:
            ancestors = [one.name() for one in process.parents()]
            if ancestors[0] == process.name() and "bwrap" in ancestors and process.cpu_times().user > 1.0:
                found.append(process)
        except psutil.Error:
            continue
    return found


def _is(process: psutil.Process, name: str, word: str = "") -> bool:
    try:
        return process.name() == name and word in " ".join(process.cmdline())
    except psutil.Error:
        return False


def gone(processes: list[psutil.Process]) -> bool:
    def there(process: psutil.Process) -> bool:
        try:
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    return not any(there(one) for one in processes)


def stopped(store: Database, run: int, job: str) -> None:
    """The job is cancelled, and nothing of it counts against anybody."""
    task = task_of(store, run)
    with store.transaction() as session:
        assert session.get_one(Task, task).outcome == "cancelled"
        ended = session.get_one(Job, job)
        assert (ended.status, ended.result, ended.attempts) == ("cancelled", None, 1)
        log = events.read(session, task)
        assert not any(isinstance(one.event, events.JobFailed) for one in log)
        assert not any(isinstance(one.event, events.JobFinished) and one.event.job_id == job for one in log)
        assert session.execute(select(Evidence).where(Evidence.job_id == job)).first() is None
        assert session.execute(select(ModelCall).where(ModelCall.job_id == job)).first() is None
        assert replay(log) is None
        assert verify_task(session, session.get_one(Task, task))[0] == []


@pytest.mark.slow
def test_a_compilation_is_killed_with_all_its_processes(
    patient: Opmend, store: Database, folder: Path
) -> None:
    run = submitted(patient, folder, "SlowAdd")
    (job,) = wait_until(lambda: running(store, run, "compile"), what="a compilation")
    # The caches may have to be filled first, by the same compiler.
    found = wait_until(
        lambda: compilers(patient, "slow.cpp"),
        seconds=300,
        what="its compiler",
    )
    assert patient("cancel", str(run)).code == 0
    wait_until(lambda: gone(found) and not compilers(patient), seconds=SOON, what="the compiler's end")
    stopped(store, run, job)


def test_a_case_without_end_is_killed_at_once(patient: Opmend, store: Database, folder: Path) -> None:
    run = submitted(patient, folder, "EndlessAdd")
    (job,) = wait_until(lambda: running(store, run, "validate"), what="a validation")
    found = wait_until(lambda: cases(patient), what="its endless case")
    assert patient("cancel", "--task", str(task_of(store, run))).code == 0
    wait_until(lambda: gone(found) and not sandboxes(patient), seconds=SOON, what="the case's end")
    stopped(store, run, job)


def test_a_call_of_a_model_is_abandoned(
    patient: Opmend, store: Database, folder: Path, silent: ModelServer
) -> None:
    run = submitted(patient, folder, "TwiceAdd", "--model", "openai/scripted")
    (job,) = wait_until(lambda: running(store, run, "turn"), what="a turn")
    wait_until(lambda: silent.requests, what="the call")
    assert not silent.abandoned
    assert patient("cancel", str(run)).code == 0
    wait_until(lambda: silent.abandoned, seconds=SOON, what="the end of the call")
    stopped(store, run, job)
    assert len(silent.requests) == 1  # and nobody asks again
    report = patient.json("report", str(run))
    assert sum(report["totals"]["tokens"].values()) == 0


@pytest.mark.slow
def test_a_reference_without_end_is_ended_with_its_process(
    patient: Opmend, store: Database, folder: Path
) -> None:
    run = submitted(patient, folder, "HangAdd")
    (job,) = wait_until(lambda: running(store, run, "validate"), what="a validation")
    # Not before: a process that only loads torch would see the cancellation, and stay.
    wait_until((patient.home / "hangs").exists, seconds=300, what="the reference")
    (child,) = psutil.Process(patient.stack()["npu-1"]).children()
    assert patient("cancel", str(run)).code == 0
    wait_until(lambda: gone([child]), seconds=SOON + PATIENCE, what="the end of the process")
    stopped(store, run, job)


@pytest.mark.slow
def test_a_cancelled_run_is_resumed_and_the_workers_take_its_jobs(
    patient: Opmend, store: Database, folder: Path
) -> None:
    run = submitted(patient, folder, "TailAdd")
    wait_until(lambda: running(store, run, "compile"), what="a compilation")
    assert patient("cancel", str(run)).code == 0
    assert patient("watch", str(run)).code == 0
    assert [one["outcome"] for one in patient.json("report", str(run))["tasks"]] == ["cancelled"]
    assert patient.json("resume", str(run)) == {"resumed": 1, "tasks": 1}
    assert patient("watch", str(run)).code == 0
    (task,) = patient.json("report", str(run))["tasks"]
    assert (task["outcome"], task["rounds"]) == ("passed", 1)
    for command in ("replay", "verify"):
        assert patient(command, str(task["task"])).code == 0
    again = patient("resume", str(run))
    assert again.out == "resumed 0 of 1 tasks; the coordinator goes on with them\n"
    refused = patient("resume", "--task", str(task["task"]))
    assert (refused.code, "come to its own end: passed" in refused.err) == (2, True)
    with store.transaction() as session:
        attempts = session.execute(select(Job.attempts).join(Task).where(Task.run_id == run)).scalars()
        assert set(attempts) <= {0, 1}  # no worker died over one of them

"""What becomes of work whose lease is gone: it is told, it stops, and what does not stop is ended."""

import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from kb.context import RewriteContext
from kb.entry import load_entries
from npu_worker.toolchains import SimToolchain
from schema import leases
from schema.blobs import put_tree
from schema.database import Database
from schema.errors import InfrastructureError, JobLost
from schema.execute import Handler, Work, execute
from schema.jobs import CompilePayload, JobKind, Proposals, RewritePayload
from schema.results import Compilation, Record
from schema.tables import Event, Job, Outbox, Task
from tests.support.operators import KERNELS
from tests.support.tasks import bare_task
from workers.rewrite_repair import rewrite

RUN = {"lease_seconds": 30.0, "most_attempts": 1}


def enqueue(database: Database, kind: JobKind, payload: Record) -> None:
    with database.transaction() as session:
        leases.enqueue(
            session,
            job_id="j",
            task_id=bare_task(session),
            kind=kind.value,
            queue="llm",
            payload=payload.model_dump(mode="json"),
        )


@pytest.fixture
def job(database: Database) -> str:
    enqueue(database, JobKind.COMPILE, CompilePayload(tree="0" * 64))
    return "j"


def cancel(database: Database) -> None:
    with database.transaction() as session:
        session.execute(update(Job).values(status="cancelled", lease_expires_at=None))


def handed(handler: Handler) -> dict[JobKind, Handler]:
    return {JobKind.COMPILE: handler}


def untouched(database: Database) -> None:
    """The cancelled job is as its cancellation left it, and nobody was told of a failure."""
    with database.transaction() as session:
        row = session.get_one(Job, "j")
        assert (row.status, row.result, row.attempts) == ("cancelled", None, 1)
        assert session.execute(select(Event)).first() is None
        assert session.get_one(Task, row.task_id).outcome is None


def test_a_cancelled_job_stops_and_is_no_failure(database: Database, job: str) -> None:
    ended = threading.Event()

    def handler(work: Work) -> Compilation:
        work.go_on()
        cancel(database)
        assert work.lost.wait(30)
        work.go_on()
        raise AssertionError("it went on")

    assert not execute(database, job, handed(handler), **RUN, end=ended.set, patience=0.0)
    untouched(database)


def test_a_job_that_another_worker_has_stops(database: Database, job: str) -> None:
    def handler(work: Work) -> Compilation:
        with database.transaction() as session:
            session.execute(update(Job).values(lease_expires_at=func.now()))
        with database.transaction() as session:
            assert leases.claim(session, job, worker="quick", lease_seconds=30) is not None
        assert work.lost.wait(30)
        work.go_on()
        raise AssertionError("it went on")

    assert not execute(database, job, handed(handler), **RUN)
    with database.transaction() as session:
        row = session.get_one(Job, job)
        assert (row.status, row.worker, row.fence) == ("running", "quick", 2)


def test_what_does_not_stop_is_ended(database: Database, job: str) -> None:
    ended = threading.Event()

    def deaf(work: Work) -> Compilation:
        cancel(database)
        assert ended.wait(30)
        return Compilation(ok=True)

    assert not execute(database, job, handed(deaf), **RUN, end=ended.set, patience=0.5)
    untouched(database)


def test_what_stops_in_time_is_not_ended(database: Database, job: str) -> None:
    ended = threading.Event()

    def slow(work: Work) -> Compilation:
        cancel(database)
        assert work.lost.wait(30)
        time.sleep(0.5)
        raise InfrastructureError("it fell over on its way out")

    assert not execute(database, job, handed(slow), **RUN, end=ended.set, patience=30.0)
    assert not ended.is_set()
    untouched(database)
    with database.transaction() as session:
        assert len(session.execute(select(Outbox)).all()) == 1  # not asked for again


def test_rewrites_stop_between_two_entries(database: Database) -> None:
    kernel = (KERNELS / "TwiceAdd" / "kernel" / "tiny_add.h").read_text()
    many = "".join(kernel.replace("KernelTinyAdd", f"KernelTinyAdd{number}") for number in range(40))
    entries = tuple(entry.id for entry in load_entries())
    with database.transaction() as session:
        tree = put_tree(session, {"kernel/tiny_add.h": many})
    failure = RewriteContext().model_dump(mode="json")
    enqueue(database, JobKind.REWRITE, RewritePayload(tree=tree, entries=entries, failure=failure))
    stopped = threading.Event()

    def handler(work: Work) -> Proposals:
        cancel(database)
        try:
            return rewrite(work)
        except JobLost:
            stopped.set()
            raise

    assert not execute(database, "j", {JobKind.REWRITE: handler}, **RUN)
    assert stopped.is_set()
    untouched(database)


def test_a_build_that_nobody_wants_ends_with_its_compiler(tmp_path: Path) -> None:
    lost = threading.Event()
    source = (KERNELS / "SlowAdd" / "kernel" / "slow.cpp").read_text()
    threading.Timer(2.0, lost.set).start()
    began = time.monotonic()
    with pytest.raises(JobLost):
        SimToolchain().compile(
            {"kernel/slow.cpp": source}, workdir=tmp_path, extension_name="_k_ext", timeout=500, lost=lost
        )
    assert time.monotonic() - began < 15

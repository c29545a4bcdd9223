"""The engine's speed: jobs a second against bare Celery, with a full store, and a decision on a long log.

Both sides have the same Redis, the same Celery settings and as many worker processes as there are cores. A job of ours
answers at once, from a script; it passes dispatch, message, claim, commit and decision, with the embedded Postgres'
own durability. A task of bare Celery does nothing at all.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from statistics import median

from redis import Redis
from sqlalchemy import func, select, text

from coordinator.engine.bounds import Bounds, Thresholds
from coordinator.engine.state import Requested
from coordinator.engine.story import Story
from schema.events import TaskCreated
from schema.jobs import JobKind, ToolRequest, TurnResult
from schema.queues import celery_app
from schema.results import CaseResult, CaseSet, CaseStatus, Compilation, FailureType, Record, Validation
from schema.tables import Job, Task
from tests.bench.measure import Measure
from tests.chaos import synthetic
from tests.chaos.stack import Stack, stack, wait_for

WORKERS = 2
BARE_TASKS = 600
TASKS = 40
RUNS = 3
FULL = 100_000
EVENTS_OF_A_TASK, JOBS_OF_A_TASK = 20, 6
LONG_LOG = 10_000

_BARE = """
import sys
from schema.queues import celery_app
app = celery_app("bare", sys.argv[1])
def nothing(job_id): pass
app.task(nothing, name="bare", bind=False)
app.worker_main(["worker", "-Q", "bare", "-c", "1", "-n", sys.argv[2], "--loglevel", "ERROR"]
    + ["--without-mingle", "--without-gossip"])
"""


def measures() -> Iterator[Measure]:
    """Throughput, then the long log."""
    with stack(small_disk=False) as running:
        bare = _bare(running)
        running.fill(coordinators=1, workers=WORKERS, CHAOS_QUICK="1")
        running.settle([synthetic.submit(running.database, tasks=2)])
        empty = median(_jobs_a_second(running) for _ in range(RUNS))
        yield Measure(
            name=f"jobs through the whole engine, {WORKERS} workers (median of {RUNS} x {TASKS} tasks)",
            ours=empty, against=bare, unit="jobs/s", peer="bare Celery, tasks that do nothing", at_least=0.5,
        )  # fmt: skip
        _fill(running)
        full = median(_jobs_a_second(running) for _ in range(RUNS))
        yield Measure(
            name=f"the same with {FULL:,} finished tasks in the store", ours=full, against=empty, unit="jobs/s",
            peer="an empty store", at_least=0.9,
        )  # fmt: skip
    yield _long_log()


def _bare(running: Stack) -> float:
    """Tasks a second of Celery alone, from the first publish to the last acknowledgement."""
    workers = [
        subprocess.Popen([sys.executable, "-c", _BARE, running.redis.url, f"bare-{number}@here"])
        for number in range(WORKERS)
    ]
    app = celery_app("bare-client", running.redis.url)
    client = Redis(unix_socket_path=str(running.redis.socket))

    def idle() -> bool:
        return not client.llen("bare") and not client.hlen("unacked")

    def send(many: int) -> float:
        began = time.perf_counter()
        for number in range(many):
            job_id = f"1-{number:04d}-trial-compile"
            app.send_task("bare", args=[job_id], task_id=job_id, queue="bare")
        wait_for(idle, seconds=300, what="the last task's end")
        return many / (time.perf_counter() - began)

    try:
        send(100)
        wait_for(idle, seconds=60)
        return median(send(BARE_TASKS) for _ in range(RUNS))
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
        app.close()


def _jobs_a_second(running: Stack) -> float:
    began = time.perf_counter()
    run = synthetic.submit(running.database, tasks=TASKS)
    running.settle([run], seconds=600)
    seconds = time.perf_counter() - began
    with running.database.transaction() as session:
        jobs = select(func.count()).select_from(Job).join(Task, Task.id == Job.task_id)
        return session.execute(jobs.where(Task.run_id == run)).scalar_one() / seconds


def _fill(running: Stack) -> None:
    """Put the rows of so many finished tasks into the store, as large as those of real ones."""
    of_tasks = (
        "INSERT INTO tasks (run_id, name, level, trial, status, outcome, last_sequence, decided_sequence, finished_at) "
        "SELECT 1, 'full-' || n, 'L1', 0, 'finished', 'passed', :events, :events, now() "
        "FROM generate_series(1, :tasks) n"
    )
    of_events = (
        "INSERT INTO events (task_id, sequence, kind, data, at, previous_hash, hash) "
        "SELECT t.id, n, 'clock_noted', jsonb_build_object('filler', repeat('x', 300)), now(), "
        "md5(n::text), md5(n::text) "
        "FROM tasks t CROSS JOIN generate_series(1, :events) n WHERE t.name LIKE 'full-%'"
    )
    of_jobs = (
        "INSERT INTO jobs (id, task_id, kind, queue, payload, status, finished_at) "
        "SELECT t.id || '-' || n, t.id, 'compile', 'compile', '{}', 'done', now() "
        "FROM tasks t CROSS JOIN generate_series(1, :jobs) n WHERE t.name LIKE 'full-%'"
    )
    with running.database.transaction() as session:
        session.execute(text(of_tasks), {"tasks": FULL, "events": EVENTS_OF_A_TASK})
        session.execute(text(of_events), {"events": EVENTS_OF_A_TASK})
        session.execute(text(of_jobs), {"jobs": JOBS_OF_A_TASK})
    with running.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _long_log() -> Measure:
    """One event more and the decision on it, at the end of a long log: what a driver does that has the state."""
    created = TaskCreated(
        name="Add", level="L1", category="elementwise", arm="debug-no-adaptive", model="some/model", trial=0,
        tree="base", compact=(0, 1), full=(0, 1, 2), seed=5, thresholds=Thresholds().frozen(),
        bounds=Bounds(
            turns_per_session=LONG_LOG, turns_per_task=LONG_LOG, soft_turns=LONG_LOG, wall_seconds=1e9
        ).frozen(),
    )  # fmt: skip
    story = Story(created, retrieve=lambda _: ())
    fresh = count()

    def world(job: Requested) -> Record:
        match job.kind:
            case JobKind.COMPILE:
                return Compilation(ok=True, artifact="so")
            case JobKind.TURN:
                # A session that edits and compiles for ever: rounds are few by their bound, turns are many.
                return TurnResult(tree=f"tree {next(fresh)}", transcript="t", request=ToolRequest.COMPILE)
            case _:
                asked = tuple(job.payload["indices"])
                cases = tuple(
                    CaseResult(index=one, name=f"c{one}", status=CaseStatus.MISMATCH) for one in asked
                )
                return Validation(
                    case_set=CaseSet(job.payload["case_set"]),
                    failure_type=FailureType.PRECISION_FAILED,
                    cases=cases,
                )

    times: list[float] = []
    story.decide()
    while len(story.recorded) < LONG_LOG and story.outcome is None:
        job = story.state.requested[story.state.open[0]]
        answer = world(job)
        began = time.perf_counter()
        story.answer(job.job_id, answer)
        story.decide()
        times.append(time.perf_counter() - began)
    return Measure(
        name=f"an event and its decision, behind {len(story.recorded):,} events", ours=median(times[-100:]) * 1_000,
        against=5.0, unit="ms", peer="limit of the issue", at_most=1,
    )  # fmt: skip

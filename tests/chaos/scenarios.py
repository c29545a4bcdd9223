"""The disturbances: each is done to a running stack, and afterwards everything must be as if it had not been.

A scenario takes the stack with nobody in it and the logs of an undisturbed run, and yields a row for each thing that
it tried. Nobody helps: what a scenario breaks, the supervisor's way of starting again what died has to mend.
"""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import select, text

from schema.errors import DatabaseUnavailable
from schema.queues import TASK_NAMES, celery_app
from schema.tables import Event, Job, Run, Task
from tests.chaos import checks, synthetic
from tests.chaos.stack import Stack, crash_postgres, kill_group, postmaster, wait_for

RANDOM_KILLS = 500
# Tasks of a small and of a large round of runs: with rewrites alone, and with a model.
SMALL, LARGE = (2, 1), (12, 6)
MESSAGES = 1_500  # that nobody needs: each costs a worker a look into the store
LONGEST_GAP = 10.0  # seconds without a decision after a coordinator was killed
PATIENCE = 2.5  # seconds until a point that nobody came by is provoked


@dataclass(frozen=True, kw_only=True)
class Row:
    """One disturbance and what it led to.

    Attributes:
        kills: processes, servers or messages that were taken away.
        faults: what was not as it should be.
        note: what was measured.
    """

    name: str
    kills: int
    seconds: float
    faults: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """The logs that a disturbed run of each model must equal, and the points that its processes came by."""

    logs: dict[str, checks.Logs]
    points: tuple[str, ...]


def undisturbed(stack: Stack) -> Undisturbed:
    """Run the large round in peace."""
    record = stack.home / "points"
    stack.fill(CHAOS_RECORD=str(record))
    runs = submit(stack, LARGE)
    stack.settle(list(runs.values()))
    pid = stack.client(CHAOS_SUBMIT=json.dumps({"tasks": 1, "model": "kb"}), CHAOS_RECORD=str(record))
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the client's end")
    stack.settle([newest_run(stack)])
    stack.empty()
    logs = {model: checks.logs_of(stack.database, run) for model, run in runs.items()}
    for model, run in runs.items():
        found = checks.faults(stack.database, run, logs[model])
        if found:
            raise AssertionError(f"nobody disturbed it, and yet: {found[0]}")
    return Undisturbed(logs=logs, points=tuple(sorted(set(record.read_text().splitlines()))))


def submit(stack: Stack, tasks: tuple[int, int]) -> dict[str, int]:
    """One run with rewrites alone and one with a model."""
    counts = dict(zip(("kb", synthetic.SCRIPTED), tasks, strict=True))
    return {
        model: synthetic.submit(stack.database, tasks=count, model=model) for model, count in counts.items()
    }


def newest_run(stack: Stack) -> int:
    """The id of the run that was submitted last; 0 for none."""
    with stack.database.transaction() as session:
        return session.execute(select(Run.id).order_by(Run.id.desc()).limit(1)).scalar_one_or_none() or 0


def ended(
    stack: Stack,
    runs: dict[str, int],
    peace: Undisturbed,
    *,
    seconds: float = 90.0,
    each: Callable[[], None] | None = None,
) -> list[str]:
    """Wait for the end of runs, and say what is wrong with them."""
    try:
        stack.settle(list(runs.values()), seconds=seconds, each=each)
    except TimeoutError as error:
        return [str(error)]
    found: list[str] = []
    for model, run in runs.items():
        found += checks.faults(stack.database, run, peace.logs[model])
    return found


def crash_points(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """SIGKILL at every point that anybody came by, and at those that only a recovery comes by."""
    record = stack.home / "points"
    tried: set[str] = set()
    while todo := sorted(set(record.read_text().splitlines()) - tried):
        for point in todo:
            tried.add(point)
            role = point.partition(":")[0]
            yield (_client_dies if role == "client" else _dies)(stack, peace, point, len(tried), record)


def _dies(stack: Stack, peace: Undisturbed, point: str, number: int, record: Path) -> Row:
    began = time.monotonic()
    # Some points lie on the way of a recovery: give it something to recover from, and more while nobody comes by.
    patience = PATIENCE if point in peace.points else 0.0
    marker = stack.home / f"died-{number}"
    # Every other time the worker's parent dies with its child.
    stack.fill(
        CHAOS_POINT=point,
        CHAOS_MARKER=str(marker),
        CHAOS_RECORD=str(record),
        CHAOS_WHOLE=str(number % 2),
    )
    runs = submit(stack, SMALL)
    provoked = 0

    def provoke() -> None:
        nonlocal provoked
        if not marker.exists() and time.monotonic() - began > patience + provoked:
            provoked += 1
            with suppress(RedisError):
                Redis(unix_socket_path=str(stack.redis.socket)).flushall()
            worker = next(member for member in stack.members if member.role == "worker")
            kill_group(worker.pid)

    found = ended(stack, runs, peace, each=provoke)
    with suppress(TimeoutError):
        wait_for(marker.exists, seconds=3)  # a sweep may come by after the last task's end
    if not marker.exists():
        found.append("nobody came by")
    stack.empty()
    kills = provoked + marker.exists()
    return Row(name=point, kills=kills, seconds=time.monotonic() - began, faults=tuple(found))


def _client_dies(stack: Stack, peace: Undisturbed, point: str, number: int, record: Path) -> Row:
    began = time.monotonic()
    marker = stack.home / f"died-{number}"
    before = newest_run(stack)
    pid = stack.client(
        CHAOS_SUBMIT=json.dumps({"tasks": 2, "model": "kb"}),
        CHAOS_POINT=point,
        CHAOS_MARKER=str(marker),
    )
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the client's end")
    stack.fill()
    run = newest_run(stack)
    found = [] if marker.exists() else ["the client did not die"]
    if "after commit" in point and run == before:
        found.append("the run is lost")
    if "before commit" in point and run != before:
        found.append("a run is there that was never committed")
    if run != before:
        found += ended(stack, {"kb": run}, peace)
    stack.empty()
    return Row(name=point, kills=1, seconds=time.monotonic() - began, faults=tuple(found))


def random_kills(
    stack: Stack, peace: Undisturbed, *, kills: int = RANDOM_KILLS, seed: int = 20
) -> Iterator[Row]:
    """Kill processes by lot, again and again, while cohorts run."""
    began = time.monotonic()
    chosen = random.Random(seed)
    stack.fill()
    first = stack.kills
    found: list[str] = []
    rounds = 0
    while stack.kills - first < kills and not found:
        rounds += 1
        runs = submit(stack, LARGE)

        def strike() -> None:
            # Each fifth of a second on average: some get far between two blows, some nowhere.
            if stack.kills - first < kills and chosen.random() < 0.5:
                stack.kill_one(chosen)

        found += ended(stack, runs, peace, seconds=300.0, each=strike)
    killed = stack.kills - first
    stack.empty()
    yield Row(
        name=f"{killed} random kills over {rounds * sum(LARGE)} tasks, seed {seed}", kills=killed,
        seconds=time.monotonic() - began, faults=tuple(found),
    )  # fmt: skip


def redis(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """FLUSHALL while jobs wait, and a Redis that is killed and comes back empty."""

    def flush() -> None:
        with suppress(RedisError):
            Redis(unix_socket_path=str(stack.redis.socket)).flushall()

    def restart() -> None:
        kill_one = int(stack.redis.pid_file.read_text())
        with suppress(ProcessLookupError):
            os.kill(kill_one, signal.SIGKILL)
        time.sleep(1.0)
        stack.redis.start()

    for name, disturb in (("Redis: FLUSHALL", flush), ("Redis: killed, back after 1 s, empty", restart)):
        yield _disturbed(stack, peace, name, disturb, times=3)


def postgres(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """A Postgres that is killed, and one that is killed again while it recovers."""

    def crash() -> None:
        crash_postgres(stack.postgres)
        time.sleep(0.5)
        stack.postgres.start()

    def crash_twice() -> None:
        crash_postgres(stack.postgres)
        starting = threading.Thread(target=lambda: _start(stack))
        starting.start()
        # Its pid file is there before it has read its log.
        wait_for(lambda: _pid(stack) is not None, what="Postgres' start")
        with suppress(Exception):
            crash_postgres(stack.postgres)
        starting.join()
        for _ in range(3):
            if _start(stack):
                return

    yield _disturbed(stack, peace, "Postgres: killed and restarted", crash, times=2)
    yield _disturbed(stack, peace, "Postgres: killed again during its recovery", crash_twice, times=1)


def _start(stack: Stack) -> bool:
    try:
        stack.postgres.start()
    except DatabaseUnavailable:
        return False
    return True


def _pid(stack: Stack) -> int | None:
    try:
        return postmaster(stack.postgres)
    except (OSError, ValueError, IndexError):
        return None


def _disturbed(
    stack: Stack, peace: Undisturbed, name: str, disturb: Callable[[], None], *, times: int
) -> Row:
    """Do something so many times, a second apart, while the large round runs."""
    began = time.monotonic()
    stack.fill()
    runs = submit(stack, LARGE)
    done = 0
    due = time.monotonic() + 0.5

    def each() -> None:
        nonlocal done, due
        if done < times and time.monotonic() > due:
            disturb()
            done += 1
            due = time.monotonic() + 1.0

    found = ended(stack, runs, peace, each=each)
    stack.empty()
    if done < times:
        found.append(f"disturbed {done} times instead of {times}: the runs ended before")
    return Row(name=name, kills=done, seconds=time.monotonic() - began, faults=tuple(found))


def full_disk(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """Postgres' disk is full for a while; it may end itself, and is started again as the supervisor does."""
    began = time.monotonic()
    if not stack.small_disk:
        yield Row(
            name="a full disk", kills=0, seconds=0.0, faults=(), note="not tried: needs a mount, and root"
        )
        return
    stack.fill()
    runs = submit(stack, LARGE)
    ballast = stack.postgres.data / "ballast"
    full: list[float] = []

    def each() -> None:
        if not full and time.monotonic() - began > 1.0:
            with suppress(OSError), open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
            full.append(time.monotonic())
        if full and time.monotonic() - full[0] > 3.0:
            ballast.unlink(missing_ok=True)
        if not stack.postgres.running():
            _start(stack)

    found = ended(stack, runs, peace, each=each)
    refused = sum("o space left" in log.read_text(errors="replace") for log in stack.logs.iterdir())
    stack.empty()
    if not refused:
        found.append("nobody noticed that the disk was full")
    yield Row(
        name="Postgres' disk is full for 3 s", kills=0, seconds=time.monotonic() - began, faults=tuple(found),
        note=f"{refused} processes were refused",
    )  # fmt: skip


def read_only(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """A database in read-only mode for 3 s, as a standby is before it is promoted."""
    began = time.monotonic()
    stack.fill()
    runs = submit(stack, LARGE)
    since: list[float] = []

    def switch(on: bool) -> None:
        with stack.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("SET default_transaction_read_only = off"))
            word = "on" if on else "off"
            connection.execute(text(f"ALTER DATABASE postgres SET default_transaction_read_only = {word}"))
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            connection.execute(text(f"{others} AND backend_type = 'client backend'"))
        stack.database.engine.dispose()

    def each() -> None:
        if not since and time.monotonic() - began > 1.0:
            switch(on=True)
            since.append(time.monotonic())
        elif len(since) == 1 and time.monotonic() - since[0] > 3.0:
            switch(on=False)
            since.append(time.monotonic())

    found = ended(stack, runs, peace, each=each)
    refused = sum("read-only" in log.read_text(errors="replace") for log in stack.logs.iterdir())
    stack.empty()
    if not refused:
        found.append("nobody noticed that the database was read-only")
    yield Row(
        name="Postgres is read-only for 3 s", kills=0, seconds=time.monotonic() - began, faults=tuple(found),
        note=f"{refused} processes were refused",
    )  # fmt: skip


def frozen_worker(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """A worker that stops in the middle of a job, loses its lease, and wakes when another has done its work."""
    began = time.monotonic()
    stack.fill()
    runs = submit(stack, LARGE)
    worker = next(member for member in stack.members if member.role == "worker")
    held: list[str] = []

    def freeze() -> None:
        if held:
            return
        with stack.database.transaction() as session:
            query = select(Job.id, Job.worker).where(Job.status == "running")
            mine = [job for job, name in session.execute(query) if _belongs(name, worker.pid)]
        if mine:
            os.killpg(worker.pid, signal.SIGSTOP)
            with stack.database.transaction() as session:
                query = select(Job.id, Job.worker).where(Job.status == "running")
                held.extend(job for job, name in session.execute(query) if _belongs(name, worker.pid))
            if not held:  # it ended in between
                os.killpg(worker.pid, signal.SIGCONT)

    found = ended(stack, runs, peace, each=freeze)
    log = stack.logs / f"{worker.name}.log"
    os.killpg(worker.pid, signal.SIGCONT)
    if held:
        with suppress(TimeoutError):
            wait_for(
                lambda: "late result" in log.read_text() or "not to be had" in log.read_text(), seconds=10
            )
        with stack.database.transaction() as session:
            fences = dict(session.execute(select(Job.id, Job.fence).where(Job.id.in_(held))).tuples().all())
        if any(fence < 2 for fence in fences.values()):
            found.append("the frozen worker's job was never taken from it")
        for model, run in runs.items():
            found += checks.faults(stack.database, run, peace.logs[model])
    else:
        found.append("no job was caught in the middle")
    late = log.read_text().count("late result")
    stack.empty()
    yield Row(
        name="a frozen worker wakes after its lease", kills=1, seconds=time.monotonic() - began,
        faults=tuple(found), note=f"{late} late results dropped",
    )  # fmt: skip


def _belongs(worker: str | None, group: int) -> bool:
    try:
        return worker is not None and os.getpgid(int(worker.rpartition(":")[2])) == group
    except (ProcessLookupError, ValueError):
        return False


def deliveries(stack: Stack, peace: Undisturbed, *, seed: int = 21) -> Iterator[Row]:
    """Every message three times more, in another order, and for jobs that nobody knows."""
    began = time.monotonic()
    chosen = random.Random(seed)
    stack.fill()
    runs = submit(stack, LARGE)
    app = celery_app("opmend-chaos-deliveries", stack.redis.url)
    sent = 0

    def deliver() -> None:
        nonlocal sent
        if sent >= MESSAGES:
            return
        with stack.database.transaction() as session:
            query = select(Job.id, Job.queue).join(Task, Task.id == Job.task_id)
            jobs = list(session.execute(query.where(Task.run_id.in_(runs.values()))).tuples())
        several = [*chosen.sample(jobs, min(len(jobs), 5)), ("no-such-job", "npu")] * 3
        chosen.shuffle(several)
        for job_id, queue in several:
            with suppress(OperationalError):
                app.send_task(TASK_NAMES[queue], args=[job_id], task_id=job_id, queue=queue)
                sent += 1

    found = ended(stack, runs, peace, each=deliver)
    app.close()
    stack.empty()
    yield Row(
        name="messages doubled, reordered and forged", kills=0, seconds=time.monotonic() - began,
        faults=tuple(found), note=f"{sent} messages more",
    )  # fmt: skip


def coordinators(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """Of two coordinators, one is killed each second; how long nothing is decided."""
    began = time.monotonic()
    chosen = random.Random(22)
    stack.fill()
    runs = submit(stack, LARGE)
    killed = 0
    due = time.monotonic() + 0.5

    def strike() -> None:
        nonlocal killed, due
        if time.monotonic() > due and killed < 4:
            kill_group(chosen.choice([one.pid for one in stack.members if one.role == "coordinator"]))
            killed += 1
            due = time.monotonic() + 1.0

    found = ended(stack, runs, peace, each=strike)
    with stack.database.transaction() as session:
        query = select(Event.at).join(Task, Task.id == Event.task_id).where(Task.run_id.in_(runs.values()))
        times = sorted(session.execute(query).scalars())
    gap = max((later - earlier for earlier, later in pairwise(times)), default=timedelta())
    if gap.total_seconds() >= LONGEST_GAP:
        found.append(f"nothing was decided for {gap.total_seconds():.1f} s")
    stack.empty()
    yield Row(
        name="two coordinators, one killed each second", kills=killed, seconds=time.monotonic() - began,
        faults=tuple(found), note=f"longest pause {gap.total_seconds():.2f} s",
    )  # fmt: skip


def clock_step(stack: Stack, peace: Undisturbed) -> Iterator[Row]:
    """The wall clock of one worker goes forward by a day, that of a coordinator back; needs the preloaded library."""
    began = time.monotonic()
    stack.fill()
    for member in stack.members:
        member.orders["CHAOS_CLOCK"] = str(stack.home / f"clock-{member.name}")
        kill_group(member.pid)
    stack.tend()
    runs = submit(stack, LARGE)
    steps = {"worker-0": 86_400, "coordinator-0": -86_400}
    due = time.monotonic() + 1.0

    def step() -> None:
        if time.monotonic() > due:
            for name, seconds in steps.items():
                (stack.home / f"clock-{name}").write_text(str(seconds))

    found = ended(stack, runs, peace, each=step)
    stack.empty()
    # A worker's log has the time that it took it for; a coordinator without trouble logs nothing.
    day = (datetime.now(UTC).astimezone() + timedelta(seconds=steps["worker-0"])).strftime("%Y-%m-%d")
    if day not in (stack.logs / "worker-0.log").read_text():
        found.append("the clock of worker-0 was never moved")
    yield Row(
        name="a worker's clock a day ahead, a coordinator's a day behind", kills=0,
        seconds=time.monotonic() - began, faults=tuple(found),
    )  # fmt: skip

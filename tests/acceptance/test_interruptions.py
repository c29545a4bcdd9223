"""Kill anything at any moment: the run ends as if nobody had touched it."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from sqlalchemy import select

from coordinator.engine.replay import replay
from coordinator.local.postgres import EmbeddedPostgres
from coordinator.local.redis import EmbeddedRedis
from coordinator.report.story import story
from coordinator.report.verification import verify_task
from schema import events
from schema.database import Database
from schema.tables import Job, Task
from tests.support.command import Opmend, wait_until
from tests.support.operators import lay_out_cohort

pytestmark = pytest.mark.timeout(900)

PAIR = ("TailAdd", "TwiceAdd")
KEPT = {"outcome", "reason", "rounds", "turns", "trials_run", "match_rate", "verdict", "entries"}


@pytest.fixture(scope="module")
def pair(folder: Path) -> Path:
    """The two operators of the cohort that go through a round."""
    return lay_out_cohort(folder / "pair", PAIR)


def stories(store: Database, run: int, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What must not depend on when a process died: outcome, reason, rounds, trees, validations.

    Every task is decided again from its log and its records are verified on the way.
    """
    found = {}
    with store.transaction() as session:
        for task in session.execute(select(Task).where(Task.run_id == run, Task.name.in_(names))).scalars():
            assert replay(events.read(session, task.id)) is None
            assert verify_task(session, task)[0] == []
            told = story(session, task).model_dump(mode="json")
            row = {name: value for name, value in told["row"].items() if name in KEPT}
            found[task.name] = {
                **row,
                **{name: told[name] for name in ("tree", "baseline", "rounds", "validations")},
            }
    return found


@pytest.fixture(scope="module")
def undisturbed(stack: Opmend) -> dict[str, dict[str, Any]]:
    """The same operators in the first run, which nobody touched."""
    store = Database(EmbeddedPostgres(stack.home).url, pool_size=1)
    found = stories(store, 1, PAIR)
    store.close()
    assert {name: told["outcome"] for name, told in found.items()} == {
        "TailAdd": "passed",
        "TwiceAdd": "stopped",
    }
    return found


def jobs(store: Database, run: int, *conditions: Any) -> list[tuple[str, int]]:
    """Ids and attempts of a run's jobs under some conditions."""
    with store.transaction() as session:
        query = (
            select(Job.id, Job.attempts)
            .join(Task, Task.id == Job.task_id)
            .where(Task.run_id == run, *conditions)
        )
        return [(row.id, row.attempts) for row in session.execute(query)]


def kill_tree(pid: int) -> None:
    """SIGKILL to a process and all below it, parents first, so that nobody can clean up."""
    parent = psutil.Process(pid)
    for process in [parent, *parent.children(recursive=True)]:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue


def test_the_coordinator_is_killed_twice_and_redis_forgets_everything(
    stack: Opmend, store: Database, pair: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    run = stack.json("submit", str(pair))["run"]
    for moment in (
        lambda: jobs(store, run, Job.status == "running"),
        lambda: jobs(store, run, Job.kind == "rewrite"),
    ):
        wait_until(moment, what="the run comes to this moment")
        killed = stack.stack()["coordinator"]
        psutil.Process(killed).send_signal(signal.SIGKILL)
        wait_until(
            lambda killed=killed: stack.stack()["coordinator"] not in {None, killed}, what="a new coordinator"
        )
    wait_until(lambda: jobs(store, run, Job.queue == "npu"), what="a job for the device")
    client = redis.Redis(unix_socket_path=str(EmbeddedRedis(stack.home).socket))
    client.flushall()
    client.close()
    watched = stack("watch", str(run))
    assert watched.code == 0, watched
    assert "TailAdd" in watched.out
    assert stories(store, run, PAIR) == undisturbed


def test_an_npu_worker_is_killed_with_a_candidate_on_its_device(
    stack: Opmend, store: Database, pair: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    run = stack.json("submit", str(pair))["run"]
    (taken, *_) = wait_until(
        lambda: jobs(store, run, Job.queue == "npu", Job.status == "running"),
        what="a validation is under way",
    )
    kill_tree(stack.stack()["npu-1"])
    watched = stack("watch", str(run))
    assert watched.code == 0, watched
    assert dict(jobs(store, run))[taken[0]] > 1  # it was lost, and run again
    assert stories(store, run, PAIR) == undisturbed


def test_both_servers_are_killed_and_come_back(
    stack: Opmend, store: Database, pair: Path, undisturbed: dict[str, dict[str, Any]]
) -> None:
    run = stack.json("submit", str(pair))["run"]
    # In the middle of a job: an idle worker finds its way back by itself, a busy one has to be made to.
    wait_until(
        lambda: jobs(store, run, Job.queue == "compile", Job.status == "running"),
        what="a compilation is under way",
    )
    postmaster = int((EmbeddedPostgres(stack.home).data / "postmaster.pid").read_text().splitlines()[0])
    kill_tree(postmaster)
    kill_tree(int(EmbeddedRedis(stack.home).pid_file.read_text()))
    # Nobody starts anything: the supervisor does.
    wait_until(EmbeddedPostgres(stack.home).running, what="Postgres is back")
    wait_until(EmbeddedRedis(stack.home).running, what="Redis is back")
    watched = stack("watch", str(run))
    assert watched.code == 0, watched
    assert stories(store, run, PAIR) == undisturbed


def test_a_killed_run_goes_on_after_up(
    make_home: Callable[..., Opmend],
    pair: Path,
    folder: Path,
    undisturbed: dict[str, dict[str, Any]],
) -> None:
    opmend = make_home("k")
    running = opmend.start("run", str(pair), log=folder / "killed.log")
    try:
        wait_until((opmend.home / "stack.json").exists, what="its stack")
        store = Database(EmbeddedPostgres(opmend.home).url, pool_size=1)
        wait_until(lambda: jobs(store, 1, Job.status == "done"), what="its first job is done")
        store.close()
    finally:
        running.kill()
        running.wait()
    # The stack of `run` ends with it, however it ends; the store stays.
    wait_until(lambda: not opmend.processes(), seconds=60, what="its processes end")
    with_nobody = opmend.json("status")
    assert with_nobody["stack"] is None
    assert any(task["status"] == "active" for task in with_nobody["tasks"])
    assert not opmend.processes()

    started = opmend("up")
    assert started.code == 0, started
    assert "started: " in started.out
    assert "already running" in opmend("up").out
    watched = opmend("watch")
    assert watched.code == 0, watched
    store = Database(EmbeddedPostgres(opmend.home).url, pool_size=1)
    assert stories(store, 1, PAIR) == undisturbed
    store.close()
    assert "stopped" in opmend("down").out
    assert not opmend.processes()
    assert opmend("down").out == "nothing was running\n"


def test_a_run_is_cancelled_and_another_goes_on(
    stack: Opmend, store: Database, cohort: Path, pair: Path
) -> None:
    both = [stack.json("submit", str(place))["run"] for place in (cohort, pair)]
    done = stack("cancel", str(both[0]))
    assert done.code == 0, done
    assert stack("watch", str(both[1])).code == 0
    assert stack("watch", str(both[0])).code == 0
    report = stack.json("report", str(both[0]))
    outcomes = {task["name"]: task["outcome"] for task in report["tasks"]}
    assert "cancelled" in set(outcomes.values())
    assert not jobs(store, both[0], Job.status.in_(("queued", "running")))
    (one, other) = stack.json("report", str(both[1]))["tasks"]
    assert (one["outcome"], other["outcome"]) == ("passed", "stopped")
    again = stack("cancel", str(both[0]))
    assert again.out.startswith("cancelled 0 of 8")

"""The relay on a real Redis and Postgres; a broker that is flushed, and one that is not there."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import func, select, text

from coordinator.engine import relay as relay_module
from coordinator.engine.fair_share import LEAST_DEPTH
from coordinator.engine.relay import Relay
from coordinator.engine.sweeper import Sweeper
from schema import leases
from schema.database import Database
from schema.errors import BrokerUnavailable
from schema.tables import Job, Outbox, Run, Task
from tests.support.tasks import bare_task


def redis_of(broker_url: str) -> Redis:
    """A plain client; Celery's own form of the address has parameters that redis-py does not know."""
    return Redis.from_url(broker_url.replace("redis+socket://", "unix://").partition("?")[0])


@pytest.fixture
def redis(broker_url: str) -> Iterator[Redis]:
    client = redis_of(broker_url)
    client.flushdb()
    yield client
    client.close()


@pytest.fixture
def relay(database: Database, broker_url: str) -> Iterator[Relay]:
    relay = Relay(database, broker_url)
    yield relay
    relay.close()


def enqueue(database: Database, count: int, name: str = "j", *, priority: int = 0) -> None:
    """Put jobs of a run of their own into the outbox."""
    with database.transaction() as session:
        task = bare_task(session)
        session.get_one(Run, session.get_one(Task, task).run_id).priority = priority
        for number in range(count):
            leases.enqueue(
                session, job_id=f"{name}{number}", task_id=task, kind="compile", queue="compile", payload={}
            )


def left(database: Database) -> int:
    with database.transaction() as session:
        return session.execute(select(func.count()).select_from(Outbox)).scalar_one()


def test_messages_hold_the_job_id_and_nothing_else(database: Database, redis: Redis, relay: Relay) -> None:
    enqueue(database, 3)
    with database.transaction() as session:
        session.get_one(Job, "j1").status = "cancelled"
    assert relay.publish() == 3
    assert left(database) == 0
    assert relay.waiting("compile") == 2  # a cancelled job needs no message
    message = json.loads(redis.lindex("compile", -1))
    assert message["headers"]["id"] == "j0"
    assert message["headers"]["task"] == "opmend.compile"
    assert message["headers"]["argsrepr"] == "['j0']"


def test_a_flushed_broker_gets_its_messages_again(database: Database, redis: Redis, relay: Relay) -> None:
    enqueue(database, 2)
    relay.publish()
    redis.flushdb()
    sweeper = Sweeper(database, waiting=relay.waiting, lost_seconds=0.0)
    assert [sweeper.sweep()["lost"] for _ in range(2)] == [0, 2]
    relay.publish()
    assert relay.waiting("compile") == 2
    assert [sweeper.sweep()["lost"] for _ in range(3)] == [0, 0, 0]


def test_a_job_that_waited_in_the_outbox_is_not_lost_when_it_leaves_it(
    database: Database, redis: Redis, relay: Relay
) -> None:
    enqueue(database, 3)
    with database.transaction() as session:
        session.execute(text("UPDATE jobs SET created_at = created_at - interval '1 day'"))
    sweeper = Sweeper(database, waiting=relay.waiting, lost_seconds=30.0)
    assert sweeper.sweep()["lost"] == 0
    relay.publish()
    redis.rpop("compile")  # a worker takes one, and is slow to claim it
    assert [sweeper.sweep()["lost"] for _ in range(4)] == [0, 0, 0, 0]
    assert left(database) == 0


def test_a_job_that_is_published_again_is_young_again(database: Database, redis: Redis, relay: Relay) -> None:
    enqueue(database, 2)
    sweeper = Sweeper(database, waiting=relay.waiting, lost_seconds=2.0)
    for _ in range(2):
        relay.publish()
        redis.flushdb()
        assert [sweeper.sweep()["lost"] for _ in range(2)] == [0, 0]
        time.sleep(2.1)
        assert [sweeper.sweep()["lost"] for _ in range(2)] == [0, 2]


def test_a_broker_that_is_down_keeps_the_jobs(database: Database, tmp_path: Path) -> None:
    enqueue(database, 2)
    relay = Relay(database, f"redis+socket://{tmp_path}/nothing.sock")
    with pytest.raises(BrokerUnavailable, match="Redis does not answer"):
        relay.publish()
    with pytest.raises(BrokerUnavailable):
        relay.waiting("compile")
    assert left(database) == 2
    stop = threading.Event()
    thread = threading.Thread(target=relay.run, args=(stop,), kwargs={"poll_seconds": 0.01})
    thread.start()
    time.sleep(0.1)
    assert thread.is_alive()
    stop.set()
    relay.wake()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert left(database) == 2
    relay.close()


def test_two_relays_publish_each_row_once(
    database: Database, redis: Redis, relay: Relay, broker_url: str
) -> None:
    enqueue(database, 40)
    other = Relay(database, broker_url)
    stop = threading.Event()
    threads = [threading.Thread(target=one.run, args=(stop,)) for one in (relay, other)]
    for thread in threads:
        thread.start()
    taken: list[str] = []
    deadline = time.monotonic() + 30
    while len(taken) < 40 and time.monotonic() < deadline:
        # Nobody takes a message before the queue has stood for a moment: it must not grow past its depth, twice.
        time.sleep(0.02)
        assert redis.llen("compile") <= 2 * LEAST_DEPTH
        message = redis.rpop("compile")
        if message is not None:
            taken.append(json.loads(message)["headers"]["id"])
    stop.set()
    for thread in threads:
        thread.join()
    other.close()
    assert sorted(taken) == sorted(f"j{number}" for number in range(40))
    assert left(database) == 0


def standing(redis: Redis) -> list[str]:
    """The jobs in the queue, in the order in which workers take them."""
    return [json.loads(message)["headers"]["id"] for message in reversed(redis.lrange("compile", 0, -1))]


def test_a_small_run_does_not_wait_for_a_large_one(database: Database, redis: Redis, relay: Relay) -> None:
    enqueue(database, 500, "large")
    relay.publish()
    assert len(standing(redis)) == LEAST_DEPTH  # the rest waits where it can be overtaken
    enqueue(database, 3, "small")
    for _ in range(4):
        redis.rpop("compile")
    relay.publish()
    assert standing(redis)[4:] == ["small0", "small1", "small2", "large8"]


def test_what_others_put_into_a_queue_does_not_stop_the_relay(
    database: Database, redis: Redis, relay: Relay
) -> None:
    enqueue(database, 2)
    for message in (b"garbage", b"[]", b'{"headers": null}', b"\xff\x00"):
        redis.lpush("compile", message)
    assert relay.publish() == 2
    assert redis.llen("compile") == 6


def test_a_run_of_a_higher_priority_goes_first(database: Database, redis: Redis, relay: Relay) -> None:
    enqueue(database, 20, "common")
    enqueue(database, 5, "urgent", priority=1)
    relay.publish()
    assert sorted(standing(redis)[:5]) == [f"urgent{number}" for number in range(5)]


def test_the_depth_grows_with_the_jobs_that_run(database: Database, redis: Redis, relay: Relay) -> None:
    enqueue(database, 60)
    with database.transaction() as session:
        for number in range(10):
            session.get_one(Job, f"j{number}").status = "running"
    relay.publish()
    relay.publish()
    assert len(standing(redis)) == 20


def test_who_is_next_is_found_without_reading_the_whole_outbox(
    database: Database, redis: Redis, relay: Relay
) -> None:
    enqueue(database, 1, "few")
    enqueue(database, 1, "many")
    with database.transaction() as session:
        task = session.get_one(Job, "many0").task_id
        session.execute(
            text(
                "INSERT INTO jobs (id, task_id, kind, queue, payload) "
                "SELECT 'filler' || n, :task, 'compile', 'compile', '{}' FROM generate_series(1, 30000) n"
            ),
            {"task": task},
        )
        session.execute(text("INSERT INTO outbox (job_id) SELECT id FROM jobs WHERE id LIKE 'filler%'"))
        session.execute(text("ANALYZE outbox"))
        session.execute(text("ANALYZE jobs"))
    with database.transaction() as session:
        plan = session.execute(
            text(f"EXPLAIN (ANALYZE, FORMAT JSON) {relay_module._SHARES.text}"),
            {"queue": "compile", "most": 256},
        ).scalar_one()
    assert rows_read(plan[0]["Plan"], "outbox") < 1_000


def rows_read(plan: dict[str, Any], table: str) -> float:
    """How many rows of a table all nodes of a plan gave or threw away."""
    own = 0.0
    if plan.get("Relation Name") == table:
        thrown = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
        own = (plan["Actual Rows"] + thrown) * plan["Actual Loops"]
    return own + sum(rows_read(child, table) for child in plan.get("Plans", ()))

"""The relay on a real Redis and Postgres; a broker that is flushed, and one that is not there."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import func, select

from coordinator.engine.relay import Relay
from coordinator.engine.sweeper import Sweeper
from schema import leases
from schema.database import Database
from schema.errors import BrokerUnavailable
from schema.tables import Job, Outbox
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


def enqueue(database: Database, count: int) -> None:
    with database.transaction() as session:
        task = bare_task(session)
        for number in range(count):
            leases.enqueue(
                session, job_id=f"j{number}", task_id=task, kind="compile", queue="compile", payload={}
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
    deadline = time.monotonic() + 20
    while left(database) and time.monotonic() < deadline:
        time.sleep(0.02)
    stop.set()
    for thread in threads:
        thread.join()
    other.close()
    assert redis.llen("compile") == 40

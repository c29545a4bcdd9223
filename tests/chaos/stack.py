"""A stack that is there to be broken: real servers, real processes, each started again at once when it is gone."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from coordinator.local.postgres import EmbeddedPostgres
from coordinator.local.redis import EmbeddedRedis
from schema.database import Database
from schema.errors import DatabaseUnavailable
from schema.tables import Task
from tests.chaos.processes import Nursery

COORDINATORS, WORKERS = 2, 2
DISK = 400_000_000  # bytes, for a store of a chaos run: it takes about 150 MB


@dataclass
class Member:
    """A process that is kept alive.

    Attributes:
        pid: of the process that runs now, and of its group.
        orders: variables that only this one gets, for crash points.
    """

    role: str
    name: str
    pid: int = 0
    orders: dict[str, str] = field(default_factory=dict)


class Stack:
    """Servers and processes of one chaos run, in a folder of their own.

    Args:
        home: an empty folder with a short name.
        preload: a library for all processes but the servers.
        small_disk: give Postgres a disk that can be filled, where that is allowed.
    """

    def __init__(self, home: Path, *, preload: Path | None = None, small_disk: bool = True) -> None:
        self.home = home
        self.postgres = EmbeddedPostgres(home)
        self.small_disk = small_disk and _mount(self.postgres.data)
        self.redis = EmbeddedRedis(home)
        self.postgres.start()
        self.redis.start()
        self.database = Database(self.postgres.url, pool_size=1)
        self.database.migrate()
        self.logs = home / "logs"
        self.logs.mkdir()
        self.nursery = Nursery(self.logs, preload=preload)
        self.members: list[Member] = []
        self.kills = 0

    @property
    def environment(self) -> dict[str, str]:
        """Where the servers are."""
        return {"DATABASE_URL": self.postgres.url, "BROKER_URL": self.redis.url}

    def fill(self, *, coordinators: int = COORDINATORS, workers: int = WORKERS, **orders: str) -> None:
        """Start so many processes, with the same orders."""
        for role, count in (("coordinator", coordinators), ("worker", workers)):
            for number in range(count):
                self.members.append(Member(role=role, name=f"{role}-{number}", orders=dict(orders)))
        self.tend()

    def empty(self) -> None:
        """Kill every process, and keep none alive."""
        for member in self.members:
            kill_group(member.pid)
        gone = self.members
        self.members = []
        for member in gone:
            wait_for(lambda pid=member.pid: not alive(pid), seconds=10)  # type: ignore[misc]

    def tend(self) -> None:
        """Start whoever is not alive."""
        for member in self.members:
            if member.pid and alive(member.pid):
                continue
            if member.pid:
                kill_group(member.pid)  # a pool child may outlive its parent
            environment = {**self.environment, **member.orders}
            if member.role == "worker":
                # As in a real stack, a worker is not told how others reach the database.
                environment["DATABASE_URL"] = self.postgres.worker_url()
            member.pid = self.nursery.start(member.role, member.name, environment)

    def client(self, **variables: str) -> int:
        """Start a client, and return its process id."""
        return self.nursery.start("client", "client", {**self.environment, **variables})

    def kill_one(self, chosen: random.Random) -> None:
        """Kill a process that is drawn by lot, with its children or, half of the time, one child of a worker alone."""
        member = chosen.choice(self.members)
        children = _children(member.pid) if member.role == "worker" else []
        with contextlib.suppress(ProcessLookupError):
            if children and chosen.random() < 0.5:
                os.kill(chosen.choice(children), signal.SIGKILL)
            else:
                kill_group(member.pid)
            self.kills += 1

    def active(self, runs: list[int]) -> int | None:
        """How many tasks of some runs have not ended; None while the database does not answer."""
        try:
            with self.database.transaction() as session:
                query = select(func.count()).select_from(Task)
                query = query.where(Task.run_id.in_(runs), Task.status == "active")
                return session.execute(query).scalar_one()
        except DatabaseUnavailable:
            return None

    def settle(
        self, runs: list[int], *, seconds: float = 90.0, each: Callable[[], None] | None = None
    ) -> None:
        """Keep everybody alive until the runs have ended.

        Args:
            runs: ids.
            seconds: after which it is a failure.
            each: called ten times a second.

        Raises:
            TimeoutError: they have not ended; the message says how many tasks are left.
        """
        deadline = time.monotonic() + seconds
        while (left := self.active(runs)) != 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} tasks have not ended after {seconds:.0f} s")
            self.tend()
            if each is not None:
                each()
            time.sleep(0.1)

    def close(self) -> None:
        """End everything."""
        self.empty()
        self.nursery.close()
        self.database.close()
        with contextlib.suppress(Exception):
            self.redis.stop()
        with contextlib.suppress(Exception):
            self.postgres.stop()
        if self.small_disk:
            subprocess.run(["umount", "-l", str(self.postgres.data)], check=False)


@contextmanager
def stack(*, preload: Path | None = None, small_disk: bool = True) -> Iterator[Stack]:
    """A stack in a temporary folder."""
    home = Path(tempfile.mkdtemp(prefix="oc-"))
    made = Stack(home, preload=preload, small_disk=small_disk)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(home, ignore_errors=True)


def _mount(folder: Path) -> bool:
    """Give a folder a small disk of its own, so that it can be filled; False where that is not allowed."""
    folder.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


def alive(pid: int) -> bool:
    """Whether a process runs, or is stopped; a zombie does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def kill_group(pid: int) -> None:
    """Kill a process and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def wait_for(done: Callable[[], object], *, seconds: float = 30.0, what: str = "it") -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it never was.
    """
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come in {seconds:.0f} s")
        time.sleep(0.02)


def postmaster(server: EmbeddedPostgres) -> int:
    """The process id of a Postgres' first process."""
    return int((server.data / "postmaster.pid").read_text().splitlines()[0])


def crash_postgres(server: EmbeddedPostgres) -> None:
    """Kill a Postgres as a power cut does: all of its processes, nothing written."""
    pid = postmaster(server)
    victims = [pid, *_children(pid)]
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    # One that lives on holds the shared memory, and beside a zombie's process id the next postmaster refuses to start.
    wait_for(
        lambda: not any(Path(f"/proc/{victim}").exists() for victim in victims), what="the end of Postgres"
    )


def _children(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in found.stdout.split()]

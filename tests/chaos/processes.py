"""The processes of a chaos run, and the nursery that makes them.

Each is a real process of its own session, with the code that `opmend coordinator`, `opmend worker` and `opmend submit`
run. Hundreds of them are killed, and importing Celery and SQLAlchemy takes a second each time; so one nursery process
imports everything once, has no threads and no connections, and forks: `python -m tests.chaos.processes`. It reads a
line of JSON for each process that it is to make, and answers with its process id.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from celery.bin.celery import main as _celery_main  # noqa: F401  (imported once, for all who are forked)
from celery.concurrency import prefork as _prefork  # noqa: F401
from kombu.transport import redis as _redis  # noqa: F401

from coordinator.engine.serve import serve
from schema.database import Database
from schema.execute import execute
from schema.queues import TASK_NAMES, celery_app
from tests.chaos import crash_points, synthetic

log = logging.getLogger(__name__)


class Nursery:
    """Makes processes by forking one that has imported everything.

    Args:
        logs: a folder for what they print, one file a name.
        preload: a library that is loaded before all others (LD_PRELOAD), None for none.
    """

    def __init__(self, logs: Path, *, preload: Path | None = None) -> None:
        environment = {**os.environ, "CHAOS_LOGS": str(logs)}
        if preload is not None:
            environment["LD_PRELOAD"] = str(preload)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name if __spec__ is not None else __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def start(self, role: str, name: str, environment: dict[str, str]) -> int:
        """Make a process and return its id, which is its group's too."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"role": role, "name": name, "environment": environment}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """Make no more; those that were made go on."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def coordinate() -> None:
    """Run driver, relay and sweeper until told to stop."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    serve(
        Database(os.environ["DATABASE_URL"]),
        broker_url=os.environ["BROKER_URL"],
        stop=stop,
        most_attempts=synthetic.MOST_ATTEMPTS,
        sweep_seconds=0.3,
        scan=synthetic.scan,
        retrieve=synthetic.retrieve,
    )


def consume(name: str) -> None:
    """Run a Celery worker with one pool child, as `opmend worker` does, on all queues."""
    app = celery_app("opmend-chaos", os.environ["BROKER_URL"])
    databases: list[Database] = []

    def run(job_id: str) -> None:
        if not databases:  # after the pool child has forked
            databases.append(Database(os.environ["DATABASE_URL"], pool_size=2))
        execute(
            databases[0],
            job_id,
            synthetic.HANDLERS,
            lease_seconds=synthetic.LEASE_SECONDS,
            most_attempts=synthetic.MOST_ATTEMPTS,
        )

    for queue, task in TASK_NAMES.items():
        app.task(run, name=task, bind=False)
        log.info("consumes %s", queue)
    app.worker_main(
        ["worker", "-Q", ",".join(TASK_NAMES), "-c", "1", "-n", f"{name}@%h", "--loglevel", "INFO"]
        + ["--without-mingle", "--without-gossip"]
    )


def ask() -> None:
    """Submit one run, as `opmend submit` does, and end."""
    database = Database(os.environ["DATABASE_URL"])
    asked = json.loads(os.environ["CHAOS_SUBMIT"])
    synthetic.submit(database, tasks=asked["tasks"], model=asked["model"])


def _become(role: str, name: str, environment: dict[str, str]) -> None:
    """Never returns: this fork is the process now."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.update(environment)
    output = os.open(f"{os.environ['CHAOS_LOGS']}/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, output), (2, output)):
        os.dup2(source, target)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s"
    )
    code = 1
    try:
        crash_points.install(role)
        {"coordinator": coordinate, "worker": lambda: consume(name), "client": ask}[role]()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        log.exception("%s broke", name)
    finally:
        logging.shutdown()
        os._exit(code)


def _nurse() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead leave no zombies
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(wanted["role"], wanted["name"], wanted["environment"])
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _nurse()

"""Keeps the coordinator and the workers of one machine alive: `opmend up` starts it, `opmend down` stops it.

It starts one process each, restarts what dies (with a growing pause, so that a process that can't
start does not burn a core), the embedded servers as well, writes who runs to `.opmend/stack.json`,
and takes everything down with it. It decides nothing about tasks: kill it, and the next one finds all
state in Postgres.
"""

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.local.lifetime import SUPERVISED
from coordinator.local.services import revive, services
from schema.errors import InfrastructureError
from schema.settings import Settings

log = logging.getLogger(__name__)

STATE_FILE = "stack.json"
STOP_GRACE = 15.0
WARM_GRACE = 1.5
COORDINATOR = "coordinator"
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
SERVERS_EVERY = 1.0


@dataclass
class Child:
    """One supervised process and how its restarts went."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    pause: float = FIRST_PAUSE
    due: float = 0.0
    started: float = 0.0
    restarts: int = field(default=-1)


def commands(settings: Settings, *, npu_workers: int | None = None) -> dict[str, list[str]]:
    """The processes of a stack by name, as commands of ours."""
    python = [sys.executable, "-m", "coordinator.cli"]
    found = {COORDINATOR: [*python, "coordinator"]}
    counts = {
        "llm": settings.llm_workers,
        "compile": settings.compile_workers,
        "npu": settings.npu_workers if npu_workers is None else npu_workers,
    }
    for role, count in counts.items():
        for number in range(1, count + 1):
            name = f"{role}-{number}"
            found[name] = [*python, "worker", role, "--name", name]
    return found


class Supervisor:
    """Runs the processes until it is told to stop.

    Args:
        root: the home; logs go to logs/ in it.
        wanted: name → command.
        environment: variables of the processes, whole.
        of_workers: what differs in those of workers.
        revive: starts servers again that have died; called once a second.
    """

    def __init__(
        self,
        root: Path,
        wanted: dict[str, list[str]],
        environment: dict[str, str],
        of_workers: dict[str, str],
        revive: Callable[[], None] = lambda: None,
    ) -> None:
        self.root = root
        self._revive = revive
        self._looked = time.monotonic()
        self.environment = environment
        self.of_workers = of_workers
        self.children = [Child(name=name, command=command) for name, command in wanted.items()]
        self.stopping = threading.Event()

    def run(self) -> None:
        """Start everything, restart what dies, return after `stopping` is set and all are gone."""
        try:
            while not self.stopping.is_set():
                self._look_after_servers()
                for child in self.children:
                    self._tend(child)
                self.stopping.wait(0.1)
        finally:
            self._stop_all()
            (self.root / STATE_FILE).unlink(missing_ok=True)

    def _look_after_servers(self) -> None:
        if time.monotonic() - self._looked < SERVERS_EVERY:
            return
        self._looked = time.monotonic()
        try:
            self._revive()
        except InfrastructureError as error:
            log.warning("a server is down, and does not start: %s", error)

    def _tend(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is not None and child.process.poll() is not None:
            log.warning("%s ended with %s", child.name, child.process.returncode)
            # A process that lived for a while starts over with a short pause.
            child.pause = FIRST_PAUSE if now - child.started > 30 else min(child.pause * 2, LONGEST_PAUSE)
            child.due = now + child.pause
            child.process = None
        if child.process is None and now >= child.due:
            with open(self.root / "logs" / f"{child.name}.log", "ab") as output:
                child.process = subprocess.Popen(
                    child.command,
                    env=self.environment
                    if child.name == COORDINATOR
                    else {**self.environment, **self.of_workers},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            child.started = now
            child.restarts += 1
            self._write_state()

    def _stop_all(self) -> None:
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        # Celery's warm shutdown takes seconds even when idle; asked again, an idle worker goes at once and a
        # busy one gives its job back within its soft shutdown time.
        urged = time.monotonic() + WARM_GRACE
        while time.monotonic() < urged and any(process.poll() is None for process in running):
            time.sleep(0.05)
        for process in running:
            if process.poll() is None:
                process.send_signal(signal.SIGQUIT)
        deadline = time.monotonic() + STOP_GRACE
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _write_state(self) -> None:
        state = {
            "supervisor": os.getpid(),
            "processes": {
                child.name: {
                    "pid": child.process.pid if child.process else None,
                    "restarts": max(child.restarts, 0),
                }
                for child in self.children
            },
        }
        temporary = self.root / f"{STATE_FILE}.new"
        temporary.write_text(json.dumps(state, indent=2) + "\n")
        temporary.replace(self.root / STATE_FILE)


def read_state(root: Path) -> dict[str, object] | None:
    """What `.opmend/stack.json` says, or None if no supervisor is alive."""
    try:
        state: dict[str, object] = json.loads((root / STATE_FILE).read_text())
        os.kill(int(str(state["supervisor"])), 0)
        if b"coordinator.local.supervisor" not in Path(f"/proc/{state['supervisor']}/cmdline").read_bytes():
            return None
    except (OSError, ValueError, KeyError):
        return None
    return state


def _stop_when_input_closes(stopping: threading.Event) -> None:
    # `opmend run` keeps our standard input open. When it dies, however it dies, the pipe closes.
    while not stopping.is_set():
        readable, _, _ = select.select([sys.stdin], [], [], 1.0)
        if readable and not os.read(sys.stdin.fileno(), 1):
            stopping.set()


def main(arguments: list[str]) -> None:
    """Entry of the supervisor process: [--with-parent] [--npu N]."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    settings = Settings.load()
    npu_workers = int(arguments[arguments.index("--npu") + 1]) if "--npu" in arguments else None
    with services(settings, broker=True) as found:
        environment = {
            **os.environ,
            **found.environment(),
            "OPMEND_HOME": str(settings.root),
            "PYTHONUNBUFFERED": "1",
            SUPERVISED: str(os.getpid()),
        }
        supervisor = Supervisor(
            settings.root,
            commands(settings, npu_workers=npu_workers),
            environment,
            found.worker_environment(),
            revive=lambda: revive(settings.root, found),
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.stopping.set())
        if "--with-parent" in arguments:
            threading.Thread(target=_stop_when_input_closes, args=(supervisor.stopping,), daemon=True).start()
        supervisor.run()


if __name__ == "__main__":
    main(sys.argv[1:])

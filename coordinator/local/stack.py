"""Start and stop the stack of this machine: a supervisor process in the background."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from coordinator.local.services import prepare_home
from coordinator.local.supervisor import read_state
from schema.errors import InfrastructureError
from schema.settings import Settings

START_TIMEOUT = 60.0
STOP_TIMEOUT = 40.0


def start_stack(settings: Settings, *, npu_workers: int | None = None, with_parent: bool = False) -> bool:
    """Start the supervisor unless one runs. Returns whether this call started it.

    Args:
        with_parent: the stack ends when this process does, however it ends.

    Raises:
        InfrastructureError: it did not come up; the message has the last line of its log.
    """
    if read_state(settings.root) is not None:
        return False
    prepare_home(settings.root)
    log = settings.root / "logs" / "supervisor.log"
    arguments = [sys.executable, "-m", "coordinator.local.supervisor"]
    if npu_workers is not None:
        arguments += ["--npu", str(npu_workers)]
    if with_parent:
        arguments.append("--with-parent")
    with open(log, "ab") as output:
        process = subprocess.Popen(
            arguments,
            env={**os.environ, "OPMEND_HOME": str(settings.root)},
            stdin=subprocess.PIPE if with_parent else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to the command; the command decides about the stack
        )
    if with_parent:
        _kept_open.append(process)
    deadline = time.monotonic() + START_TIMEOUT
    while read_state(settings.root) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise InfrastructureError(
                f"the stack did not start: {_last_line(log)}",
                where=str(log),
                mend="`opmend doctor` checks this machine",
            )
        time.sleep(0.05)
    return True


def stop_stack(settings: Settings) -> bool:
    """Stop the supervisor and all it started. Returns whether one ran."""
    state = read_state(settings.root)
    if state is None:
        return False
    pid = int(str(state["supervisor"]))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT
    while _alive(pid):
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.05)
    return True


# The pipe to a supervisor that must end with us stays open as long as we live.
_kept_open: list[subprocess.Popen[bytes]] = []


def _alive(pid: int) -> bool:
    for process in _kept_open:
        if process.pid == pid:
            return process.poll() is None
    try:
        os.kill(pid, 0)
        return b"coordinator.local.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _last_line(log: Path) -> str:
    try:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "no log"
    return lines[-1] if lines else "no output"

"""Runs a compiler command: its own process group, limits of time and memory, capped output, an end at any moment."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schema.lost import go_on

_LIMITS = 'ulimit -c 0; ulimit -v "$1"; ulimit -f 1048576; shift; exec "$@"'
_MEMORY_KIB = 6 * 1024 * 1024
_OUTPUT_BYTES = 64 * 1024
_LOOK_SECONDS = 0.2  # how soon a command ends that nobody wants any more


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """How a command ended. code: its exit status, negative for a signal; None after a timeout."""

    code: int | None
    output: str


@dataclass(frozen=True, kw_only=True)
class Until:
    """When a build is over, at the latest.

    Attributes:
        started: of the clock that only goes on.
        timeout: seconds that the candidate's own sources have. granted: seconds for what is not theirs.
        lost: ends it at once.
    """

    started: float
    timeout: float
    lost: threading.Event | None
    granted: float = 0.0

    @property
    def left(self) -> float:
        """Seconds."""
        return self.started + self.timeout + self.granted - time.monotonic()


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    output: Path,
    timeout: float,
    environment: Mapping[str, str],
    memory_kib: int = _MEMORY_KIB,
    lost: threading.Event | None = None,
) -> CommandResult:
    """Run `argv` in `cwd`; stdout and stderr go to the file `output`, of which at most 64 KiB come back.

    Args:
        timeout: seconds; the whole process group is killed after it.
        memory_kib: address space of every process of the command.
        lost: the whole process group is killed as soon as it is set.

    Raises:
        JobLost: `lost` was set before the end.
    """
    go_on(lost)
    limited = ["/bin/sh", "-c", _LIMITS, "sh", str(memory_kib), *argv]
    with output.open("wb") as sink:
        process = subprocess.Popen(
            limited,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
        )
        try:
            code = _wait(process, timeout, lost)
        finally:
            _end_group(process)
    return CommandResult(code=code, output=_capped(output))


def _wait(process: "subprocess.Popen[bytes]", timeout: float, lost: threading.Event | None) -> int | None:
    """Its exit status; None if it takes longer."""
    deadline = time.monotonic() + max(timeout, 0.01)
    while (left := deadline - time.monotonic()) > 0:
        try:
            return process.wait(timeout=left if lost is None else min(left, _LOOK_SECONDS))
        except subprocess.TimeoutExpired:
            go_on(lost)
    return None


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the group: a hostile build may leave children behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _capped(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as source:
        head = source.read(_OUTPUT_BYTES)
    text = head.decode("utf-8", errors="replace")
    return text if size <= _OUTPUT_BYTES else f"{text}\n... {size - _OUTPUT_BYTES} bytes more\n"

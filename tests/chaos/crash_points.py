"""Named crash points: one before and one after each commit and each publish that opmend's own code makes.

Nobody has to put them into the code, so none can be forgotten: they are found where SQLAlchemy commits and where
Celery publishes or takes a message, and are named by the function of ours that did it. A process of the chaos run
kills itself at the point that it is told, once; a run without an order writes down which points it came by.

| variable              | meaning                                                           |
|-----------------------|-------------------------------------------------------------------|
| CHAOS_POINT    | "ROLE: POINT": die there, if this process has that role            |
| CHAOS_WHOLE    | "1": with the whole process group, not this process alone         |
| CHAOS_MARKER   | a file that the first to die makes, so that nobody dies after it   |
| CHAOS_RECORD   | a file to which the points are written, a line each               |
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from celery import signals
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

OURS = ("schema.", "coordinator.", "workers.", "npu_worker.", "tests.chaos.")
# What every transaction passes through says nothing about which one it is.
_PLUMBING = {"schema.database", __name__}

_written: set[str] = set()
_listening: list[Callable[..., None]] = []


def install(role: str) -> None:
    """Listen at every commit and message of this process.

    Args:
        role: what the process is: the part of a point's name before the colon.
    """

    def before_commit(*_: Any) -> None:
        reach(role, f"before commit of {site()}")

    def after_commit(*_: Any) -> None:
        reach(role, f"after commit of {site()}")

    event.listen(Engine, "commit", before_commit)
    event.listen(Session, "after_commit", after_commit)
    for name, when in (
        ("before_task_publish", "before publishing"),
        ("after_task_publish", "after publishing"),
        ("task_prerun", "with a message just taken"),
        ("task_postrun", "before a message is acknowledged"),
    ):
        # Celery keeps weak references: the list keeps the functions.
        _listening.append(partial(_signalled, role, when))
        getattr(signals, name).connect(_listening[-1], weak=False)


def _signalled(role: str, when: str, *_: Any, **__: Any) -> None:
    reach(role, when)


def site() -> str:
    """The innermost function of ours that the caller's commit belongs to."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(OURS) and module not in _PLUMBING:
            # One function may commit twice: the line of its `with` tells which.
            return f"{module}.{frame.f_code.co_qualname}, line {frame.f_lineno}"
        frame = frame.f_back
    return "code that is not ours"


def reach(role: str, point: str) -> None:
    """Come by a point: write it down, or die there if that is the order."""
    name = f"{role}: {point}"
    record = os.environ.get("CHAOS_RECORD")
    if record and name not in _written:
        _written.add(name)
        with open(record, "a") as file:
            file.write(f"{name}\n")
    if os.environ.get("CHAOS_POINT") != name:
        return
    try:
        os.close(os.open(os.environ["CHAOS_MARKER"], os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    if os.environ.get("CHAOS_WHOLE") == "1":
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

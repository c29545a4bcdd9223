"""Find runs, tasks and files by what people type: a number, a name, or nothing for the latest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schema.causes import suggestion
from schema.errors import BadInput, NotFound
from schema.events import RoundStarted
from schema.reading import revision_at
from schema.tables import Event, File, Revision, Run, Task

RUN_HINT = "`opmend run cohorts/starter` makes a run"
_PLACE_HINT = "give FILE:LINE, for example kernel/add.cpp:42, or FILE@KEY with a key of `opmend blame`"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A line, or a whole file, of a task's workspace.

    Attributes:
        line: its number, from 1; position_key: its key. Neither for a whole file, else one of them.
    """

    task: Task
    path: str
    line: int | None
    position_key: str | None = None


def find_run(session: Session, run: int | None) -> Run:
    """A run by number, or the latest.

    Raises:
        NotFound: there is none.
    """
    query = select(Run).order_by(Run.id.desc()).limit(1)
    if run is not None:
        # A number beyond the database's is no run either.
        query = query.where(Run.id == min(run, 2**62))
    found = session.execute(query).scalar_one_or_none()
    if found is None:
        raise NotFound("no run yet" if run is None else f"no run {run}", mend=RUN_HINT)
    return found


def find_task(session: Session, task: str | None) -> Task:
    """A task by number or name (the latest of that name), or the latest of all.

    Raises:
        NotFound: there is none; the message lists the names of the latest run.
    """
    query = select(Task).order_by(Task.id.desc()).limit(1)
    if task is not None:
        number = re.fullmatch(r"(?:task)?\s*#?([0-9]{1,18})", task)
        query = query.where(Task.id == int(number[1])) if number else query.where(Task.name == task)
    found = session.execute(query).scalar_one_or_none()
    if found is None:
        if task is None:
            raise NotFound("no task yet", mend=RUN_HINT)
        names = session.execute(select(Task.name).distinct().order_by(Task.name).limit(20)).scalars()
        raise NotFound(f"no task {task!r}", mend=f"known names: {', '.join(names) or 'none'}")
    return found


def tasks_of(session: Session, run: Run) -> list[Task]:
    """The tasks of a run, in order of submission."""
    return list(session.execute(select(Task).where(Task.run_id == run.id).order_by(Task.id)).scalars())


def split_place(text: str) -> tuple[str, int | None, str | None]:
    """FILE:LINE or FILE@KEY into its parts: path, line, position key.

    Raises:
        BadInput: there is neither, or the line is no positive number.
    """
    path, colon, number = text.rpartition(":")
    if colon and re.fullmatch(r"-?[0-9]+", number):
        # 18 digits fit the database's numbers, and are beyond every file.
        line = int(number[:18])
        if line < 1:
            raise BadInput("lines count from 1", where=text[:200], mend=_PLACE_HINT)
        return path, line, None
    path, at, key = text.rpartition("@")
    if at and path and re.fullmatch(r"[-.0-9A-Za-z]+", key):
        return path, None, key
    raise BadInput("no line given", where=text[:200] or "''", mend=_PLACE_HINT)


def find_revision(session: Session, task: Task, round: int | None) -> int:
    """The number of a task's newest revision, or of the one after a round.

    Raises:
        NotFound: the task has not come to that round.
    """
    begun = select(func.count()).where(Event.task_id == task.id, Event.kind == RoundStarted.kind)
    stored = select(func.max(Revision.round)).where(Revision.task_id == task.id)
    rounds = max(session.execute(begun).scalar_one(), session.execute(stored).scalar_one() or 0)
    if round is not None and round > rounds:
        raise NotFound(
            f"no round {round}: {task.name} (task {task.id}) has {rounds}",
            mend="leave --round out for the newest state; `opmend show` tells the rounds",
        )
    return revision_at(session, task.id, round=round).revision


def find_place(session: Session, text: str, *, task: str | None, needs_line: bool) -> Place:
    """The task and the path in its workspace that a FILE, FILE:LINE or FILE@KEY of the user means.

    The path may be relative to the workspace (kernel/add.cpp) or lead through a cohort
    (cohorts/starter/Add/kernel/add.cpp): the longest path of the store that it ends in counts, and
    the folder before it picks the operator.

    Args:
        session: an open transaction.
        text: what the user typed.
        task: number or name of the task, if it was given.
        needs_line: whether a whole file won't do.

    Raises:
        NotFound: no task has such a file; the message names the nearest ones.
        BadInput: several operators have it and nothing tells which is meant, or a line is needed.
    """
    text = text.encode("utf-8", "replace").decode()
    name, line, key = split_place(text) if needs_line else (re.sub(r":[0-9]+$", "", text), None, None)
    chosen = None if task is None else find_task(session, task)
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {".", "/"}]
    endings = ["/".join(parts[start:]) for start in range(len(parts))]
    query = select(Task, File.path).join(File, File.task_id == Task.id).where(File.path.in_(endings))
    if chosen is not None:
        query = query.where(Task.id == chosen.id)
    rows = [(row.Task, row.path) for row in session.execute(query.order_by(Task.id.desc()))]
    if not rows:
        raise _no_such_file(session, name, endings, chosen)
    longest = max(len(path) for _, path in rows)
    rows = [(found, path) for found, path in rows if len(path) == longest]
    before = endings[0][: len(endings[0]) - longest].strip("/")
    folder = before.rpartition("/")[2]
    named = [row for row in rows if _plain(row[0].name) == _plain(folder)] if folder else []
    if not named and task is None and len({found.name for found, _ in rows}) > 1:
        names = sorted({found.name for found, _ in rows})
        raise BadInput(
            "several operators have this file",
            where=name,
            mend=f"name one with --task: {', '.join(names)}; or give its path through the cohort",
        )
    found, path = (named or rows)[0]
    return Place(task=found, path=path, line=line, position_key=key)


def _no_such_file(session: Session, name: str, endings: Sequence[str], task: Task | None) -> NotFound:
    """The error for a path that no task has, with what may have been meant."""
    query = select(File.path).distinct()
    if task is not None:
        query = query.where(File.task_id == task.id)
    known = session.execute(query).scalars().all()
    if not known:
        return NotFound("no task has files yet", where=name or "''", mend=RUN_HINT)
    # A path through a cohort is as good as the path that it ends in.
    tried = next((one for one in endings if "did you mean" in suggestion(one, known)), name)
    what = "no task has such a file" if task is None else f"{task.name} (task {task.id}) has no such file"
    return NotFound(what, where=name or "''", mend=suggestion(tried, known))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

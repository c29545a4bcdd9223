"""Find runs, tasks and files by what people type: a number, a name, or nothing for the latest."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from schema.errors import BadInput, NotFound
from schema.events import RoundStarted
from schema.snippets import revision_at
from schema.tables import Event, File, Run, Task

RUN_HINT = "`opmend run cohorts/starter` makes a run"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A line, or a whole file, of a task's workspace."""

    task: Task
    path: str
    line: int | None


def find_run(session: Session, run: int | None) -> Run:
    """A run by number, or the latest.

    Raises:
        NotFound: there is none.
    """
    query = select(Run).order_by(Run.id.desc()).limit(1)
    if run is not None:
        query = query.where(Run.id == run)
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
        number = re.fullmatch(r"(?:task)?\s*#?(\d+)", task)
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


def split_place(text: str, *, needs_line: bool) -> tuple[str, int | None]:
    """FILE:LINE or FILE into its parts.

    Raises:
        BadInput: a line is needed and not given, or is no positive number.
    """
    path, colon, number = text.rpartition(":")
    if colon and number.isdigit():
        if int(number) < 1:
            raise BadInput(
                "lines count from 1", where=text, mend="give FILE:LINE, for example kernel/add.cpp:42"
            )
        return path, int(number)
    if needs_line:
        raise BadInput("no line given", where=text, mend="give FILE:LINE, for example kernel/add.cpp:42")
    return text, None


def find_revision(session: Session, task: Task, round: int | None) -> int:
    """The number of a task's newest revision, or of the one after a round.

    Raises:
        NotFound: the task has not come to that round.
    """
    begun = select(func.count()).where(Event.task_id == task.id, Event.kind == RoundStarted.kind)
    rounds = session.execute(begun).scalar_one()
    if round is not None and round > rounds:
        raise NotFound(
            f"no round {round}: {task.name} (task {task.id}) has {rounds}",
            mend="leave --round out for the newest state; `opmend show` tells the rounds",
        )
    return revision_at(session, task.id, round=round).revision


def find_place(session: Session, text: str, *, task: str | None, needs_line: bool) -> Place:
    """The task and the path in its workspace that a FILE[:LINE] of the user means.

    The path may be relative to the workspace (kernel/add.cpp) or lead through a cohort
    (cohorts/starter/Add/kernel/add.cpp): the longest path of the store that it ends in counts, and
    the folder before it picks the operator.

    Raises:
        NotFound: no task has such a file.
        BadInput: several operators have it and nothing tells which is meant.
    """
    name, line = split_place(text, needs_line=needs_line)
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {".", "/"}]
    endings = ["/".join(parts[start:]) for start in range(len(parts))]
    query = select(Task, File.path).join(File, File.task_id == Task.id).where(File.path.in_(endings))
    if task is not None:
        query = query.where(Task.id == find_task(session, task).id)
    rows = [(row.Task, row.path) for row in session.execute(query.order_by(Task.id.desc()))]
    if not rows:
        raise NotFound(
            "no task has such a file",
            where=name,
            mend="`opmend show TASK` lists the files of a task; paths are as in its workspace",
        )
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
    return Place(task=found, path=path, line=line)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

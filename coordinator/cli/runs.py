"""Commands on runs: submit, status, watch, cancel, resume, report."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from coordinator.cli.options import Json, RunId

POLL_SECONDS = 0.25
FORMS = ("table", "json", "csv")


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A run that was just made. `line` tells people about it."""

    run: int
    tasks: int
    line: str


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend submit cohorts/starter --trials 3`")(submit)
    app.command(epilog="Example: `opmend status 4`")(status)
    app.command(epilog="Example: `opmend watch`")(watch)
    app.command(epilog="Example: `opmend cancel 4`, or `opmend cancel --task 17`")(cancel)
    app.command(epilog="Example: `opmend resume 4`, or `opmend resume --task 17`")(resume)
    app.command("report", epilog="Example: `opmend report --format csv > run.csv`")(report_command)


def submit(
    cohort: Annotated[str, typer.Argument(help="Directory of the cohort, or the name of a shipped one.")],
    arm: Annotated[str, typer.Option(help="Configuration to run.")] = "debug",
    model: Annotated[
        str | None, typer.Option(help="'kb' for zero-token rewrites, or a model name that LiteLLM knows.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Independent tasks an operator.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N operators.")] = None,
    priority: Annotated[int, typer.Option(help="Higher goes first; runs of the same share alike.")] = 0,
    json: Json = False,
) -> None:
    """Put a run of a cohort into the store; a running stack (`opmend up`) works on it."""
    from coordinator.cli.output import print_json
    from coordinator.local.services import services
    from schema.settings import Settings

    settings = Settings.load()
    with services(settings) as found:
        submission = submit_run(
            found.database_url,
            cohort,
            arm=arm,
            model=model or settings.model,
            trials=trials,
            limit=limit,
            priority=priority,
        )
    if json:
        print_json({"run": submission.run, "tasks": submission.tasks})
    else:
        typer.echo(submission.line)


def submit_run(
    database_url: str,
    cohort: str,
    *,
    arm: str,
    model: str,
    trials: int,
    limit: int | None,
    priority: int = 0,
) -> Submission:
    """Load, freeze and store a run. All bad input is found here, before anything is written.

    Raises:
        BadInput: the cohort, a workspace, the arm or the model is wrong.
    """
    from coordinator.cohort.freeze import freeze
    from coordinator.cohort.load import load
    from coordinator.engine.submit import submit_run as store_run
    from coordinator.local.model_check import check_model
    from schema.database import Database

    frozen = freeze(load(cohort), limit=limit)
    check_model(model)
    database = Database(database_url, pool_size=1)
    try:
        with database.transaction() as session:
            run = store_run(session, frozen, arm=arm, model=model, trials=trials, priority=priority)
    finally:
        database.close()
    tasks = len(frozen.operators) * trials
    return Submission(
        run=run,
        tasks=tasks,
        line=f"run {run}: {frozen.name}, {tasks} tasks, arm {arm}, model {model}",
    )


def status(run: RunId = None, json: Json = False) -> None:
    """How far a run is: its tasks, the jobs on its queues, and whether anybody works on them."""
    from sqlalchemy import func, select

    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.local.supervisor import read_state
    from coordinator.report.lookup import find_run, tasks_of
    from schema.settings import Settings
    from schema.tables import Job, Task

    with reading() as session:
        found = find_run(session, run)
        tasks = tasks_of(session, found)
        jobs = session.execute(
            select(Job.queue, Job.status, func.count())
            .join(Task, Task.id == Job.task_id)
            .where(Task.run_id == found.id)
            .group_by(Job.queue, Job.status)
            .order_by(Job.queue, Job.status)
        ).all()
    stack = read_state(Settings.load().root)
    if json:
        print_json(
            {
                "run": found.id,
                "tasks": [
                    {"task": task.id, "name": task.name, "status": task.status, "outcome": task.outcome}
                    for task in tasks
                ],
                "jobs": [{"queue": queue, "status": state, "count": count} for queue, state, count in jobs],
                "stack": stack,
            }
        )
        return
    out = console()
    done = [task for task in tasks if task.status == "finished"]
    out.print(
        f"[bold]run {found.id}[/]: {len(done)} of {len(tasks)} tasks ended, arm {found.arm}, model {found.model}"
    )
    for task in tasks:
        out.print(f"  {task.id:>5}  {task.name:<36} {task.outcome or 'running'}", markup=False)
    for queue, state, count in jobs:
        out.print(f"  queue {queue:<8} {state:<10} {count}", markup=False)
    if stack is None and len(done) < len(tasks):
        out.print("nobody works on it here: `opmend up` starts coordinator and workers")


def watch(run: RunId = None) -> None:
    """Follow a run until all its tasks have ended."""
    from coordinator.cli.store import reading
    from coordinator.local.services import services
    from coordinator.report.lookup import find_run
    from schema.settings import Settings

    with services(Settings.load()) as found:
        with reading() as session:
            number = find_run(session, run).id
        watch_run(found.database_url, number, quiet=False)


def watch_run(database_url: str, run: int, *, quiet: bool) -> None:
    """Print what happens to the tasks of a run until all have ended.

    A Postgres that restarts in between is waited for: nothing is lost by looking away.
    """
    import sys

    from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_exponential

    from coordinator.cli.follow import Follower
    from schema.database import Database
    from schema.errors import DatabaseUnavailable

    database = Database(database_url, pool_size=1)
    follower = Follower(database, run, out=None if quiet else sys.stdout)
    patient = retry(
        retry=retry_if_exception_type(DatabaseUnavailable),
        wait=wait_exponential(multiplier=0.2, max=5),
        stop=stop_after_delay(120),
        reraise=True,
    )
    try:
        with follower:
            while not patient(follower.look)():
                time.sleep(POLL_SECONDS)
    finally:
        database.close()


def cancel(
    run: RunId = None,
    task: Annotated[
        str | None, typer.Option("--task", "-t", help="Cancel one task instead of a run.")
    ] = None,
    json: Json = False,
) -> None:
    """Cancel a run, or one task: open jobs are withdrawn, what was measured stays."""
    from coordinator.engine.requests import cancel_run, cancel_task

    cancelled, asked = _request(run, task, of_run=cancel_run, of_task=cancel_task)
    _told(json, "cancelled", cancelled, asked, "the coordinator ends them")


def resume(
    run: RunId = None,
    task: Annotated[
        str | None, typer.Option("--task", "-t", help="Resume one task instead of a run.")
    ] = None,
    json: Json = False,
) -> None:
    """Let tasks go on that were cancelled, or that infrastructure failed; a running stack (`opmend up`) does.

    They go on where they were: what was measured stays, what was under way is asked for again.
    """
    from coordinator.engine.requests import resume_run, resume_task

    resumed, asked = _request(run, task, of_run=resume_run, of_task=resume_task)
    _told(json, "resumed", resumed, asked, "the coordinator goes on with them")


def _request(
    run: int | None, task: str | None, *, of_run: Callable[..., int], of_task: Callable[..., bool | None]
) -> tuple[int, int]:
    """Ask something of a run's tasks, or of one: how many granted it, and how many were asked.

    Args:
        of_run: asks all tasks of a run, and says how many granted it.
        of_task: asks one task, and says False if it did not.

    Raises:
        BadInput: a run and a task were named.
        NotFound: there is no such run or task.
    """
    import getpass

    from coordinator.cli.store import reading
    from coordinator.report.lookup import find_run, find_task, tasks_of
    from schema.errors import BadInput

    if run is not None and task is not None:
        raise BadInput("a run and a task were named", mend="name one of them")
    author = getpass.getuser()
    with reading() as session:
        if task is not None:
            return int(of_task(session, find_task(session, task).id, author=author) is not False), 1
        found = find_run(session, run)
        return of_run(session, found.id, author=author), len(tasks_of(session, found))


def _told(json: bool, what: str, granted: int, asked: int, follows: str) -> None:
    from coordinator.cli.output import print_json

    if json:
        print_json({what: granted, "tasks": asked})
    else:
        typer.echo(f"{what} {granted} of {asked} tasks; {follows}")


def report_command(
    run: RunId = None,
    form: Annotated[str, typer.Option("--format", "-f", help="table, json or csv.")] = "table",
    json: Json = False,
) -> None:
    """Report a run: outcome, rounds, turns, tokens, match rates, verdict, coverage and time a task."""
    from coordinator.cli.store import reading
    from coordinator.local.services import services
    from coordinator.report.lookup import find_run
    from schema.errors import BadInput
    from schema.settings import Settings

    form = "json" if json else form
    if form not in FORMS:
        raise BadInput(f"no report format {form!r}", mend=f"use one of: {', '.join(FORMS)}")
    with services(Settings.load()) as found:
        with reading() as session:
            number = find_run(session, run).id
        report_run(found.database_url, number, form=form)


def report_run(database_url: str, run: int, *, form: str) -> int:
    """Print the report of a run. Returns the exit code: 0 if every task ended by its own work, else 3."""
    from coordinator.cli.output import console, print_json
    from coordinator.report.lookup import find_run
    from coordinator.report.outcomes import OWN_OUTCOMES, report
    from coordinator.report.tables import report_csv, report_table
    from schema.database import Database

    database = Database(database_url, pool_size=1)
    try:
        with database.transaction() as session:
            found = report(session, find_run(session, run))
    finally:
        database.close()
    if form == "json":
        print_json(found.model_dump(mode="json"))
    elif form == "csv":
        typer.echo(report_csv(found), nl=False)
    else:
        console().print(report_table(found))
    return 0 if all(row.outcome in OWN_OUTCOMES for row in found.tasks) else 3

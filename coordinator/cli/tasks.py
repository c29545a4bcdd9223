"""Commands on one task: show, replay, verify, resolve."""

from typing import Annotated

import typer

from coordinator.cli.options import Json, TaskId


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend show Add`")(show)
    app.command(epilog="Example: `opmend replay 12`")(replay)
    app.command(epilog="Example: `opmend verify 12`")(verify)
    app.command(
        epilog="Example: `opmend resolve 12 --verdict CLEAN --cite kernel/add.cpp:40 --because 'a size query'`"
    )(resolve)


def show(task: TaskId = None, json: Json = False) -> None:
    """One task: its frozen input, each round with what it tried, its validations, verdict and end."""
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.lookup import find_task
    from coordinator.report.story import story

    with reading() as session:
        told = story(session, find_task(session, task))
    if json:
        print_json(told.model_dump(mode="json"))
        return
    from coordinator.report.story import print_story

    print_story(console(), told)


def replay(task: TaskId = None, json: Json = False) -> None:
    """Decide the whole task again from its log, and prove that every decision comes out the same."""
    from coordinator.cli.output import print_json
    from coordinator.cli.store import reading
    from coordinator.engine.replay import replay as replay_log
    from coordinator.report.lookup import find_task
    from schema import events

    with reading() as session:
        found = find_task(session, task)
        recorded = events.read(session, found.id)
    difference = replay_log(recorded, decided_sequence=found.decided_sequence)
    told = f"{len(recorded)} events, every decision the same" if difference is None else str(difference)
    if json:
        difference_text = None if difference is None else told
        print_json({"task": found.id, "events": len(recorded), "difference": difference_text})
    else:
        typer.echo(f"task {found.id}: {told}")
    raise typer.Exit(0 if difference is None else 1)


def verify(task: TaskId = None, json: Json = False) -> None:
    """Check a task's records: its log, every byte of every revision, and whether they refer to each other with sense.

    The log's hash chain, the digests of evidence and blobs, every revision put together again from its snippets;
    lineage, failures, tombstones, benchmark runs, verdicts, jobs and decisions against each other and the log.
    """
    from sqlalchemy import text

    from coordinator.cli.output import print_json
    from coordinator.cli.store import reading
    from coordinator.report.lookup import find_task
    from coordinator.report.verification import verify_task

    with reading() as session:
        # One moment for all checks: a driver at work must not make two of them differ.
        session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        found = find_task(session, task)
        faults, checked = verify_task(session, found)
    if json:
        print_json(
            {
                "task": found.id,
                "name": found.name,
                "checked": checked,
                "faults": [fault.model_dump(mode="json") for fault in faults],
            }
        )
    elif faults:
        more = f"; {len(faults) - 1} more, --json tells all" if len(faults) > 1 else ""
        typer.echo(f"task {found.id} ({found.name}): {faults[0]}{more}")
    else:
        typer.echo(f"task {found.id} ({found.name}): {checked}")
    raise typer.Exit(1 if faults else 0)


def resolve(
    task: TaskId = None,
    verdict: Annotated[str, typer.Option(help="CLEAN or CHEAT.")] = "",
    cite: Annotated[str, typer.Option(help="Source evidence, as FILE:LINE in the task's workspace.")] = "",
    because: Annotated[str, typer.Option(help="What that source shows.")] = "",
    json: Json = False,
) -> None:
    """Resolve a SUSPECT task, citing source evidence."""
    import getpass

    from coordinator.cli.output import print_json
    from coordinator.cli.store import reading
    from coordinator.engine.resolution import resolve_task
    from coordinator.report.lookup import find_task
    from schema.errors import BadInput

    if verdict not in {"CLEAN", "CHEAT"}:
        raise BadInput("a resolution is CLEAN or CHEAT", mend="give --verdict CLEAN or --verdict CHEAT")
    if not cite or not because:
        raise BadInput("a resolution needs evidence", mend="give --cite FILE:LINE and --because TEXT")
    with reading() as session:
        found = find_task(session, task)
        outcome = resolve_task(
            session, found.id, verdict=verdict, citation=cite, because=because, author=getpass.getuser()
        )
    if json:
        print_json({"task": found.id, "outcome": outcome})
    else:
        typer.echo(f"task {found.id}: {outcome}")

"""Commands that answer "which failure put this line here": why, blame, history."""

import dataclasses
from typing import Annotated

import typer

from coordinator.cli.options import Json, RoundOption, TaskOption

FilePlace = Annotated[
    str, typer.Argument(metavar="FILE", help="Path in the workspace, or through the cohort.")
]
LinePlace = Annotated[
    str,
    typer.Argument(
        metavar="FILE:LINE",
        help="Path in the workspace, or through the cohort, and line; or FILE@KEY, a position key of `opmend blame`.",
    ),
]
OneRound = Annotated[
    int | None, typer.Option("--round", "-r", min=0, help="Only what this round did; all rounds by default.")
]


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend why cohorts/starter/Add/kernel/add.cpp:42`")(why)
    app.command(epilog="Example: `opmend blame kernel/add.cpp --task Add`")(blame)
    app.command(epilog="Example: `opmend history kernel/add.cpp --task Add`")(history)


def why(place: LinePlace, task: TaskOption = None, round: RoundOption = None, json: Json = False) -> None:
    """Which failed benchmark put this line here.

    The line counts in the task's repaired file (its newest state, or the one after --round). FILE@KEY names the same
    line however the file is edited, and also one that is gone: then it tells which failure took it away.
    """
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.chain import print_why
    from coordinator.report.lookup import find_place, find_revision
    from schema import lineage

    with reading() as session:
        found = find_place(session, place, task=task, needs_line=True)
        revision = find_revision(session, found.task, round)
        if found.line is not None:
            answer = lineage.why(session, found.task.id, found.path, found.line, revision)
        else:
            assert found.position_key is not None
            answer = lineage.why_key(session, found.task.id, found.path, found.position_key, revision)
        name = found.task.name
    if json:
        told = {"task": answer.task_id, "name": name, **dataclasses.asdict(answer)}
        raw = answer.snippet.raw
        told["snippet"]["raw"] = None if raw is None else raw.hex()
        print_json(told)
    else:
        print_why(console(), answer, name)


def blame(file: FilePlace, task: TaskOption = None, round: RoundOption = None, json: Json = False) -> None:
    """Every line of a file: its key, how often it was revised, and the round and benchmark that made it as it is."""
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.chain import print_blame
    from coordinator.report.lookup import find_place, find_revision
    from schema import lineage
    from schema.errors import NotFound

    with reading() as session:
        found = find_place(session, file, task=task, needs_line=False)
        revision = find_revision(session, found.task, round)
        lines = lineage.blame(session, found.task.id, found.path, revision)
    if not lines:
        raise NotFound(
            f"the file is empty at revision {revision}: there is no line to tell of",
            where=found.path,
            mend="`opmend history` tells of the lines that it had",
        )
    if json:
        print_json([dataclasses.asdict(line) for line in lines])
    else:
        print_blame(console(), lines)


def history(file: FilePlace, task: TaskOption = None, round: OneRound = None, json: Json = False) -> None:
    """What each revision did to a file, and which failures were behind it; deleted lines with theirs."""
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.chain import print_history
    from coordinator.report.lookup import find_place, find_revision
    from schema import lineage
    from schema.errors import NotFound

    with reading() as session:
        found = find_place(session, file, task=task, needs_line=False)
        find_revision(session, found.task, round)
        changes = lineage.history(session, found.task.id, found.path, round=round)
    if json:
        print_json([dataclasses.asdict(change) for change in changes])
    elif changes:
        print_history(console(), changes)
    elif round is not None:
        typer.echo(f"{found.path}: round {round} left it alone")
    else:
        raise NotFound("the file never had a line", where=found.path, mend="name a file that is not empty")

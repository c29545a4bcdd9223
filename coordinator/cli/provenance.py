"""Commands that answer "which failure put this line here": why, blame, history."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from coordinator.cli.options import Json, RoundOption, TaskOption

if TYPE_CHECKING:
    from rich.console import Console

    from schema.lineage import Failure, Step

FilePlace = Annotated[
    str, typer.Argument(metavar="FILE", help="Path in the workspace, or through the cohort.")
]
LinePlace = Annotated[
    str, typer.Argument(metavar="FILE:LINE", help="Path in the workspace, or through the cohort, and line.")
]


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend why cohorts/starter/Add/kernel/add.cpp:42`")(why)
    app.command(epilog="Example: `opmend blame kernel/add.cpp --task Add`")(blame)
    app.command(epilog="Example: `opmend history kernel/add.cpp --task Add`")(history)


def why(place: LinePlace, task: TaskOption = None, round: RoundOption = None, json: Json = False) -> None:
    """Which failed benchmark put this line here.

    The line counts in the task's repaired file (its newest state, or the one after --round).
    """
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.lookup import find_place, find_revision
    from schema import lineage

    with reading() as session:
        found = find_place(session, place, task=task, needs_line=True)
        assert found.line is not None
        revision = find_revision(session, found.task, round)
        answer = lineage.why(session, found.task.id, found.path, found.line, revision)
        name = found.task.name
    if json:
        print_json({"task": answer.task_id, "name": name, **dataclasses.asdict(answer)})
        return
    out = console()
    out.print(
        f"[bold]{answer.path}:{answer.line}[/] of {name} (task {answer.task_id}, revision {answer.revision})",
        highlight=False,
    )
    out.print(f"  {answer.snippet.content.rstrip()}", markup=False, style="cyan")
    for number, step in enumerate(answer.steps):
        _print_step(out, step, newest=number == 0)
    for step in answer.others:
        out.print(f"also from {step.path} (revision {step.revision}): {step.content.strip()}", markup=False)


def _print_step(out: "Console", step: "Step", *, newest: bool) -> None:
    if step.cause == "initial":
        if newest:
            out.print("Initial code: no benchmark has changed this line.")
        else:
            out.print(f"from the initial code: {step.content.strip()}", markup=False)
        return
    made = {"inserted": "inserted", "moved": "moved here", "restored": "restored"}.get(
        step.change, step.change
    )
    out.print(f"round {step.round}, revision {step.revision}: [bold]{made}[/] by {_author(step)}")
    for failure in step.failures[:3]:
        _print_failure(out, failure)
    if len(step.failures) > 3:
        out.print(f"  … and {len(step.failures) - 3} more failed benchmarks (--json shows all)")
    if step.explanation:
        out.print("  explanation: ", style="bold", end="")
        out.print(step.explanation, markup=False)
    if step.entry_ids:
        out.print("  entry applied: ", style="bold", end="")
        out.print(", ".join(step.entry_ids), markup=False)


def _print_failure(out: "Console", failure: "Failure") -> None:
    out.print("  failed benchmark: ", style="bold", end="")
    out.print(failure.benchmark, markup=False)
    lines = failure.output.strip().splitlines()
    for line in lines[:6]:
        out.print(f"    {line}", markup=False)
    if len(lines) > 6:
        out.print(f"    … {len(lines) - 6} more lines (--json shows all)")


def _author(step: "Step") -> str:
    if step.cause == "rewrite":
        return f"a rewrite ({step.direction})" if step.direction else "a rewrite"
    if step.cause == "restore":
        return "going back to the checkpoint"
    return f"model {step.model}" + (f" ({step.direction})" if step.direction else "")


def blame(file: FilePlace, task: TaskOption = None, round: RoundOption = None, json: Json = False) -> None:
    """Every line of a file with the round and the benchmark that made it as it is."""
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.lookup import find_place, find_revision
    from schema import lineage

    with reading() as session:
        found = find_place(session, file, task=task, needs_line=False)
        revision = find_revision(session, found.task, round)
        lines = lineage.blame(session, found.task.id, found.path, revision)
    if json:
        print_json([dataclasses.asdict(line) for line in lines])
        return
    out = console()
    width = max((len(_benchmarks(line.benchmarks)) for line in lines), default=0)
    for line in lines:
        # The round stands beside the colour: colour alone would not print.
        made = f"r{line.last_round}" if line.revisions or line.benchmarks else "·"
        style = "yellow" if made != "·" else "dim"
        out.print(
            f"{made:>3} {_benchmarks(line.benchmarks):<{width}} {line.line:>4} {line.content.rstrip()}",
            markup=False,
            style=style,
            no_wrap=True,
            overflow="ignore",
            crop=False,
        )


def _benchmarks(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    first = names[0] if len(names[0]) <= 32 else names[0][:31] + "…"
    return first if len(names) == 1 else f"{first} +{len(names) - 1}"


def history(file: FilePlace, task: TaskOption = None, json: Json = False) -> None:
    """What each revision did to a file, and which failures were behind it."""
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report.lookup import find_place
    from schema import lineage

    with reading() as session:
        found = find_place(session, file, task=task, needs_line=False)
        changes = lineage.history(session, found.task.id, found.path)
    if json:
        print_json([dataclasses.asdict(change) for change in changes])
        return
    out = console()
    for change in changes:
        out.print(f"[bold]revision {change.revision}[/], round {change.round}, {change.cause}", end="")
        out.print(f" {change.direction}" if change.direction else "", markup=False)
        if change.cause == "initial":
            out.print(f"  {len(change.created)} lines")
            continue
        for failure in change.failures[:3]:
            _print_failure(out, failure)
        if change.explanation:
            out.print(f"  explanation: {change.explanation}", markup=False)
        for _, content in change.disabled:
            out.print(f"  - {content.rstrip()}", markup=False, style="red")
        for _, content in change.created:
            out.print(f"  + {content.rstrip()}", markup=False, style="green")

"""Commands for the whole stack on one machine: run, up, down, doctor."""

from typing import Annotated

import typer

from coordinator.cli.options import Json


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend run cohorts/starter`")(run)
    app.command(epilog="Example: `opmend up --npu 2`")(up)
    app.command(epilog="Example: `opmend down`")(down)
    app.command(epilog="Example: `opmend doctor --json`")(doctor)


def run(
    cohort: Annotated[str, typer.Argument(help="Directory of the cohort, or the name of a shipped one.")],
    arm: Annotated[str, typer.Option(help="Configuration to run.")] = "debug",
    model: Annotated[
        str | None, typer.Option(help="'kb' for zero-token rewrites, or a model name that LiteLLM knows.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Independent tasks an operator.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N operators.")] = None,
    npu: Annotated[int | None, typer.Option(min=1, help="NPU workers to start.")] = None,
    json: Json = False,
) -> None:
    """Repair a cohort on this machine: start the stack, submit, watch, report.

    The store stays behind: `opmend why`, `show` and `report` work afterwards. Exit code 0 when every task
    ended with an outcome of its own; 3 when infrastructure failed one.
    """
    from coordinator.cli.runs import report_run, submit_run, watch_run
    from coordinator.local.services import services
    from coordinator.local.stack import start_stack, stop_stack
    from schema.settings import Settings

    settings = Settings.load()
    with services(settings, broker=True) as found:
        # Bad input is found before any worker starts.
        submission = submit_run(
            found.database_url, cohort, arm=arm, model=model or settings.model, trials=trials, limit=limit
        )
        if not json:
            typer.echo(submission.line)
        started = start_stack(settings, npu_workers=npu, with_parent=True)
        try:
            watch_run(found.database_url, submission.run, quiet=json)
            code = report_run(found.database_url, submission.run, form="json" if json else "table")
        finally:
            if started:
                stop_stack(settings)
    raise typer.Exit(code)


def up(
    npu: Annotated[
        int | None, typer.Option(min=0, help="NPU workers to start; OPMEND_NPU_WORKERS by default.")
    ] = None,
) -> None:
    """Start embedded servers, the coordinator and workers in the background."""
    from coordinator.local.stack import start_stack
    from coordinator.local.supervisor import read_state
    from schema.settings import Settings

    settings = Settings.load()
    started = start_stack(settings, npu_workers=npu)
    state = read_state(settings.root) or {}
    names = state.get("processes")
    running = ", ".join(names) if isinstance(names, dict) else "starting"
    typer.echo(f"{'started' if started else 'already running'}: {running}")
    typer.echo(f"logs: {settings.root / 'logs'}")


def down() -> None:
    """Stop what `opmend up` started. The store stays."""
    from coordinator.local.stack import stop_stack
    from schema.settings import Settings

    typer.echo("stopped" if stop_stack(Settings.load()) else "nothing was running")


def doctor(json: Json = False) -> None:
    """Try everything that a run needs on this machine, and say how to mend what fails."""
    import dataclasses

    from coordinator.cli.output import console, print_json
    from coordinator.local.doctor import examine
    from schema.settings import Settings

    checks = examine(Settings.load())
    broken = [check for check in checks if check.needed and not check.works]
    if json:
        print_json({"works": not broken, "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        out = console()
        for check in checks:
            mark = "[green]ok[/]" if check.works else "[red]missing[/]" if check.needed else "[yellow]off[/]"
            out.print(f"{mark:>18}  {check.name:<9} {check.found}", markup=True)
            if not check.works and check.mend:
                out.print(f"{'':>9}  {'':<9} → {check.mend}", markup=False)
    raise typer.Exit(3 if broken else 0)

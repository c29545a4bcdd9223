"""`opmend stats`: figures over runs. One command a kind of figure."""

from typing import Annotated

import typer

from coordinator.cli.options import Json, RunId

app = typer.Typer(help="Figures over runs, as the papers define them.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep `stats` a group, however few commands it has."""


@app.command(epilog="Example: `opmend stats provenance --cohort starter`")
def provenance(
    run: RunId = None,
    task: Annotated[
        str | None, typer.Option("--task", "-t", help="Number or name of one task instead of a run.")
    ] = None,
    cohort: Annotated[
        str | None, typer.Option("--cohort", help="Name of a cohort: the tasks of all its runs.")
    ] = None,
    json: Json = False,
) -> None:
    """Iterations, benchmarks, share of changed lines, rounds a changed line, store size and history overhead."""
    from coordinator.cli.output import console, print_json
    from coordinator.cli.store import reading
    from coordinator.report import provenance_metrics as metrics
    from coordinator.report.lookup import find_run, find_task
    from schema.errors import BadInput

    if sum(one is not None for one in (run, task, cohort)) > 1:
        raise BadInput(
            "more than one of RUN, --task and --cohort", mend="give one of them, or none for the latest run"
        )
    with reading() as session:
        if task is not None:
            found = metrics.metrics_of(session, [find_task(session, task)])
        elif cohort is not None:
            found = metrics.metrics_of_cohort(session, cohort)
        else:
            found = metrics.metrics_of_run(session, find_run(session, run))
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        metrics.print_metrics(console(), found)

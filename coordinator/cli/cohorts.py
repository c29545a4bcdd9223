"""Commands on cohorts: cohort check, freeze."""

from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.options import Json

app = typer.Typer(help="Cohorts: directories of operator workspaces.", no_args_is_help=True)
CohortName = Annotated[
    str, typer.Argument(metavar="COHORT", help="Directory, or the name of a shipped cohort.")
]


@app.command(epilog="Example: `opmend cohort check cohorts/starter`")
def check(cohort: CohortName, json: Json = False) -> None:
    """Read a cohort, and show its operators, case sets and coverage. Nothing is run."""
    from coordinator.cli.output import console, print_json
    from coordinator.cohort.freeze import freeze
    from coordinator.cohort.load import load
    from coordinator.report.wording import rate

    frozen = freeze(load(cohort))
    if json:
        print_json({**frozen.manifest, "digest": frozen.digest})
        return
    from rich.table import Table

    table = Table(
        "operator", "level", "category", "compact", "full", "cut", "coverage", box=None, pad_edge=False
    )
    for operator in frozen.operators:
        ran = len(operator.full) - len(operator.cut)
        table.add_row(
            operator.name,
            operator.level,
            operator.category,
            str(len(operator.compact)),
            str(len(operator.full)),
            str(len(operator.cut)),
            rate(ran / len(operator.full)),
        )
    out = console()
    out.print(table)
    out.print(f"manifest {frozen.digest}")


@app.command(epilog="Example: `opmend cohort freeze cohorts/starter -o starter.manifest.json`")
def freeze(
    cohort: CohortName,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output by default.")
    ] = None,
) -> None:
    """Write the frozen manifest: hashes of every file, compact and full sets."""
    import json

    from coordinator.cohort.freeze import freeze as freeze_cohort
    from coordinator.cohort.load import load

    frozen = freeze_cohort(load(cohort))
    text = json.dumps({**frozen.manifest, "digest": frozen.digest}, indent=2, sort_keys=True) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text)
        typer.echo(f"{output}: {len(frozen.operators)} operators, manifest {frozen.digest}")

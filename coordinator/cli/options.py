"""Arguments that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
RunId = Annotated[
    int | None, typer.Argument(metavar="[RUN]", help="Number of the run; the latest by default.")
]
TaskId = Annotated[
    str | None, typer.Argument(metavar="[TASK]", help="Number or name of the task; the latest by default.")
]
TaskOption = Annotated[
    str | None,
    typer.Option("--task", "-t", help="Number or name of the task; the latest one that has the file."),
]
RoundOption = Annotated[
    int | None, typer.Option("--round", "-r", min=0, help="State after this round; the newest by default.")
]

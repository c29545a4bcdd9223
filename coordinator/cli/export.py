"""The command that hands a task's provenance to other tools: export."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.options import RoundOption, TaskId
from coordinator.export import FORMATS


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend export Add --format git --output add.git`")(export)


def export(
    task: TaskId = None,
    format: Annotated[str, typer.Option("--format", "-f", help=f"One of: {', '.join(FORMATS)}.")] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write, or empty directory to fill; standard output by default."
        ),
    ] = None,
    round: RoundOption = None,
) -> None:
    """A task's revisions, failures and validations in a format that other tools read."""
    from coordinator.cli.store import reading
    from coordinator.export.source import read_source
    from coordinator.report.lookup import find_revision, find_task
    from schema.errors import BadInput

    if format not in FORMATS:
        raise BadInput(
            f"no format {format!r}" if format else "no format given",
            mend=f"give --format with one of: {', '.join(FORMATS)}",
        )
    chosen = FORMATS[format]
    if output is None and chosen.directory:
        raise BadInput(
            f"the {format} export fills a directory", mend="name an empty or a new one with --output"
        )
    if output is not None:
        _check(output, directory=chosen.directory)
    with reading() as session:
        found = find_task(session, task)
        revision = None if round is None else find_revision(session, found, round)
        source = read_source(session, found, revision=revision)
        if chosen.directory:
            assert output is not None
            target = output.resolve()
            with _beside(target) as place:
                told = chosen.fill(session, source, place)
                place.replace(target)
            typer.echo(f"{output}: {told}")
        elif output is None:
            for piece in chosen.text(session, source):
                sys.stdout.buffer.write(piece.encode())
            sys.stdout.buffer.flush()
        else:
            _write(output, chosen.text(session, source))


def _check(output: Path, *, directory: bool) -> None:
    """Refuse an output that would overwrite a folder's content, before anything is read.

    Raises:
        BadInput: it is not the kind of place that the format needs.
    """
    from schema.errors import BadInput

    if not output.parent.is_dir():
        raise BadInput(
            "no such directory", where=str(output.parent), mend="make it, or name another --output"
        )
    if directory and output.exists() and not output.is_dir():
        raise BadInput("is a file", where=str(output), mend="name an empty or a new directory")
    if directory and output.is_dir() and any(output.iterdir()):
        raise BadInput("the directory is not empty", where=str(output), mend="name an empty or a new one")
    if not directory and output.is_dir():
        raise BadInput("is a directory", where=str(output), mend="name a file")


@contextmanager
def _beside(output: Path) -> Iterator[Path]:
    """A directory that becomes `output` when it is whole, and leaves nothing behind when it is not."""
    place = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        place.chmod(0o777 & ~_umask())
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(output: Path, pieces: Iterator[str]) -> None:
    """Write a file whole or not at all; a pipe or a device is written as it is."""
    if output.exists() and not output.is_file():
        with output.open("wb") as stream:
            stream.writelines(piece.encode() for piece in pieces)
        return
    target = output.resolve()
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as stream:
        place = Path(stream.name)
        try:
            stream.writelines(piece.encode() for piece in pieces)
            stream.close()
            place.chmod(0o666 & ~_umask())
            place.replace(target)
        finally:
            place.unlink(missing_ok=True)


def _umask() -> int:
    """The umask, which can be read only by setting it."""
    known = os.umask(0o077)
    os.umask(known)
    return known

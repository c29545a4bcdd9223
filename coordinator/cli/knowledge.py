"""Commands on the knowledge base: kb list, show, search, lint."""

from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.options import Json

app = typer.Typer(help="The knowledge base: entries and their rewrites.", no_args_is_help=True)


@app.command("list", epilog="Example: `opmend kb list`")
def list_entries(json: Json = False) -> None:
    """List all entries."""
    from coordinator.cli.output import console, print_json
    from kb.entry import load_entries

    entries = load_entries()
    if json:
        print_json([entry.model_dump(mode="json") for entry in entries])
        return
    from rich.table import Table

    table = Table("entry", "what", "failure", "rewrite", box=None, pad_edge=False)
    for entry in entries:
        table.add_row(entry.id, entry.title, ", ".join(entry.failure_types), entry.rewrite or "–")
    console().print(table)


@app.command(epilog="Example: `opmend kb show datacopy-whole-blocks`")
def show(entry: Annotated[str, typer.Argument(help="Id of the entry.")], json: Json = False) -> None:
    """Show one entry whole."""
    from coordinator.cli.output import console, print_json
    from kb.entry import load_entries
    from schema.errors import NotFound

    found = next((item for item in load_entries() if item.id == entry), None)
    if found is None:
        raise NotFound(f"no entry {entry!r}", mend="`opmend kb list` shows all")
    if json:
        print_json(found.model_dump(mode="json"))
        return
    out = console()
    out.print(f"[bold]{found.id}[/]: {found.title}")
    for name in ("symptom", "root_cause", "remedy"):
        out.print(f"[bold]{name.replace('_', ' ')}[/]: {getattr(found, name)}")
    out.print(f"[bold]rewrite[/]: {found.rewrite or '–'}   [bold]confidence[/]: {found.confidence}")
    out.print(f"[bold]sources[/]: {'; '.join(found.sources)}")
    if found.example is not None:
        out.print("[bold]before[/]")
        out.print(found.example.before, markup=False)
        out.print("[bold]after[/]")
        out.print(found.example.after, markup=False)


@app.command(epilog="Example: `opmend kb search tail precision`")
def search(
    words: Annotated[list[str], typer.Argument(help="Words that must all occur.")], json: Json = False
) -> None:
    """Find entries that hold all the words."""
    from coordinator.cli.output import console, print_json
    from kb.entry import load_entries

    found = [
        entry
        for entry in load_entries()
        if all(word.lower() in entry.model_dump_json().lower() for word in words)
    ]
    if json:
        print_json([entry.model_dump(mode="json") for entry in found])
    else:
        for entry in found:
            console().print(f"[bold]{entry.id}[/]: {entry.title}")
        if not found:
            console().print("no entry holds all of that")
    raise typer.Exit(0 if found else 1)


@app.command(epilog="Example: `opmend kb lint kb/entries`")
def lint(
    directory: Annotated[
        Path | None, typer.Argument(help="Folder of entries; the shipped ones by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Check the form of entries: fields, ids, rewrites, examples."""
    from coordinator.cli.output import print_json
    from kb.entry import load_entries
    from kb.lint import lint as lint_entries
    from kb.lint import lint_directory
    from schema.errors import NotFound

    if directory is not None and not directory.is_dir():
        raise NotFound("no such folder", where=str(directory), mend="give a folder of entry files")
    problems = lint_entries(load_entries()) if directory is None else lint_directory(directory)
    if json:
        print_json([problem.model_dump(mode="json") for problem in problems])
    else:
        for problem in problems:
            typer.echo(f"{problem.entry}: {problem.message}")
        if not problems:
            typer.echo("every entry holds its form")
    raise typer.Exit(1 if problems else 0)

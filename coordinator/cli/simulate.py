"""The command on C++ programs: simulate."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer


def add_commands(app: typer.Typer) -> None:
    """Put the command of this module on the application."""
    app.command(
        epilog="Example: `opmend simulate main.cpp add_custom.cpp -- 1000`",
        context_settings={"allow_interspersed_args": True},
    )(simulate)


def simulate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="C++ sources, one with main; then its arguments."),
    ],
    include: Annotated[
        list[Path] | None, typer.Option("--include", "-I", help="A directory with headers.")
    ] = None,
    define: Annotated[list[str] | None, typer.Option("--define", "-D", help="NAME or NAME=VALUE.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that the program may run.")] = 600.0,
    sandbox: Annotated[str, typer.Option(help="on or off; default: the setting.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Findings and exit code as one JSON object.")] = False,
) -> None:
    """Compile C++ files with a `main` for the simulator and run them in the current directory.

    Exit code 0 when the program ends with 0 and without violation, else 1.
    """
    from schema.settings import Settings

    command = [sys.executable, "-W", "ignore", "-m", "npu_worker.simulate"]
    command += [word for one in include or () for word in ("--include", str(one))]
    command += [word for one in define or () for word in ("--define", one)]
    command += ["--timeout", str(timeout), *(("--sandbox", sandbox) if sandbox else ())]
    command += ["--json"] if json else []
    split = _program_arguments(sys.argv)
    sources = files[: len(files) - len(split)] if split else files
    command += [*sources, "--", *split]
    environment = {**os.environ, "OPMEND_HOME": str(Settings.load().root)}
    done = subprocess.run(command, check=False, env=environment)
    raise typer.Exit(done.returncode if 0 <= done.returncode <= 3 else 3)


def _program_arguments(words: list[str]) -> list[str]:
    """What stands behind `--`: click drops the mark itself."""
    return words[words.index("--") + 1 :] if "--" in words else []

"""The command line: `opmend`. One module a group of commands; nothing heavy is imported before it is used.

| module      | commands                                                        |
|-------------|-----------------------------------------------------------------|
| stack       | run, up, down, doctor                                           |
| runs        | submit, status, watch, cancel, report                           |
| operators   | check, integrity                                                |
| simulate    | simulate                                                        |
| provenance  | why, blame, history                                             |
| tasks       | show, replay, verify, resolve                                   |
| export      | export                                                          |
| statistics  | stats provenance                                                |
| cohorts     | cohort check, cohort freeze                                     |
| knowledge   | kb list, kb show, kb search, kb lint                            |
| processes   | coordinator, worker, flower                                     |

Exit codes: 0 done; 1 the thing checked does not hold; 2 wrong use or bad input; 3 infrastructure.
"""

import atexit
import gc
import sys
from io import TextIOWrapper

import typer

from schema.errors import OpmendError

app = typer.Typer(
    name="opmend",
    help="Repair near-miss accelerator kernels, and ask for any line which failed benchmark put it there.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def collect_rarely() -> None:
    """Look for garbage seldom in this process, and not once more at its end.

    A short command is mostly imports: half a million objects that stay. Looking at them again and again takes a
    quarter of its time.
    """
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)


def main() -> None:
    """Run the command; a user's mistake is one line on standard error, never a stack trace."""
    collect_rarely()
    from coordinator.cli import (
        cohorts,
        export,
        knowledge,
        operators,
        processes,
        provenance,
        runs,
        simulate,
        stack,
        statistics,
        tasks,
    )

    for group in (stack, runs, operators, simulate, provenance, tasks, export, processes):
        group.add_commands(app)
    if isinstance(sys.stdout, TextIOWrapper):
        # A path or a candidate's message may hold bytes that are no text; they must not break the answer.
        sys.stdout.reconfigure(errors="replace")
    app.add_typer(cohorts.app, name="cohort")
    app.add_typer(knowledge.app, name="kb")
    app.add_typer(statistics.app, name="stats")
    try:
        app()
    except OpmendError as error:
        print(f"opmend: {error}", file=sys.stderr)  # noqa: T201  the one place that reports errors
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("opmend: interrupted", file=sys.stderr)  # noqa: T201
        raise SystemExit(130) from None
    except BrokenPipeError:
        # `opmend report | head`: the reader has enough.
        sys.stderr.close()
        raise SystemExit(0) from None

"""Commands on one operator's workspace: check, integrity."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coordinator.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

WorkspaceDirectory = Annotated[
    Path,
    typer.Argument(
        metavar="OPERATOR_DIR", help="A workspace: model.py, cases, model_new_ascendc.py, kernel/."
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `opmend check cohorts/starter/Add --cases full`")(check)
    app.command(epilog="Example: `opmend integrity cohorts/starter/Add`")(integrity)


def check(
    directory: WorkspaceDirectory,
    cases: Annotated[str, typer.Option(help="compact or full.")] = "compact",
    device: Annotated[str, typer.Option(help="sim.")] = "sim",
    order_check: Annotated[
        bool,
        typer.Option(
            "--order-check",
            help="Run each case again with its cores in reverse order and other unwritten memory; "
            "outputs must not change.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Compile, validate, analyse and scan one workspace, without a queue or a store.

    Exit code 0 when every case passes, the order check (if asked for) finds nothing but warnings, and the verdict is
    CLEAN, else 1.
    """
    from coordinator.cli.output import console, print_json
    from coordinator.local.check import check_workspace
    from schema.errors import BadInput
    from schema.settings import Settings

    if cases not in {"compact", "full"}:
        raise BadInput(f"no case set {cases!r}", mend="use --cases compact or --cases full")
    if device != "sim":
        raise BadInput(
            f"no device {device!r}", mend="use --device sim; real hosts over SSH come with a later version"
        )
    answer = check_workspace(
        directory, cases=cases, device=device, settings=Settings.load(), order=order_check
    )
    if json:
        print_json(answer)
    else:
        _print_check(console(), answer)
    raise typer.Exit(0 if answer["outcome"] == "passed" else 1)


def _print_check(out: "Console", answer: dict[str, Any]) -> None:
    from rich.table import Table

    from coordinator.report.wording import rate

    out.print(
        f"[bold]{answer['outcome']}[/]: {answer['failure_type']}, match rate {rate(answer['match_rate'])}",
        end="",
    )
    out.print(f", verdict {answer['verdict']}")
    if answer["coverage"] is not None and answer["coverage"] < 1:
        out.print(f"reduced coverage: {rate(answer['coverage'])} of the set ran; the size limit cut the rest")
    if answer["cases"]:
        table = Table("case", "", "what", box=None, pad_edge=False)
        for case in answer["cases"]:
            table.add_row(case["name"], case["status"], case["message"])
        out.print(table)
    elif answer["message"]:
        out.print(answer["message"], markup=False)
    if answer["forensics"]:
        out.print(f"[bold]forensics[/] {answer['forensics']['hint']}: ", end="")
        out.print(answer["forensics"]["summary"], markup=False)
    alike: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for finding in answer["findings"]:
        where = f"{finding['file']}:{finding['line']}: " if finding.get("file") else ""
        alike.setdefault((finding["severity"], finding["rule"], where), []).append(finding)
    for (severity, rule, where), group in alike.items():
        count = sum(finding.get("count", 1) for finding in group)
        times = f" (×{count})" if count > 1 else ""
        out.print(f"{severity} {rule}: {where}{group[0]['message']}{times}", markup=False)
        about = [group[0][name] for name in ("core", "buffer") if group[0].get(name)]
        if about:
            out.print(f"    at {'; '.join(about)}", markup=False)
        if group[0].get("mend"):
            out.print(f"    mend: {group[0]['mend']}", markup=False)
    _print_costs(out, answer["costs"])
    _print_reasons(out, answer["reasons"])


def _print_costs(out: "Console", costs: dict[str, Any] | None) -> None:
    if not costs:
        return
    launches = f"{costs['launches']} launch" + ("es" if costs["launches"] != 1 else "")
    guess = ", some of them guesses" if costs["guessed"] else ""
    out.print(
        f"[bold]costs[/] of {launches}: at least {costs['cycles']:,} cycles of the busiest core "
        f"(rates of {costs['soc']}{guess}; no measurement)"
    )
    for title, counters in (
        ("counted", costs["total"]),
        ("bytes", costs["moved"]),
        ("cycles", costs["pipes"]),
    ):
        numbers = "  ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in counters.items())
        if numbers:
            out.print(f"  {title:8}{numbers}", markup=False)


def integrity(
    directory: WorkspaceDirectory,
    baseline: Annotated[
        Path | None, typer.Option(help="The frozen workspace to compare with: only kernel/ may differ.")
    ] = None,
    json: Json = False,
) -> None:
    """Say CLEAN, SUSPECT or CHEAT of a workspace, with reasons. Nothing is run.

    Exit code 0 for CLEAN, else 1.
    """
    from coordinator.cli.output import console, print_json
    from coordinator.integrity import scan
    from schema.workspace import Workspace

    files = dict(Workspace.from_directory(directory).files)
    frozen = dict(Workspace.from_directory(baseline).files) if baseline is not None else None
    found = scan(files, baseline=frozen)
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        out = console()
        out.print(f"[bold]{found.verdict}[/]")
        _print_reasons(out, [reason.model_dump(mode="json") for reason in found.reasons])
        for step in found.path:
            out.print(f"  {step.kind:8} {step.name} {step.file}:{step.line}", markup=False)
    raise typer.Exit(0 if found.verdict == "CLEAN" else 1)


def _print_reasons(out: "Console", reasons: list[dict[str, Any]]) -> None:
    for reason in reasons:
        out.print(
            f"{reason['level']} {reason['rule']}: {reason['file']}:{reason['line']}: {reason['message']}",
            markup=False,
        )
        if reason.get("source_line"):
            out.print(f"    {reason['source_line'].strip()}", markup=False)

"""A report as a table for people, or as CSV."""

import csv
import io

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from coordinator.report.outcomes import Report, TaskRow
from coordinator.report.wording import rate, seconds
from schema.jobs import Tokens

STYLES = {"passed": "green", "infrastructure": "magenta", "rejected": "red", "suspect": "yellow"}


def report_table(report: Report) -> RenderableType:
    """A table a task, the reasons of those that did not pass, and the totals."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "operator", "level", "outcome"):
        table.add_column(name, no_wrap=name in {"operator", "outcome"})
    for name in ("rounds", "turns", "tokens", "baseline", "compact", "full", "coverage"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    table.add_column("wall", justify="right")
    for row in report.tasks:
        tokens = _all(row.tokens)
        table.add_row(
            str(row.task),
            row.name if report.run.trials == 1 else f"{row.name} #{row.trial + 1}",
            row.level,
            Text(row.outcome or "running", style=STYLES.get(row.outcome or "", "")),
            str(row.rounds),
            str(row.turns),
            f"{tokens:,}",
            rate(row.match_rate.baseline),
            rate(row.match_rate.compact),
            _full(row),
            rate(row.coverage),
            row.verdict or "–",
            seconds(row.wall_s),
        )
    parts: list[RenderableType] = [Text(_title(report), style="bold"), table]
    reasons = [row for row in report.tasks if row.outcome not in {None, "passed"}]
    if reasons:
        parts.append(Text("\nWhy the others ended", style="bold"))
        parts += [Text(f"  {row.name}: {row.reason}") for row in reasons]
    parts.append(Text("\n" + _totals(report)))
    cut = [row for row in report.tasks if row.coverage < 1]
    if cut:
        parts.append(
            Text(
                f"Reduced coverage: in {len(cut)} of {len(report.tasks)} tasks the size limit of this cohort cut "
                "cases; their full rate speaks of the cases that ran.",
                style="yellow",
            )
        )
    return Group(*parts)


def report_csv(report: Report) -> str:
    """The same rows as comma-separated values, rates as fractions."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "task",
            "name",
            "level",
            "arm",
            "trial",
            "outcome",
            "rounds",
            "turns",
            "input",
            "output",
            "cache_creation",
        ]
        + ["cache_read", "baseline", "compact", "full", "verdict", "coverage", "wall_s", "reason"]
    )
    for row in report.tasks:
        writer.writerow(_cells(row))
    return out.getvalue()


def _cells(row: TaskRow) -> list[object]:
    tokens = [row.tokens.input, row.tokens.output, row.tokens.cache_creation, row.tokens.cache_read]
    rates = [row.match_rate.baseline, row.match_rate.compact, row.match_rate.full]
    return [
        row.task,
        row.name,
        row.level,
        row.arm,
        row.trial,
        row.outcome,
        row.rounds,
        row.turns,
        *tokens,
        *rates,
        row.verdict,
        row.coverage,
        row.wall_s,
        row.reason,
    ]


def _full(row: TaskRow) -> str:
    # A rate over fewer cases than the full set has never stands alone.
    shown = rate(row.match_rate.full)
    return (
        f"{shown} of {rate(row.coverage)}" if row.match_rate.full is not None and row.coverage < 1 else shown
    )


def _all(tokens: Tokens) -> int:
    # The four counts share no token (schema.jobs.Tokens).
    return tokens.input + tokens.output + tokens.cache_creation + tokens.cache_read


def _title(report: Report) -> str:
    run = report.run
    return f"Run {run.run}: cohort {run.cohort}, arm {run.arm}, model {run.model}"


def _totals(report: Report) -> str:
    totals = report.totals
    outcomes = ", ".join(f"{count} {name}" for name, count in totals.outcomes.items()) or "none yet"
    tokens = _all(totals.tokens)
    return (
        f"{totals.finished} of {totals.tasks} tasks ended: {outcomes}. "
        f"{totals.turns} turns, {tokens:,} tokens, {seconds(totals.wall_s)}."
    )

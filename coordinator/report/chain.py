"""What `opmend why`, `blame` and `history` print for people.

Failure texts, explanations and code come from benchmarks and models: they are data, never markup, and their
control characters are shown instead of being obeyed by the terminal.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from schema.causes import Failure
    from schema.file_history import BlamedLine, FileChange
    from schema.lineage import Ending, Explanation, Step

MOST_FAILURES = 3
MOST_OUTPUT_LINES = 6
# A line of data may have megabytes; what differs in it is not to be seen by people anyway.
COMPARED_CHARACTERS = 2_000
SHOWN_CHARACTERS = 400

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def plain(text: str) -> str:
    """Text with control and bidirectional characters spelled out; lines stay lines."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text.encode("utf-8", "replace").decode())


def harmless(line: str) -> str:
    """A line of code as `plain`, without its terminator, and cut where it is endless."""
    line = line.rstrip("\r\n")
    if len(line) > SHOWN_CHARACTERS:
        line = f"{line[:SHOWN_CHARACTERS]}… ({len(line):,} characters)"
    return plain(line)


def changed_words(old: str, new: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """Two lines in pieces, each with whether it differs from the other line, by words.

    Returns:
        The pieces of `old` and those of `new`; joined they are the lines again.
    """
    if max(len(old), len(new)) > COMPARED_CHARACTERS:
        return ((old, True),), ((new, True),)
    one, other = _WORDS.findall(old), _WORDS.findall(new)
    before: list[tuple[str, bool]] = []
    after: list[tuple[str, bool]] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(a=one, b=other, autojunk=False).get_opcodes():
        if i < j:
            before.append(("".join(one[i:j]), kind != "equal"))
        if k < m:
            after.append(("".join(other[k:m]), kind != "equal"))
    return tuple(before), tuple(after)


def print_why(out: Console, answer: "Explanation", name: str) -> None:
    """The whole chain of a line, newest first."""
    snippet = answer.snippet
    out.print(
        f"{plain(answer.path)}:{answer.line} of {plain(name)} (task {answer.task_id}, revision {answer.revision}, "
        f"key {snippet.position_key})",
        markup=False,
        style="bold",
    )
    out.print(f"  {harmless(snippet.content)}", markup=False, style="cyan")
    if snippet.scope:
        out.print(f"  in {plain(snippet.scope)}", markup=False, style="dim")
    if answer.ended is not None:
        _print_ending(out, answer.ended)
    for number, step in enumerate(answer.steps):
        _print_step(out, step, newest=number == 0)
    changes = [step for step in answer.steps if step.change not in {"initial", "inserted"}]
    if changes and all(step.change == "moved" for step in changes):
        out.print("The line only moved: no benchmark has changed what it says.")
    for step in answer.others:
        out.print(
            f"also from {_place(step)} (revision {step.revision}): {harmless(step.content)}", markup=False
        )


def _print_ending(out: Console, ended: "Ending") -> None:
    became = "replaced" if ended.successors else "deleted"
    out.print(f"round {ended.round}, revision {ended.revision}: ", end="")
    out.print(became, style="bold red", end="")
    out.print(f" by {_author(ended)}", markup=False)
    _print_causes(out, ended)
    for successor in ended.successors:
        line = f"  + {harmless(successor.content)}"
        place = f"{plain(successor.path)}@{successor.position_key}"
        out.print(
            f"{line}   ({successor.kind}: {place})",
            markup=False,
            style="green",
        )


def _print_step(out: Console, step: "Step", *, newest: bool) -> None:
    if step.change == "initial":
        if newest:
            out.print("Initial code: no benchmark has changed this line.")
        else:
            out.print(f"from the initial code, {_place(step)}: {harmless(step.content)}", markup=False)
        return
    out.print(f"round {step.round}, revision {step.revision}: ", end="")
    out.print(_made(step), style="bold", markup=False, end="")
    out.print(f" by {_author(step)}", markup=False)
    _print_causes(out, step)
    _print_difference(out, step)


def _made(step: "Step") -> str:
    """What a revision did to make this snippet, in words."""
    closest = step.parents[0] if step.parents else None
    if closest is None:
        return "inserted"
    origin = f"{plain(closest.path)}@{closest.position_key}"
    if step.change == "moved":
        how = "itself unchanged" if closest.content == step.content else "re-indented"
        return f"moved here from {origin}, {how},"
    if step.change == "restored":
        return f"restored to {origin}"
    if step.change == "merged":
        return f"merged from {len(step.parents)} lines" if len(step.parents) > 1 else f"merged from {origin}"
    return f"split off {origin}" if step.change == "split" else step.change


def _print_causes(out: Console, step: "Step | Ending") -> None:
    _print_failures(out, step.failures)
    if not step.failures:
        out.print("  no benchmark is on record for it", style="dim")
    if step.explanation:
        out.print("  explanation: ", style="bold", end="")
        out.print(plain("\n    ".join(step.explanation.strip().split("\n"))), markup=False)
    if step.entry_ids:
        out.print("  entry applied: ", style="bold", end="")
        out.print(", ".join(map(plain, step.entry_ids)), markup=False)


def _print_difference(out: Console, step: "Step") -> None:
    """The line as it was, and as it became; words that differ stand out."""
    if step.change == "moved" and step.before == (step.content,):
        return
    if len(step.before) == 1:
        before, after = changed_words(harmless(step.before[0]), harmless(step.content))
        out.print(_marked("  - ", before, "red"))
        out.print(_marked("  + ", after, "green"))
        return
    for line in step.before:
        out.print(f"  - {harmless(line)}", markup=False, style="red")
    out.print(f"  + {harmless(step.content)}", markup=False, style="green")


def _marked(sign: str, pieces: Iterable[tuple[str, bool]], colour: str) -> Text:
    line = Text(sign, style=colour)
    for piece, differs in pieces:
        line.append(piece, style=f"bold underline {colour}" if differs and piece.strip() else colour)
    return line


def _print_failures(out: Console, failures: Sequence["Failure"]) -> None:
    for failure in failures[:MOST_FAILURES]:
        out.print("  failed benchmark: ", style="bold", end="")
        out.print(plain(failure.benchmark), markup=False)
        lines = failure.output.strip().split("\n") if failure.output.strip() else []
        for line in lines[:MOST_OUTPUT_LINES]:
            out.print(f"    {plain(line)}", markup=False)
        if len(lines) > MOST_OUTPUT_LINES:
            out.print(f"    … {len(lines) - MOST_OUTPUT_LINES} more lines (--json shows all)")
    more = len(failures) - MOST_FAILURES
    if more > 0:
        out.print(f"  … and {more} more failed benchmark{'s' if more > 1 else ''} (--json shows all)")


def _place(step: "Step") -> str:
    return f"{plain(step.path)}@{step.position_key}"


def _author(step: "Step | Ending") -> str:
    direction = f" ({plain(step.direction)})" if step.direction else ""
    if step.cause == "rewrite":
        return f"a rewrite{direction}"
    if step.cause == "restore":
        return "going back to the checkpoint"
    return f"model {plain(step.model) or '(not named)'}{direction}"


def print_blame(out: Console, lines: Sequence["BlamedLine"]) -> None:
    """A table without borders: round, revisions, key, benchmark, line number, line."""
    names = [_benchmarks(line.benchmarks) for line in lines]
    key_width = max(3, *(len(line.position_key) for line in lines))
    width = max(9, *map(len, names))
    head = f"{'rnd':>3} {'rev':>3} {'key':<{key_width}} {'benchmark':<{width}} line"
    rows = [(head, "bold")]
    for line, name in zip(lines, names, strict=True):
        # The round stands beside the colour: colour alone would not print.
        made = f"r{line.last_round}" if line.revisions else "·"
        count = str(line.revisions) if line.revisions else "·"
        text = f"{made:>3} {count:>3} {line.position_key:<{key_width}} {name:<{width}} {line.line:>4} "
        rows.append((text + harmless(line.content), "yellow" if line.revisions else "dim"))
    for text, style in rows:
        out.print(text, markup=False, style=style, no_wrap=True, overflow="ignore", crop=False)


def _benchmarks(names: Sequence[str]) -> str:
    if not names:
        return ""
    name = plain(names[0])
    first = name if len(name) <= 32 else name[:31] + "…"
    return first if len(names) == 1 else f"{first} +{len(names) - 1}"


def print_history(out: Console, changes: Sequence["FileChange"]) -> None:
    """Each revision with the failures behind it, and its lines in file order: - gone, + new."""
    for change in changes:
        out.print(f"round {change.round}, revision {change.revision}, {change.cause}", style="bold", end="")
        out.print(f" {plain(change.direction)}" if change.direction else "", markup=False)
        if change.cause == "initial":
            out.print(f"  {len(change.created)} lines")
            continue
        _print_failures(out, change.failures)
        if change.explanation:
            out.print("  explanation: ", style="bold", end="")
            out.print(plain("\n    ".join(change.explanation.strip().split("\n"))), markup=False)
        stones = {stone.position_key: stone for stone in change.deleted}
        # By key, so that what came stands right after what it replaced: new keys follow their tombstones.
        lines = sorted(
            [(key, "-", content) for key, content in change.disabled]
            + [(key, "+", content) for key, content in change.created]
        )
        for key, sign, content in lines:
            note = ""
            if key in stones and sign == "-":
                note = f"   (deleted{' for ' + _benchmarks(stones[key].benchmarks) if stones[key].benchmarks else ''})"
            out.print(
                f"  {sign} {harmless(content)}{note}", markup=False, style="red" if sign == "-" else "green"
            )

"""The engine of executable rewrites: find sites, propose trials, keep what still parses.

A rewrite is a structural change that an entry's remedy describes in words. It names no operator and no
variable; it finds its places by the form of the code and by what counts and tensors are, and finds none
where the code is already right. A proposal is a trial, compiled and run before anyone believes it.
"""

import importlib
import logging
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Protocol

from tree_sitter import Node

from kb.context import RewriteContext
from kb.source import Program, Source, ancestors, inside
from schema.errors import EntryError
from schema.results import Record
from schema.texts import bytes_of, text_of

logger = logging.getLogger(__name__)

MOST_PROPOSALS = 6
MOST_CHARACTERS = 200_000
MOST_SINGLES = 3


class Edit(Record):
    """Bytes `start` to `end` of a file give way to `text`."""

    path: str
    start: int
    end: int
    text: str


class Site(Record):
    """One place a rewrite applies to.

    Attributes:
        edits: the edits that mend this place together.
        line: 1-based line of the first edit.
        note: what was found there, in one sentence.
        variant: alternatives that exclude each other have different names; the engine never mixes them.
        order: plausibility among variants, the smallest first.
        dtypes: element types the place is compiled for (branches on the type around it); empty means all.
    """

    edits: tuple[Edit, ...]
    path: str
    line: int
    note: str
    variant: str = ""
    order: int = 0
    dtypes: tuple[str, ...] = ()


class Proposal(Record):
    """A trial change of a workspace.

    Attributes:
        entry: id of the entry that carries the rewrite.
        rewrite: name of the rewrite, or several joined with "+".
        title: short text that identifies the proposal to people.
        files: changed files, path -> whole new text; only paths under kernel/.
        locations: "file:line" of each place, in lines of the text before the change.
        explanation: why, in words for people and models.
    """

    entry: str
    rewrite: str
    title: str
    files: Mapping[str, str]
    locations: tuple[str, ...]
    explanation: str


class CarriesRewrite(Protocol):
    """What the engine needs of an entry."""

    @property
    def id(self) -> str:
        """The entry's id."""

    @property
    def title(self) -> str:
        """The entry's title."""

    @property
    def remedy(self) -> str:
        """The remedy in words."""

    @property
    def rewrite(self) -> str | None:
        """The name of its rewrite."""

    @property
    def then(self) -> tuple[str, ...]:
        """Rewrites tried on top of the first one."""


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """An executable remedy: `find` returns the places it applies to, none where the code is right."""

    name: str
    summary: str
    find: Callable[[Program], Sequence[Site]]


@cache
def rewrites() -> Mapping[str, Rewrite]:
    """All rewrites by name: every module of kb.rewrites has one, or several in REWRITES."""
    package = importlib.import_module("kb.rewrites")
    found: dict[str, Rewrite] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        loaded = importlib.import_module(f"kb.rewrites.{module}")
        for rewrite in getattr(loaded, "REWRITES", ()):
            if rewrite.name in found:
                raise EntryError(
                    f"two rewrites are named {rewrite.name!r}", where=loaded.__name__, mend="rename one"
                )
            found[rewrite.name] = rewrite
    return found


def rewrite_named(name: str) -> Rewrite:
    """A rewrite by name.

    Raises:
        EntryError: there is none; the message lists those there are.
    """
    known = rewrites()
    if name not in known:
        raise EntryError(f"no rewrite is named {name!r}", mend=f"use one of: {', '.join(sorted(known))}")
    return known[name]


def replace(source: Source, node: Node, text: str) -> Edit:
    """Replace a node."""
    return Edit(path=source.path, start=node.start_byte, end=node.end_byte, text=text)


def before(source: Source, node: Node, line: str) -> Edit:
    """Insert a line in front of the line `node` starts on, with its indentation."""
    start = source.data.rfind(b"\n", 0, node.start_byte) + 1
    if source.data[start : node.start_byte].strip():
        return Edit(path=source.path, start=node.start_byte, end=node.start_byte, text=line + " ")
    text = "".join(f"{source.indent(node)}{part}\n" for part in line.split("\n"))
    return Edit(path=source.path, start=start, end=start, text=text)


def after(source: Source, node: Node, line: str) -> Edit:
    """Insert a line behind `node`, with its indentation."""
    text = "".join(f"\n{source.indent(node)}{part}" for part in line.split("\n"))
    return Edit(path=source.path, start=node.end_byte, end=node.end_byte, text=text)


def into(source: Source, body: Node, line: str) -> Edit:
    """Insert a line at the start of a block."""
    first = next((n for n in body.named_children), None)
    indent = source.indent(first) if first is not None else source.indent(body) + "    "
    start = body.start_byte + 1
    return Edit(
        path=source.path, start=start, end=start, text="".join(f"\n{indent}{p}" for p in line.split("\n"))
    )


def remove(source: Source, node: Node) -> Edit:
    """Remove a statement with the whole line it is alone on."""
    start, end = node.start_byte, node.end_byte
    line_start = source.data.rfind(b"\n", 0, start) + 1
    line_end = source.data.find(b"\n", end)
    line_end = len(source.data) if line_end < 0 else line_end + 1
    if not source.data[line_start:start].strip() and not source.data[end:line_end].strip():
        start, end = line_start, line_end
    return Edit(path=source.path, start=start, end=end, text="")


def site(
    source: Source, node: Node, edits: Iterable[Edit], note: str, *, variant: str = "", order: int = 0
) -> Site:
    """A site at a node."""
    return Site(
        edits=tuple(edits), path=source.path, line=source.line(node), note=note, variant=variant, order=order,
        dtypes=compiled_for(source, node),
    )  # fmt: skip


DTYPES = ("float", "half", "bfloat16_t", "int32_t")
TORCH_DTYPES = {"float32": "float", "float16": "half", "bfloat16": "bfloat16_t", "int32": "int32_t"}


def compiled_for(source: Source, node: Node) -> tuple[str, ...]:
    """The element types a place is compiled for, by the type tests around it; () where there are none."""
    kept, child = set(DTYPES), node
    for above in ancestors(node):
        if above.type == "if_statement":
            test = above.child_by_field_name("condition")
            other = above.child_by_field_name("alternative")
            names = _types_tested(source.text(test)) if test is not None else set()
            if names:
                kept = kept - names if other is not None and inside(child, other) else kept & names
        child = above
    return () if kept == set(DTYPES) else tuple(sorted(kept))


def _types_tested(text: str) -> set[str]:
    """The types a condition such as `std::is_same<T, half>::value` or `sizeof(T) == 2` holds for."""
    if "!" in text or "&&" in text:
        return set()
    names = {
        name for name in re.findall(r"is_same(?:_v)?\s*<[^,<>]*,\s*([\w:]+)\s*>", text) if name in DTYPES
    }
    match = re.search(r"sizeof\s*\(\s*\w+\s*\)\s*==\s*(?:sizeof\s*\(\s*(\w+)\s*\)|(\d))", text)
    if match:
        names |= (
            {"half", "bfloat16_t"}
            if match.group(2) == "2" or match.group(1) in ("half", "bfloat16_t")
            else {"float", "int32_t"}
        )
    return names


def apply(files: Mapping[str, str], edits: Iterable[Edit]) -> dict[str, str] | None:
    """The changed files; None where two edits overlap.

    Equal edits count once; insertions at one place keep their order.
    """
    by_path: dict[str, list[Edit]] = {}
    for edit in dict.fromkeys(edits):
        by_path.setdefault(edit.path, []).append(edit)
    changed = {}
    for path, listed in by_path.items():
        data = bytes_of(files[path])
        ordered = sorted(listed, key=lambda edit: (edit.start, edit.end))
        if any(one.end > two.start for one, two in pairwise(ordered)):
            return None
        for edit in reversed(ordered):
            data = data[: edit.start] + bytes_of(edit.text) + data[edit.end :]
        text = text_of(data)
        if text != files[path]:
            changed[path] = text
    return changed


def trials(
    files: Mapping[str, str], rewrite: Rewrite, context: RewriteContext
) -> list[tuple[tuple[Site, ...], dict[str, str]]]:
    """All groups of sites worth a trial with the files they change, the most plausible first."""
    program = _program(
        tuple(sorted((path, text) for path, text in files.items() if path.startswith("kernel/")))
    )
    noticed = {(finding.file, finding.line) for finding in context.findings}
    sites = sorted(rewrite.find(program), key=lambda found: (found.path, found.line) not in noticed)
    failing = {TORCH_DTYPES.get(name, name) for name in context.failing_dtypes}
    passing = {TORCH_DTYPES.get(name, name) for name in context.passing_dtypes}
    variants: dict[tuple[int, str], list[Site]] = {}
    for found in sites:
        variants.setdefault((found.order, found.variant), []).append(found)
    groups: list[tuple[Site, ...]] = []
    ordered = [variants[key] for key in sorted(variants)]
    for members in ordered:
        # What compiles for passing types only is not to blame; what compiles for a failing type is.
        blamed = [one for one in members if not one.dtypes or (set(one.dtypes) & failing) - passing]
        if failing and blamed:
            groups.append(tuple(blamed))
        groups.append(tuple(members))
    for members in ordered:
        kinds = list(dict.fromkeys(one.dtypes for one in members))
        if len(kinds) > 1:
            groups.extend(tuple(one for one in members if one.dtypes == kind) for kind in kinds)
        if 1 < len(members) <= MOST_SINGLES:
            groups.extend((single,) for single in members)
    kept: list[tuple[tuple[Site, ...], dict[str, str]]] = []
    for group in groups:
        changed = apply(files, [edit for found in group for edit in found.edits])
        if not changed or any(changed == other for _, other in kept):
            continue
        if all(_sound(program, path, text) for path, text in changed.items()):
            kept.append((group, changed))
    return kept


def cautious_trials(
    files: Mapping[str, str], rewrite: Rewrite, context: RewriteContext
) -> list[tuple[tuple[Site, ...], dict[str, str]]]:
    """`trials`, where a rewrite that trips over code of a shape nobody foresaw finds nothing.

    A candidate may hold any text; no text may end the job that tries to mend it. The log says which rewrite tripped.
    """
    kernel = [text for path, text in files.items() if path.startswith("kernel/")]
    if sum(map(len, kernel)) > MOST_CHARACTERS:
        return []  # no kernel that people or models write is as long; the search takes too long on it
    try:
        return trials(files, rewrite, context)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        logger.warning("rewrite %s tripped over a kernel", rewrite.name, exc_info=True)
        return []


@lru_cache(maxsize=8)
def _program(files: tuple[tuple[str, str], ...]) -> Program:
    """Parsed once for all rewrites that are tried on the same files."""
    return Program(dict(files))


def _sound(program: Program, path: str, text: str) -> bool:
    old = program.sources.get(path)
    return old is not None and Source(path, text).errors <= old.errors


def propose(files: Mapping[str, str], entry: CarriesRewrite, context: RewriteContext) -> tuple[Proposal, ...]:
    """Trials of an entry's rewrite on a workspace, the most plausible first; () where it does not apply.

    Args:
        files: the workspace, path -> text; only C++ files under kernel/ are read and changed.
        entry: the entry that carries the rewrite.
        context: the failure.

    Returns:
        At most MOST_PROPOSALS proposals. Where the entry names further rewrites in `then`, the first rewrite with
        them on top comes before the first rewrite alone.

    Raises:
        EntryError: the entry names a rewrite that does not exist.
    """
    if entry.rewrite is None:
        return ()
    first = rewrite_named(entry.rewrite)
    found: list[Proposal] = []
    for group, changed in cautious_trials(files, first, context):
        locations = tuple(dict.fromkeys(f"{one.path}:{one.line}" for one in group))
        notes = list(dict.fromkeys(one.note for one in group))
        alone = Proposal(
            entry=entry.id, rewrite=first.name, title=f"{entry.title} ({first.summary})", files=changed,
            locations=locations, explanation=" ".join([*notes, entry.remedy]),
        )  # fmt: skip
        current, names = dict(files) | changed, [first.name]
        for name in entry.then:
            further = cautious_trials(current, rewrite_named(name), context)
            if further:
                current |= further[0][1]
                names.append(name)
                notes.extend(dict.fromkeys(one.note for one in further[0][0]))
        if len(names) > 1:
            together = {path: text for path, text in current.items() if text != files.get(path)}
            found.append(
                alone.model_copy(
                    update={
                        "rewrite": "+".join(names), "files": together,
                        "explanation": " ".join([*dict.fromkeys(notes), entry.remedy]),
                    }
                )
            )  # fmt: skip
        found.append(alone)
    unique: list[Proposal] = []
    for proposal in found:
        if not any(proposal.files == other.files for other in unique):
            unique.append(proposal)
    return tuple(unique[:MOST_PROPOSALS])

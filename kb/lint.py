"""Checks of the knowledge base: form, unique ids, rewrites that exist, examples that hold."""

import re
from collections.abc import Iterable
from pathlib import Path

from kb.context import FormError, RewriteContext
from kb.entry import CATEGORIES, HINTS, Entry, read_entry
from kb.rewrite import propose, rewrites, trials
from kb.source import Source
from schema.errors import EntryError

EXAMPLE_PATH = "kernel/example.h"
MACHINE = re.compile(r"(?:^|\s)/(?:home|root|tmp|usr|work|opt)/|\bhttps?://", re.IGNORECASE)


def lint(entries: Iterable[Entry]) -> tuple[FormError, ...]:
    """What is wrong with entries; () if nothing is."""
    found: list[FormError] = []
    seen: set[str] = set()
    for entry in entries:
        messages = list(_form(entry))
        if entry.id in seen:
            messages.append("the id is taken")
        seen.add(entry.id)
        if not messages:
            messages.extend(_example(entry))
        found.extend(FormError(entry=entry.id, message=message) for message in messages)
    return tuple(found)


def lint_directory(directory: Path) -> tuple[FormError, ...]:
    """What is wrong with the entry files of a directory: form errors of each file, then those of lint()."""
    found, entries = [], []
    for path in sorted(directory.glob("*.json")):
        try:
            entry = read_entry(path)
        except EntryError as error:
            found.append(FormError(entry=path.stem, message=str(error)))
            continue
        if entry.id != path.stem:
            found.append(FormError(entry=entry.id, message=f"the file should be named {entry.id}.json"))
        entries.append(entry)
    return (*found, *lint(entries))


def _form(entry: Entry) -> Iterable[str]:
    for category in entry.categories:
        if category not in CATEGORIES:
            yield f"unknown category {category!r}; known are {', '.join(CATEGORIES)}"
    for hint in entry.hints:
        if hint not in HINTS:
            yield f"unknown hint {hint!r}; known are {', '.join(HINTS)}"
    known = rewrites()
    for name in ((entry.rewrite,) if entry.rewrite else ()) + entry.then:
        if name not in known:
            yield f"there is no rewrite {name!r}"
    if entry.then and not entry.rewrite:
        yield "`then` needs a rewrite to follow"
    if entry.rewrite and entry.example is None:
        yield "an entry with a rewrite needs an example"
    text = entry.model_dump_json()
    if MACHINE.search(text):
        yield "names a path of a machine or an address"


def _example(entry: Entry) -> Iterable[str]:
    """The rewrite turns `before` into something that parses and differs, and declines on `after`."""
    if entry.example is None:
        return
    for name, code in (("before", entry.example.before), ("after", entry.example.after)):
        errors = Source(EXAMPLE_PATH, code).errors
        if errors:
            yield f"example.{name} does not parse ({errors} places)"
            return
    if entry.rewrite is None:
        return
    context = RewriteContext(failure_type=entry.failure_types[0])
    proposals = propose({EXAMPLE_PATH: entry.example.before}, entry, context)
    if not proposals:
        yield f"rewrite {entry.rewrite} finds nothing in example.before"
        return
    wanted = _plain(entry.example.after)
    if not any(_plain(proposal.files.get(EXAMPLE_PATH, "")) == wanted for proposal in proposals):
        yield f"rewrite {entry.rewrite} does not turn example.before into example.after"
    if trials({EXAMPLE_PATH: entry.example.after}, rewrites()[entry.rewrite], context):
        yield f"rewrite {entry.rewrite} changes example.after once more"


def _plain(code: str) -> str:
    return re.sub(r"\s+", "", code)

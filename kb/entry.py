"""Entries: what is known of one way kernels fail, and how it is mended.

One JSON file an entry under kb/entries, named after its id. The facts are gathered from the sources each entry credits
and told in our words; the example code is ours.
"""

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from schema.errors import EntryError, NotFound
from schema.results import FailureType, Record

CATEGORIES = (
    "elementwise", "reduction", "scan", "normalization", "loss", "matmul", "scatter", "pooling", "convolution", "other",
)  # fmt: skip
HINTS = (
    "nan_inf_contamination", "all_wrong", "uniform_offset", "tail_spike", "dimension_concentration",
    "boundary_concentration", "magnitude_correlated", "scattered",
)  # fmt: skip


class Example(Record):
    """A kernel fragment with the fault and the same fragment without it, both our own code."""

    before: str
    after: str


class Entry(Record):
    """One item of the knowledge base.

    Attributes:
        id: stable, lower case with dashes; the file is named after it.
        title: one line for people.
        failure_types: failures it may explain; retrieval never offers it for others.
        categories: operator categories it is known in; empty means all.
        hints: forensic classes it shows as, the most telling first; empty means any.
        findings: rules of the simulator or the sandbox that are strong evidence for it.
        calls: AscendC calls (or words of C++) without which it cannot apply; one of them must occur. Empty means any.
        symptom: what is seen.
        root_cause: why.
        remedy: what to do, in words a model can act on.
        confidence: "certified" by a full validation of ours, "reported" by its source, or "inferred".
        sources: where the facts are from.
        rewrite: name of the executable rewrite; None where there is none.
        then: rewrites tried on top of the first one.
        example: before and after; needed where there is a rewrite.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$")
    title: str = Field(min_length=8, max_length=120)
    failure_types: tuple[FailureType, ...] = Field(min_length=1)
    categories: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    symptom: str = Field(min_length=20)
    root_cause: str = Field(min_length=20)
    remedy: str = Field(min_length=20)
    confidence: Literal["certified", "reported", "inferred"] = "reported"
    sources: tuple[str, ...] = Field(min_length=1)
    rewrite: str | None = None
    then: tuple[str, ...] = ()
    example: Example | None = None


def read_entry(path: Path) -> Entry:
    """Read one entry file.

    Raises:
        EntryError: it is no JSON, or breaks the form; the message names the field.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise EntryError(
            f"no JSON: {error.msg}", where=f"{path}:{error.lineno}", mend="mend the JSON"
        ) from error
    except OSError as error:
        raise EntryError("the entry can't be read", where=str(path), mend=str(error.strerror)) from error
    if isinstance(data, dict) and isinstance(data.get("example"), dict):
        # Code is written as a list of lines, which reads and diffs better than one string.
        data["example"] = {
            key: "\n".join(value) + "\n" if isinstance(value, list) else value
            for key, value in data["example"].items()
        }
    try:
        return Entry.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "entry"
        raise EntryError(
            f"{field}: {first['msg']}", where=str(path), mend="see kb/entry.py for the form"
        ) from error


def load_entries(directory: Path | None = None) -> tuple[Entry, ...]:
    """All entries, sorted by id; of the shipped knowledge base unless a directory is named.

    Raises:
        EntryError: an entry breaks its form, or two have one id.
    """
    return _shipped() if directory is None else _load(directory)


@cache
def _shipped() -> tuple[Entry, ...]:
    return _load(Path(str(files("kb").joinpath("entries"))))


def _load(directory: Path) -> tuple[Entry, ...]:
    entries: dict[str, Entry] = {}
    for path in sorted(directory.glob("*.json")):
        entry = read_entry(path)
        if entry.id in entries:
            raise EntryError(f"a second entry has the id {entry.id!r}", where=str(path), mend="rename one")
        entries[entry.id] = entry
    return tuple(entries[key] for key in sorted(entries))


def entry_by_id(wanted: str, entries: Iterable[Entry] | None = None) -> Entry:
    """One entry.

    Raises:
        NotFound: no entry has this id.
    """
    for entry in load_entries() if entries is None else entries:
        if entry.id == wanted:
            return entry
    raise NotFound(f"no entry has the id {wanted!r}", mend="`opmend kb list` prints the ids")

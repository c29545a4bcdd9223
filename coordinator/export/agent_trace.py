"""The Agent Trace export: one record a revision, JSON Lines. Format: Agent Trace RFC 0.1.0.

A record tells the lines that its revision wrote, at their numbers after it, by contributor. To find a line's
record, take the revision that wrote it last (`git blame` on the git export names the commit that `vcs` does).
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from sqlalchemy.orm import Session

from coordinator.export.lines import Changed, ranges
from coordinator.export.objects import commits
from coordinator.export.source import TOOL, Made, Source, capped, clean, tool_version, utc
from schema.blobs import get_blob
from schema.errors import BadInput

VERSION = "0.1.0"
# Reverse-domain key of ours in a record's metadata.
METADATA = "invalid.opmend"
_MOST_CHARACTERS = 250  # of a model's id, says the format
_MOST_OUTPUT = 500  # of a failure, says good sense: each record repeats its own failures only


def export(session: Session, source: Source) -> Iterator[str]:
    """The records, oldest first, each on a line of its own."""
    try:
        made_commits: list[str] | list[None] = commits(session, source)
    except BadInput:
        # A path that git can't carry: there is no commit to name, and a record may do without.
        made_commits = [None] * len(source.revisions)
    changes = source.lines.changes(len(source.revisions))
    for made, commit, changed in zip(source.revisions, made_commits, changes, strict=True):
        record = _record(session, source, made, commit, changed)
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _record(
    session: Session, source: Source, made: Made, commit: str | None, changed: Mapping[str, Changed]
) -> dict[str, Any]:
    files = []
    for path, change in changed.items():
        makers: dict[int, list[int]] = {}
        for number, line in change.new:
            makers.setdefault(source.maker(line).revision, []).append(number)
        if makers:
            lines = get_blob(session, made.files[path]).split(b"\n")
            conversations = [
                _conversation(source, source.revisions[maker], numbers, lines)
                for maker, numbers in sorted(makers.items())
            ]
            files.append({"path": clean(path), "conversations": conversations})
    return {
        "version": VERSION,
        "id": source.guid("agent-trace", made.revision),
        "timestamp": utc(made.created_at),
        **({} if commit is None else {"vcs": {"type": "git", "revision": commit}}),
        "tool": {"name": TOOL, "version": tool_version()},
        "files": files,
        "metadata": {METADATA: _metadata(source, made)},
    }


def _conversation(source: Source, made: Made, numbers: list[int], lines: list[bytes]) -> dict[str, Any]:
    return {
        "url": source.uri("conversation", source.conversation(made)),
        "contributor": _contributor(made),
        "ranges": [
            {"start_line": first, "end_line": last, "content_hash": _hash(lines, first, last)}
            for first, last in ranges(numbers)
        ],
        "related": _related(source, made),
    }


def _contributor(made: Made) -> dict[str, str]:
    """Who wrote a revision's lines. Nobody knows who wrote the baseline; a rewrite is a program's work."""
    if made.cause not in {"rewrite", "session"}:
        return {"type": "unknown"}
    model = f"{TOOL}/kb" if made.model in {"", "kb"} else made.model
    return {"type": "ai", "model_id": capped(model, _MOST_CHARACTERS)}


def _related(source: Source, made: Made) -> list[dict[str, str]]:
    found = [("benchmark", source.uri("benchmark", failed.benchmark)) for failed in made.failures]
    found += [
        ("evidence", source.uri("evidence", one.digest))
        for one in source.validations
        if one.job_id == made.answers
    ]
    found += [("entry", source.uri("entry", entry)) for entry in made.entry_ids]
    return [{"type": kind, "url": url} for kind, url in found]


def _hash(lines: list[bytes], first: int, last: int) -> str:
    """SHA-256 of a range's bytes, terminators included."""
    text = b"\n".join(lines[first - 1 : last])
    # The last piece of the split has no terminator: it is the end of the file.
    return "sha256:" + sha256(text + b"\n" if last < len(lines) else text).hexdigest()


def _metadata(source: Source, made: Made) -> dict[str, Any]:
    return {
        "task": source.task,
        "name": source.name,
        "cohort": {"name": source.cohort, "sha256": source.cohort_digest},
        "revision": made.revision,
        "round": made.round,
        "cause": made.cause,
        "tree": {"sha256": made.tree},
        "failed_benchmarks": [
            {"name": failed.benchmark, "kind": failed.kind, "output": capped(failed.output, _MOST_OUTPUT)}
            for failed in made.failures
        ],
        "explanation": made.explanation,
        "direction": made.direction,
        "entries": list(made.entry_ids),
        "model": made.model,
    }

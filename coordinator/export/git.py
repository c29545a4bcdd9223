"""The git export: a bare repository with one commit a revision, and one note a commit.

Notes are authorship logs of the Git AI Standard v3.0.0 under refs/notes/ai: which lines of a commit an agent
wrote, and what made it write them. An agent here is a repair session or a round of rewrites.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pygit2
from sqlalchemy.orm import Session

from coordinator.export.lines import Changed, ranges
from coordinator.export.objects import commits, object_id
from coordinator.export.source import DOMAIN, TOOL, Made, Source, tool_version, utc

NOTES = "refs/notes/ai"
SCHEMA_VERSION = "authorship/3.0.0"
BRANCH = "main"

_KINDS = {
    "blob": pygit2.enums.ObjectType.BLOB,
    "tree": pygit2.enums.ObjectType.TREE,
    "commit": pygit2.enums.ObjectType.COMMIT,
}


def export(session: Session, source: Source, path: Path) -> str:
    """Make the empty directory `path` a repository; returns one line for people.

    Raises:
        BadInput: git can't carry a path of the task.
    """
    repository = pygit2.init_repository(path, bare=True, initial_head=BRANCH)
    # The templates of this machine's git are no part of an export.
    _bare_essentials(path)

    def write(kind: str, data: bytes) -> None:
        repository.odb.write(_KINDS[kind], data)

    made_commits = commits(session, source, write)
    for reference, commit in _references(source, made_commits).items():
        repository.references.create(reference, commit)
    notes = [
        (commit, note(source, made, changed, commit).encode("utf-8", "surrogateescape"))
        for commit, made, changed in zip(
            made_commits, source.revisions, source.lines.changes(len(source.revisions)), strict=True
        )
    ]
    repository.references.create(NOTES, _write_notes(write, source, notes))
    # So that a plain `git log` shows the notes.
    repository.config["notes.displayRef"] = NOTES
    return f"{len(made_commits)} commits on {BRANCH}, their notes in {NOTES}"


def note(source: Source, made: Made, changed: Mapping[str, Changed], commit: str) -> str:
    """The authorship log of one commit: files with their lines by agent, a divider, and the agents."""
    attested: list[str] = []
    accepted: dict[str, int] = {}
    makers: dict[str, Made] = {}
    for path, change in changed.items():
        numbers: dict[str, list[int]] = {}
        for number, line in change.new:
            maker = source.maker(line)
            if maker.cause != "initial":
                agent = agent_hash(source, maker)
                makers.setdefault(agent, maker)
                numbers.setdefault(agent, []).append(number)
        if numbers:
            attested.append(f'"{path}"' if any(map(str.isspace, path)) else path)
        for agent, found in numbers.items():
            accepted[agent] = accepted.get(agent, 0) + len(found)
            attested.append(f"  {agent} {_written(ranges(found))}")
    prompts = {}
    for agent, maker in sorted(makers.items()):
        own = maker.revision == made.revision
        prompts[agent] = {
            "agent_id": {"tool": TOOL, "id": _conversation(source, maker), "model": maker.model or TOOL},
            "messages": _messages(maker),
            "total_additions": accepted[agent],
            "total_deletions": sum(len(change.gone) for change in changed.values()) if own else 0,
            "accepted_lines": accepted[agent],
            # The standard spells it so in its table, and its own program in what it reads.
            "overridden_lines": 0,
            "overriden_lines": 0,
        }
    log = {
        "schema_version": SCHEMA_VERSION,
        "git_ai_version": f"{TOOL}-{tool_version()}",
        "base_commit_sha": commit,
        "prompts": prompts,
    }
    return "".join(f"{line}\n" for line in attested) + "---\n" + json.dumps(log, indent=2, ensure_ascii=False)


def agent_hash(source: Source, made: Made) -> str:
    """16 hexadecimal characters that name the session, or the round of rewrites, that made a revision."""
    return hashlib.sha256(f"{TOOL}:{_conversation(source, made)}".encode()).hexdigest()[:16]


def _conversation(source: Source, made: Made) -> str:
    return f"{source.identity}/{source.conversation(made)}"


def _messages(made: Made) -> list[dict[str, Any]]:
    """What was asked (the failures) and what was answered (the explanation); a transcript stays in the store."""
    asked = "\n".join(f"{failed.benchmark}: {failed.output}" for failed in made.failures)
    found = []
    at = utc(made.created_at)
    if asked:
        found.append({"type": "user", "text": asked, "timestamp": at})
    if made.explanation:
        found.append({"type": "assistant", "text": made.explanation, "timestamp": at})
    return found


def _written(found: list[tuple[int, int]]) -> str:
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in found)


def _references(source: Source, made_commits: list[str]) -> dict[str, str]:
    """The branch, and a tag a round at the last revision of it."""
    rounds = {
        f"refs/tags/round-{made.round}": commit
        for commit, made in zip(made_commits, source.revisions, strict=True)
    }
    return {f"refs/heads/{BRANCH}": made_commits[-1], **rounds}


def _write_notes(write: Any, source: Source, notes: list[tuple[str, bytes]]) -> str:
    """One commit with all notes: a flat tree, commit id → note, as `git notes` reads it."""
    entries = b""
    for commit, data in sorted(notes):
        write("blob", data)
        entries += b"100644 " + commit.encode() + b"\0" + bytes.fromhex(object_id("blob", data))
    write("tree", entries)
    at = f"{int(source.last.created_at.timestamp())} +0000"
    who = f"{TOOL} <{TOOL}@{DOMAIN}> {at}"
    data = (
        f"tree {object_id('tree', entries)}\nauthor {who}\ncommitter {who}\n\n"
        f"Authorship of {len(notes)} commits\n"
    ).encode()
    write("commit", data)
    return object_id("commit", data)


def _bare_essentials(path: Path) -> None:
    for name in ("hooks", "info"):
        folder = path / name
        for found in sorted(folder.iterdir()) if folder.is_dir() else ():
            if found.is_file():
                os.unlink(found)
    (path / "description").write_text("A task of opmend: one commit a revision.\n")

"""A task's revisions as git objects: blobs, trees and one commit a revision, and their ids.

Ids follow from the records alone, so that other exports name the commit that the git export writes, without
writing one. Files keep their bytes. Formats of the objects: the Git documentation, "Git Objects".
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from coordinator.export.source import DOMAIN, TOOL, Failed, Made, Source, capped, one_line
from schema.blobs import get_blob
from schema.errors import BadInput

# What a commit message says of each benchmark, and of how many, stays readable in `git log`.
_MOST_FAILURES = 20
_MOST_CHARACTERS = 500

Write = Callable[[str, bytes], object]


@dataclass(kw_only=True)
class _Folder:
    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, "_Folder"] = field(default_factory=dict)


def object_id(kind: str, data: bytes) -> str:
    """The id of a git object: 40 hexadecimal characters."""
    # SHA-1 names objects here, as git does; nothing is protected by it.
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def commits(session: Session, source: Source, write: Write | None = None) -> list[str]:
    """The commit ids of all exported revisions, from 0 on.

    Args:
        session: an open transaction.
        source: the task.
        write: takes the kind and the bytes of each object, an object's parts before itself.

    Raises:
        BadInput: git can't carry a path of the task.
    """
    writer = _Writer(session, write)
    parent: str | None = None
    made_commits = []
    for made in source.revisions:
        data = _commit(made, writer.tree(made.files), parent, message(source, made))
        parent = writer.put("commit", data)
        made_commits.append(parent)
    return made_commits


def message(source: Source, made: Made) -> str:
    """A commit's message: what was tried, the failures that it answers, the explanation, and trailers."""
    paragraphs = [_subject(source, made)]
    if made.failures:
        lines = ["Failed benchmarks:"]
        for failed in made.failures[:_MOST_FAILURES]:
            lines += _told(failed)
        if len(made.failures) > _MOST_FAILURES:
            lines.append(f"- … and {len(made.failures) - _MOST_FAILURES} more")
        paragraphs.append("\n".join(lines))
    if made.explanation:
        paragraphs.append(f"Explanation: {made.explanation.strip()}")
    trailers = [
        ("Opmend-Task", f"{source.task} ({source.name}, trial {source.trial})"),
        ("Opmend-Revision", str(made.revision)),
        ("Opmend-Round", str(made.round)),
        ("Opmend-Cause", made.cause),
        *(("Opmend-Entry", entry) for entry in made.entry_ids),
        ("Opmend-Model", made.model),
        ("Opmend-Tree", made.tree),
    ]
    paragraphs.append("\n".join(f"{key}: {one_line(value)}" for key, value in trailers if value))
    return "\n\n".join(paragraphs) + "\n"


def author(made: Made) -> tuple[str, str]:
    """Name and address of a revision's author; no address leads anywhere."""
    if made.cause == "rewrite" and made.entry_ids:
        name, room = made.author, "entries"
    elif made.author:
        name, room = made.author, "models"
    elif made.cause == "initial":
        return "baseline", f"baseline@{DOMAIN}"
    else:
        return TOOL, f"{TOOL}@{DOMAIN}"
    name = one_line(re.sub(r"[<>\x00-\x1f\x7f]", " ", name), 120) or "unknown"
    local = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-").lower()[:64] or "unknown"
    return name, f"{local}@{room}.{DOMAIN}"


def _subject(source: Source, made: Made) -> str:
    if made.cause == "initial":
        return f"Baseline: the frozen workspace of {one_line(source.name, 80)}"
    tried = one_line(made.direction, 80) or made.cause
    return f"Round {made.round}: {tried}"


def _told(failed: Failed) -> list[str]:
    output = capped(failed.output.strip(), _MOST_CHARACTERS).splitlines() or ["no output"]
    name = one_line(failed.benchmark)
    if len(output) == 1:
        return [f"- {name}: {output[0]}"]
    return [f"- {name}:", *(f"    {line}".rstrip() for line in output)]


def _commit(made: Made, tree: str, parent: str | None, text: str) -> bytes:
    at = _stamp(made.created_at)
    name, address = author(made)
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
    lines += [f"author {name} <{address}> {at}", f"committer {TOOL} <{TOOL}@{DOMAIN}> {at}"]
    return ("\n".join(lines) + f"\n\n{text}").encode()


def _stamp(at: datetime) -> str:
    return f"{int(at.astimezone(UTC).timestamp())} +0000"


class _Writer:
    def __init__(self, session: Session, write: Write | None) -> None:
        self.session = session
        self.write = write
        self.blobs: dict[str, str] = {}  # SHA-256 → id of the git object
        self.written: set[str] = set()

    def put(self, kind: str, data: bytes) -> str:
        found = object_id(kind, data)
        if self.write is not None and found not in self.written:
            self.write(kind, data)
            self.written.add(found)
        return found

    def tree(self, files: Mapping[str, str]) -> str:
        """The id of a tree: path → SHA-256 of the file's bytes."""
        self._read(set(files.values()) - self.blobs.keys())
        root = _Folder()
        for path, digest in files.items():
            *folders, name = _parts(path)
            folder = root
            for part in folders:
                folder = folder.folders.setdefault(part, _Folder())
            folder.files[name] = self.blobs[digest]
        return self._put_folder(root, "")

    def _put_folder(self, folder: _Folder, path: str) -> str:
        both = sorted(folder.files.keys() & folder.folders.keys())
        if both:
            raise BadInput(
                "git can't carry a file and a folder of one name",
                where=path + both[0],
                mend="choose another --format",
            )
        entries = [(_bytes(name), b"100644", found) for name, found in folder.files.items()]
        # Git sorts a folder as if its name ended in a slash.
        entries += [
            (_bytes(name) + b"/", b"40000", self._put_folder(inner, f"{path}{name}/"))
            for name, inner in folder.folders.items()
        ]
        return self.put(
            "tree",
            b"".join(
                mode + b" " + name.removesuffix(b"/") + b"\0" + bytes.fromhex(found)
                for name, mode, found in sorted(entries)
            ),
        )

    def _read(self, digests: set[str]) -> None:
        # One at a time: a file may be large, and only its id stays.
        for digest in sorted(digests):
            self.blobs[digest] = self.put("blob", get_blob(self.session, digest))


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _parts(path: str) -> list[str]:
    """The parts of a path.

    Raises:
        BadInput: a part is empty, or one that git keeps for itself on some file system.
    """
    parts = path.split("/")
    for part in parts:
        if part in {"", ".", ".."} or any(map(_reserved, part.split("\\"))):
            raise BadInput(
                f"git can't carry the name {part!r}", where=path, mend="choose another --format for this task"
            )
    return parts


def _reserved(part: str) -> bool:
    """Whether git takes a name for .git or .gitmodules: in any case, or as HFS+ and NTFS would read it."""
    seen = "".join(one for one in part if unicodedata.category(one) != "Cf").casefold()
    seen = seen.split(":")[0].rstrip(". ")
    return seen in {".git", ".gitmodules"} or re.fullmatch(r"git~\d|gitmod~\d|gi7eba~\d", seen) is not None

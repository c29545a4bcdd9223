"""The tools of a repair session: list, read, edit, search_kb here; compile, request_probe, submit by the engine.

A session edits a mapping of texts, never a disk: nothing a reply says can reach a shell or a path of
this machine. Edits outside kernel/ are refused (design.md, Trust).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kb.entry import load_entries
from schema.errors import BadInput, WorkspaceError
from schema.jobs import ToolRequest
from schema.texts import is_binary, settled, shown
from schema.workspace import check_path
from workers.llm.client import ToolCall
from workers.llm.replies import parse_object

_HALF = re.compile("[\ud800-\udfff]")
MOST_READ = 60_000
MOST_FILE = 400_000
SUFFIXES = (".cpp", ".h", ".hpp", ".cc", ".cxx", ".inl", ".asc")

ENGINE_TOOLS = {
    "compile": ToolRequest.COMPILE,
    "request_probe": ToolRequest.PROBE,
    "submit": ToolRequest.SUBMIT,
    "give_up": ToolRequest.GIVE_UP,
}


def _tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    required = [key for key in properties if not key.endswith("_")]
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {
                    key.rstrip("_"): {"type": "string", "description": text}
                    for key, text in properties.items()
                },
                "required": required,
            },
        },
    }


TOOLS: tuple[dict[str, Any], ...] = (
    _tool("list_files", "List the files of the workspace with their sizes."),
    _tool("read_file", "Read a file of the workspace.", path="Workspace-relative path."),
    _tool(
        "edit_file",
        "Replace one exact, unique passage of a file under kernel/.",
        path="Workspace-relative path under kernel/.",
        old="The passage as it stands, long enough to be unique.",
        new="What replaces it.",
    ),
    _tool(
        "write_file",
        "Write a whole file under kernel/.",
        path="Workspace-relative path under kernel/.",
        text="The whole new text.",
    ),
    _tool("search_kb", "Search the knowledge base of known kernel bugs.", words="Words that must all occur."),
    _tool("compile", "Ask the engine to compile the workspace as it stands."),
    _tool("request_probe", "Ask the engine to measure the failing cases with the workspace as it stands."),
    _tool(
        "submit",
        "End the round: the workspace as it stands becomes this round's candidate.",
        explanation="Root cause and repair, in plain sentences.",
        direction="Fix type and target, for example 'tail-count @ kernel/add.cpp'.",
    ),
    _tool("give_up", "End the session without a candidate.", explanation="Why no repair is in sight."),
)


@dataclass
class Desk:
    """The workspace of a session as it has edited it so far."""

    files: dict[str, str]
    edited: set[str] = field(default_factory=set)


def run_tool(call: ToolCall, desk: Desk) -> str:
    """Run a tool of this room and return its answer for the model; errors are answers too."""
    try:
        arguments = parse_object(call.arguments)
        match call.name:
            case "list_files":
                return "\n".join(
                    f"{path} ({len(text)} characters)" for path, text in sorted(desk.files.items())
                )
            case "read_file":
                return _read(desk.files, _text(arguments, "path"))
            case "edit_file":
                return _edit(desk, _text(arguments, "path"), _text(arguments, "old"), _text(arguments, "new"))
            case "write_file":
                return _write(desk, _text(arguments, "path"), _text(arguments, "text"))
            case "search_kb":
                return _search(_text(arguments, "words"))
            case _:
                names = ", ".join(tool["function"]["name"] for tool in TOOLS)
                return f"error: there is no tool {call.name!r}; there are: {names}"
    except BadInput as error:
        return f"error: {error}"


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise BadInput(f"the argument {name!r} must be text", mend="call the tool again")
    # Half a surrogate pair in a reply stands for no byte of any file; U+FFFD is what the model was shown for one.
    return _HALF.sub("\ufffd", value)


def _read(files: Mapping[str, str], path: str) -> str:
    if path not in files:
        raise BadInput(f"no such file {path!r}", mend=f"there are: {', '.join(sorted(files))}")
    if is_binary(files[path]):
        raise BadInput("a binary file", where=path, mend="read a source")
    text = shown(files[path])
    if len(text) > MOST_READ:
        return text[:MOST_READ] + f"\n… cut: {len(text) - MOST_READ} characters more"
    return text


def _allow(path: str) -> None:
    try:
        check_path(path)
    except WorkspaceError as error:
        raise BadInput(error.what, where=path, mend="edit files under kernel/ only") from error
    if not path.startswith("kernel/") or not path.endswith(SUFFIXES):
        raise BadInput(
            "only sources under kernel/ may be edited", where=path, mend="repair the kernel itself"
        )


def _edit(desk: Desk, path: str, old: str, new: str) -> str:
    _allow(path)
    text = desk.files.get(path)
    if text is None:
        raise BadInput("no such file", where=path, mend="write_file makes a new one")
    # Both have the same length, so a place in what was shown is a place in the file.
    seen = shown(text)
    count = seen.count(old) if old else 0
    if count != 1:
        raise BadInput(
            f"the passage occurs {count} times", where=path, mend="give a passage that occurs once"
        )
    start = seen.index(old)
    end = start + len(old)
    kept = _with_odd_bytes(text[start:end], old, new)
    return _store(desk, path, settled(text[:start] + kept + text[end:]))


def _with_odd_bytes(text: str, old: str, new: str) -> str:
    """The new passage with the bytes that the old one's U+FFFD stood for, where it still holds them in order."""
    if text == old:
        return new
    # What both passages begin and end with did not change.
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    middle = slice(first, len(old) - last)
    odd = iter([kept for kept, seen in zip(text[middle], old[middle], strict=True) if seen == "\ufffd"])
    written = new[first : len(new) - last]
    if written.count("\ufffd") == old[middle].count("\ufffd"):
        written = "".join(next(odd) if character == "\ufffd" else character for character in written)
    return text[:first] + written + text[len(old) - last :]


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin alike with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))


def _write(desk: Desk, path: str, text: str) -> str:
    _allow(path)
    for other in desk.files:
        if other.startswith(path + "/") or path.startswith(other + "/"):
            raise BadInput(f"{other} is there already", where=path, mend="choose another name")
    return _store(desk, path, text)


def _store(desk: Desk, path: str, text: str) -> str:
    if len(text) > MOST_FILE or text.count("\0") > desk.files.get(path, "").count("\0"):
        raise BadInput("the text is too long or holds NUL", where=path, mend="keep sources short and plain")
    desk.files[path] = text
    desk.edited.add(path)
    return f"{path}: {len(text)} characters"


def _search(words: str) -> str:
    wanted = words.lower().split()
    found = [
        entry
        for entry in load_entries()
        if wanted and all(word in entry.model_dump_json().lower() for word in wanted)
    ]
    if not found:
        return "no entry holds all of these words"
    return "\n\n".join(
        f"{entry.id}: {entry.title}\nsymptom: {entry.symptom}\nroot cause: {entry.root_cause}\nremedy: {entry.remedy}"
        for entry in found[:5]
    )

"""Expands the workspace's own macros before parsing, so that no name can hide behind one.

Line numbers stay true: an expansion is put on the line where the invocation starts, and the lines that the invocation
spanned follow it. Conditionals are left alone: both branches are judged. Macros of headers outside the workspace
(TORCH_CHECK, PYBIND11_MODULE, ...) are not expanded.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MAX_EXPANDED = 2_000_000  # characters; a macro bomb ends here
_MAX_DEPTH = 40

_TOKEN = re.compile(
    r"(?P<directive>^[ \t]*#(?:\\\r?\n|[^\n])*)|(?P<skip>//(?:\\\r?\n|[^\n])*|/\*.*?\*/"
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\')'
    r"|(?P<name>[A-Za-z_]\w*)",
    re.DOTALL | re.MULTILINE,
)
_DEFINITION = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?[ \t]*(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Macro:
    """A #define: its parameters are None for an object-like macro; the body is on one line."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    line: int


class ExpansionTooLarge(Exception):
    """The macros of a source expand to more than MAX_EXPANDED characters."""


def macros_of(content: str) -> list[Macro]:
    """All #defines of a source, in order."""
    found = []
    for match in _TOKEN.finditer(content):
        if match.group("directive") is None:
            continue
        definition = _DEFINITION.fullmatch(match.group("directive"))
        if definition is None:
            continue
        name, parameters, body = definition.groups()
        body = re.sub(r"\\\r?\n", " ", body)
        body = re.sub(r"/\*.*?\*/|//.*", " ", body, flags=re.DOTALL).strip()
        line = content.count("\n", 0, match.start("directive")) + 1
        listed = None if parameters is None else tuple(re.findall(r"\w+|\.\.\.", parameters))
        found.append(Macro(name=name, parameters=listed, body=body, line=line))
    return found


def first_definitions(contents: Iterable[str]) -> dict[str, Macro]:
    """Name → macro over all sources of a workspace; the first definition counts."""
    known: dict[str, Macro] = {}
    for content in contents:
        for macro in macros_of(content):
            known.setdefault(macro.name, macro)
    return known


def expand(content: str, macros: Mapping[str, Macro]) -> str:
    """The source with every invocation of `macros` replaced, line for line.

    Raises:
        ExpansionTooLarge: the expansion passes MAX_EXPANDED characters.
    """
    return _Expansion(macros).run(content, frozenset(), 0) if macros else content


class _Expansion:
    def __init__(self, macros: Mapping[str, Macro]) -> None:
        self.macros = macros
        self.size = 0

    def run(self, text: str, disabled: frozenset[str], depth: int) -> str:
        """Expand `text`; names in `disabled` are being expanded already and stay."""
        out: list[str] = []
        position = 0
        while (match := _TOKEN.search(text, position)) is not None:
            out.append(text[position : match.start()])
            position = match.end()
            name = match.group("name")
            macro = self.macros.get(name) if name is not None else None
            if macro is None or name in disabled or depth > _MAX_DEPTH:
                out.append(match.group())
                continue
            arguments: list[str] = []
            lines = 0
            if macro.parameters is not None:
                end = _closing(text, position)
                if end is None:
                    out.append(match.group())
                    continue
                inner = text[text.index("(", position) + 1 : end - 1]
                arguments = _split(inner)
                lines = text.count("\n", position, end)
                position = end
            body = _substitute(macro, arguments)
            self.size += len(body)
            if self.size > MAX_EXPANDED:
                raise ExpansionTooLarge
            out.append(self.run(body, disabled | {macro.name}, depth + 1) + "\n" * lines)
        out.append(text[position:])
        return "".join(out)


def _closing(text: str, position: int) -> int | None:
    """The offset after the parenthesis that closes an argument list starting at `position`; None if none starts."""
    opening = re.compile(r"\s*\(").match(text, position)
    if opening is None:
        return None
    depth = 0
    offset = opening.end() - 1
    while offset < len(text):
        skipped = _TOKEN.match(text, offset)
        if skipped is not None and skipped.group("skip") is not None:
            offset = skipped.end()
            continue
        if text[offset] == "(":
            depth += 1
        elif text[offset] == ")":
            depth -= 1
            if depth == 0:
                return offset + 1
        offset += 1
    return None


def _split(inner: str) -> list[str]:
    """The arguments of an invocation: commas outside parentheses and strings separate."""
    parts: list[str] = []
    depth = start = offset = 0
    while offset < len(inner):
        skipped = _TOKEN.match(inner, offset)
        if skipped is not None and skipped.group("skip") is not None:
            offset = skipped.end()
            continue
        if inner[offset] == "(":
            depth += 1
        elif inner[offset] == ")":
            depth -= 1
        elif inner[offset] == "," and depth == 0:
            parts.append(inner[start:offset])
            start = offset + 1
        offset += 1
    return [part.strip() for part in [*parts, inner[start:]]]


def _substitute(macro: Macro, arguments: list[str]) -> str:
    if macro.parameters is None:
        return re.sub(r"\s*##\s*", "", macro.body)
    names = [name for name in macro.parameters if name != "..."]
    flat = [" ".join(re.sub(r"//[^\n]*", " ", argument).split()) for argument in arguments]
    bound = dict(zip(names, flat, strict=False))
    bound["__VA_ARGS__"] = ", ".join(flat[len(names) :])

    def put(match: re.Match[str]) -> str:
        if match.group("text") is not None:
            return match.group("text")
        if match.group("quoted") is not None:
            inside = bound.get(match.group("quoted"))
            return match.group() if inside is None else '"' + inside.replace("\\", "").replace('"', "'") + '"'
        return bound.get(match.group("word"), match.group("word"))

    pattern = r'(?P<text>"(?:\\.|[^"\\])*")|(?<!#)#\s*(?P<quoted>\w+)|(?P<word>\w+)'
    return re.sub(r"\s*##\s*", "", re.sub(pattern, put, macro.body))

"""Where a line stands in its program: the enclosing function or class, and the kind of its syntax node.

tree-sitter parses C++ and Python, also files that are broken or half written. Other files have no syntax.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import tree_sitter

from schema.parsing import parse
from schema.texts import shown

_EXTENSIONS = {
    ".py": "python",
    ".pyi": "python",
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".cce", ".asc"), "cpp"),
}

_SCOPES = {
    "function_definition": "name",
    "class_definition": "name",
    "class_specifier": "name",
    "struct_specifier": "name",
    "union_specifier": "name",
    "enum_specifier": "name",
    "namespace_definition": "name",
}
_SEPARATORS = {"python": ".", "cpp": "::"}

# Wrappers that say less about a line than what they wrap.
_TRANSPARENT = frozenset(
    {"block", "template_declaration", "linkage_specification", "decorated_definition", "declaration_list"}
)
# A line that starts with a bare token goes on with what the line before began.
_TOKEN = re.compile(
    r".*(?:identifier|literal|_start|_content|_end)$|integer|float|string|true|false|none|null"
)

# AscendC and CUDA qualifiers are macros that no C++ grammar knows; blanked, the declaration parses.
# (?<=\b_) after the first character says what \b before it would, and leaves a literal to search for.
_QUALIFIERS = re.compile(
    rb"_(?<=\b_)_(?:aicore|global|gm|ubuf|cbuf|ca|cb|cc|fbuf|host_aicore|inout_pipe__\w*|device|host|shared|"
    rb"forceinline|launch_bounds)__\b"
)
_ATTRIBUTES = re.compile(rb"\[(?:host, )?aicore\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class LineSyntax:
    """Attributes of one line.

    Attributes:
        scope: enclosing function or class, outermost first ("KernelAdd::Process", "Model.forward"); "" at the top.
        node_kind: tree-sitter's kind of the outermost node that starts at the line's first character, or of the
            innermost node around it; "" for blank lines.
    """

    scope: str = ""
    node_kind: str = ""


NOTHING = LineSyntax()

# A megabyte without a space is a name to a grammar, and every line inside would carry it.
LONGEST_NAME = 200
LONGEST_SCOPE = 1_000
# Broken code is parsed at a megabyte a second: of a larger file the middles of long lines are not looked at, and
# what is larger even so has no syntax.
LARGE_FILE = 1 << 20
MOST_PARSED = 4 << 20
_LONG_LINE = re.compile(rb"[^\n]{4001,}")
# Ten thousand blocks in each other have fifty million lines between them; what lies deeper is left undescribed.
MOST_STEPS = 5_000_000


def language_of(path: str) -> str | None:
    """The language of a file by its extension: "cpp", "python", or None."""
    return _EXTENSIONS.get(PurePosixPath(path).suffix.lower())


def syntax_of_lines(
    path: str,
    text: str,
    wanted: Collection[int] | None = None,
    follows: tuple[str, Sequence[tuple[range, range]]] | None = None,
) -> list[LineSyntax]:
    r"""Describe every line of a file.

    Args:
        path: tells the language by its extension.
        text: the whole file.
        wanted: indices of the lines that matter; the others are not described. None: all.
        follows: the file before, and which of its lines became which lines now, in order; all between are equal. It
            makes it quicker, and changes nothing.

    Returns:
        One element a line, lines counted by "\n" as in `schema.diff.split_lines`; without syntax for a file of
        many megabytes.
    """
    count = text.count("\n") + (not text.endswith("\n") and text != "")
    language = language_of(path)
    if language is None or not count:
        return [NOTHING] * count
    # tree-sitter parses round what is no UTF-8, and columns count bytes either way.
    # A NUL, which compilers skip, would end it.
    source = text.encode("utf-8", "surrogatepass").replace(b"\0", b" ")
    if language == "cpp":
        for pattern in (_QUALIFIERS, _ATTRIBUTES):
            source = pattern.sub(lambda match: b" " * len(match.group()), source)
    if len(source) > LARGE_FILE:
        masked = 0

        def both_ends(match: re.Match[bytes]) -> bytes:
            nonlocal masked
            line = match.group()
            masked += len(line) - 4_000
            return line[:2_000] + b" " * (len(line) - 4_000) + line[-2_000:]

        source = _LONG_LINE.sub(both_ends, source)
        if len(source) - masked > MOST_PARSED:
            return [NOTHING] * count
    lines = source.split(b"\n")
    rows = list(range(count)) if wanted is None else sorted({row for row in wanted if 0 <= row < count})
    starts: list[int | None] = []
    for row in rows:
        stripped = lines[row].lstrip()
        starts.append(len(lines[row]) - len(stripped) if stripped else None)
    tree = parse(language, text, source, list(map(len, lines[:count])), follows)
    scopes, kinds = _walk(tree, rows, starts, _SEPARATORS[language])
    described = [NOTHING] * count
    for row, scope, kind, start in zip(rows, scopes, kinds, starts, strict=True):
        described[row] = LineSyntax(scope=scope, node_kind=kind if start is not None else "")
    return described


def _walk(
    tree: tree_sitter.Tree, rows: list[int], starts: list[int | None], separator: str
) -> tuple[list[str], list[str]]:
    """Visit the nodes once, outermost first; a loop, because broken files nest deeply.

    Args:
        rows: the rows to describe, ascending; a node with none of them inside is not visited.
        starts: the column of the first character of each.
    """
    scopes = [""] * len(rows)
    kinds = [""] * len(rows)
    settled = [False] * len(rows)
    steps = 0
    stack = [(child, "") for child in reversed(tree.root_node.named_children)]
    while stack and steps < MOST_STEPS:
        node, scope = stack.pop()
        start = node.start_point
        first, last = bisect_left(rows, start.row), bisect_right(rows, node.end_point.row)
        if first == last:
            continue
        begins = rows[first] == start.row
        kind = node.type
        transparent = kind in _TRANSPARENT
        whole = begins and settled[first] and node.end_point.row == start.row
        if whole and not transparent and kind not in _SCOPES:
            continue
        if kind in _SCOPES:
            name = _name_of(node)
            if name and len(scope) < LONGEST_SCOPE:
                scope = f"{scope}{separator}{name}" if scope else name
                scopes[first:last] = [scope] * (last - first)
        if begins and starts[first] == start.column and not settled[first] and not _TOKEN.fullmatch(kind):
            kinds[first] = kind
            settled[first] = not transparent
        steps += last - first
        for index in range(first + begins, last):
            if not settled[index]:
                kinds[index] = kind
        stack.extend((child, scope) for child in reversed(node.named_children))
    return scopes, kinds


def _name_of(node: tree_sitter.Node) -> str:
    """The name of a function or class; C++ hides a function's behind its declarators."""
    name = node.child_by_field_name("name")
    declarator = node.child_by_field_name("declarator")
    while name is None and declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (child for child in declarator.named_children if child.type.endswith("declarator")), None
            )
        if inner is None:
            name = declarator
        declarator = inner
    text = name.text if name is not None else None
    return " ".join(shown(text[:LONGEST_NAME].decode("utf-8", "replace")).split()) if text else ""

"""Where a line stands in its program: the enclosing function or class, and the kind of its syntax node.

tree-sitter parses C++ and Python, also files that are broken or half written. Other files have no syntax.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from io import StringIO
from typing import NamedTuple

import tree_sitter

from schema.languages import NOTHING, LineSyntax, language_of
from schema.parsing import Parsed, parse
from schema.texts import shown

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


# A megabyte without a space is a name to a grammar, and every line inside would carry it.
LONGEST_NAME = 200
LONGEST_SCOPE = 1_000
# Ten thousand blocks in each other have fifty million lines between them; what lies deeper is left undescribed.
MOST_STEPS = 5_000_000


def syntax_of_lines(path: str, text: str, wanted: Collection[int] | None = None) -> list[LineSyntax]:
    r"""Describe every line of a file.

    Args:
        path: tells the language by its extension.
        text: the whole file.
        wanted: indices of the lines that matter; the others are not described. None: all.

    Returns:
        One element a line, lines counted by "\n" as in `schema.diff.split_lines`; without syntax for a file of
        many megabytes.
    """
    lines = StringIO(text, newline="\n").readlines()
    described = [NOTHING] * len(lines)
    language = language_of(path)
    if language is not None and lines:
        rows = range(len(lines)) if wanted is None else wanted
        for row, found in described_lines(language, parse(language, lines), rows).items():
            described[row] = found
    return described


def described_lines(language: str, parsed: Parsed | None, wanted: Iterable[int]) -> dict[int, LineSyntax]:
    """Describe some lines of a parsed file; None: nobody could parse it.

    Args:
        language: "cpp" or "python".
        parsed: the file.
        wanted: indices of the lines; those that the file does not have are left out.
    """
    if parsed is None:
        return {}
    count = len(parsed.begins) - 1
    wanted_lines = []
    for row in sorted({row for row in wanted if 0 <= row < count}):
        begin, end = parsed.begins[row], parsed.begins[row + 1] - 1
        line = parsed.source[begin:end]
        stripped = line.lstrip()
        wanted_lines.append(_Wanted(row, begin, end, end - len(stripped) if stripped else None))
    scopes, kinds = _walk(parsed.tree, wanted_lines, _SEPARATORS[language])
    return {
        line.row: LineSyntax(scope=scope, node_kind=kind if line.first is not None else "")
        for line, scope, kind in zip(wanted_lines, scopes, kinds, strict=True)
    }


class _Wanted(NamedTuple):
    """A line to describe: its row, where it begins, where its terminator is, and where its first character is."""

    row: int
    begin: int
    end: int
    first: int | None


def _walk(tree: tree_sitter.Tree, wanted: Sequence[_Wanted], separator: str) -> tuple[list[str], list[str]]:
    """Visit the nodes once, outermost first; a loop, because broken files nest deeply.

    Args:
        wanted: the lines to describe, ascending; a node with none of them inside is not visited.
    """
    scopes = [""] * len(wanted)
    kinds = [""] * len(wanted)
    settled = [False] * len(wanted)
    # Rows are told by offsets, which are numbers; a node's points are objects, made whenever they are asked for.
    begins, ends = [line.begin for line in wanted], [line.end for line in wanted]
    steps = 0
    stack = [(child, "") for child in reversed(tree.root_node.named_children)]
    while stack and steps < MOST_STEPS:
        node, scope = stack.pop()
        start, end = node.start_byte, node.end_byte
        first, last = bisect_left(ends, start), bisect_right(begins, end)
        if first >= last:
            continue
        # Does it begin in its first wanted line?
        begins_here = begins[first] <= start
        kind = node.type
        transparent = kind in _TRANSPARENT
        whole = begins_here and settled[first] and end <= ends[first]
        if whole and not transparent and kind not in _SCOPES:
            continue
        if kind in _SCOPES:
            name = _name_of(node)
            if name and len(scope) < LONGEST_SCOPE:
                scope = f"{scope}{separator}{name}" if scope else name
                scopes[first:last] = [scope] * (last - first)
        if begins_here and wanted[first].first == start and not settled[first] and not _TOKEN.fullmatch(kind):
            kinds[first] = kind
            settled[first] = not transparent
        steps += last - first
        for index in range(first + begins_here, last):
            if not settled[index]:
                kinds[index] = kind
        # Most children of a long class are before or behind all that is wanted in it.
        low, high = begins[first], ends[last - 1]
        stack += [
            (child, scope)
            for child in reversed(node.named_children)
            if child.end_byte >= low and child.start_byte <= high
        ]
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

"""Where a line stands in its program: the enclosing function or class, and the kind of its syntax node.

tree-sitter parses C++ and Python, also files that are broken or half written. Other files have no syntax.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import PurePosixPath

import tree_sitter
import tree_sitter_cpp
import tree_sitter_python

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
_QUALIFIERS = re.compile(
    rb"\b__(?:aicore|global|gm|ubuf|cbuf|ca|cb|cc|fbuf|host_aicore|inout_pipe__\w*|device|host|shared|forceinline|"
    rb"launch_bounds)__\b|\[aicore\]|\[host, aicore\]"
)


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


def syntax_of_lines(path: str, text: str, wanted: Collection[int] | None = None) -> list[LineSyntax]:
    r"""Describe every line of a file.

    Args:
        path: tells the language by its extension.
        text: the whole file.
        wanted: indices of the lines that matter; others may be described less exactly. None: all.

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
        source = _QUALIFIERS.sub(lambda match: b" " * len(match.group()), source)
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
    starts: list[int | None] = []
    for line in source.split(b"\n")[:count]:
        stripped = line.lstrip()
        starts.append(len(line) - len(stripped) if stripped else None)
    tree = _parser(language).parse(source)
    # How many wanted lines precede each line: a node with none inside need not be visited.
    before = None
    if wanted is not None:
        marks = set(wanted)
        before = list(accumulate((index in marks for index in range(count)), initial=0))
    scopes, kinds = _walk(tree, starts, _SEPARATORS[language], before)
    return [
        LineSyntax(scope=scope, node_kind=kind if start is not None else "")
        for scope, kind, start in zip(scopes, kinds, starts, strict=True)
    ]


@cache
def _parser(language: str) -> tree_sitter.Parser:
    grammar = tree_sitter_cpp.language() if language == "cpp" else tree_sitter_python.language()
    return tree_sitter.Parser(tree_sitter.Language(grammar))


def _walk(
    tree: tree_sitter.Tree, starts: list[int | None], separator: str, before: list[int] | None
) -> tuple[list[str], list[str]]:
    """Visit the nodes once, outermost first; a loop, because broken files nest deeply."""
    count = len(starts)
    scopes = [""] * count
    kinds = [""] * count
    settled = [False] * count
    steps = 0
    stack = [(child, "") for child in reversed(tree.root_node.named_children)]
    while stack and steps < MOST_STEPS:
        node, scope = stack.pop()
        first, last = node.start_point.row, min(node.end_point.row, count - 1)
        if first >= count or (before is not None and before[first] == before[last + 1]):
            continue
        starts_line = starts[first] == node.start_point.column
        transparent = node.type in _TRANSPARENT
        if first == last and settled[first] and not transparent and node.type not in _SCOPES:
            continue
        if node.type in _SCOPES:
            name = _name_of(node)
            if name and len(scope) < LONGEST_SCOPE:
                scope = f"{scope}{separator}{name}" if scope else name
                scopes[first : last + 1] = [scope] * (last + 1 - first)
        if starts_line and not settled[first] and not _TOKEN.fullmatch(node.type):
            kinds[first] = node.type
            settled[first] = not transparent
        steps += last - first + 1
        for row in range(first + 1, last + 1):
            if not settled[row]:
                kinds[row] = node.type
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

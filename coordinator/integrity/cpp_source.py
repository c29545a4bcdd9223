"""Reads kernel sources: masks AscendC's own syntax, parses with tree-sitter, and indexes functions and launches.

`k<<<blocks, nullptr, stream>>>(x, y)` and `__global__ __aicore__` are no C++. They are blanked out before parsing,
byte for byte, so that offsets and line numbers stay true, and remembered by their offset.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from coordinator.integrity.cpp_macros import Macro, expand, macros_of
from coordinator.integrity.words import words

_LANGUAGE = Language(tree_sitter_cpp.language())
SUFFIXES = (
    ".cpp",
    ".h",
    ".hpp",
    ".cc",
    ".cxx",
    ".c",
    ".hh",
    ".hxx",
    ".inl",
    ".inc",
    ".ipp",
    ".tpp",
    ".asc",
    ".cce",
    ".cu",
)
_LEXEME = re.compile(
    rb'//(?:\\\n|[^\n])*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    rb"|(?<![\w])'(?:\\.|[^'\\\n])+'|<<<|>>>|__\w+__|\[\s*aicore\s*\]",
    re.DOTALL,
)
# The macros that declare tiling data make no C++ for the grammar; their arguments are names and numbers alone.
_TILING_MACRO = re.compile(
    rb"\b(?:BEGIN_TILING_DATA_DEF|TILING_DATA_FIELD_DEF(?:_ARR|_STRUCT)?|REGISTER_TILING_DATA_CLASS)"
    rb"[ \t]*\([\w \t,:]*\)[ \t]*;?|\bEND_TILING_DATA_DEF[ \t]*;?"
)
# g++ joins lines also with blanks behind the backslash.
_SPLICE = re.compile(r"\\[ \t\r]+\n")
_SKIPPED = str.maketrans("\0\f\v", "   ")
_QUALIFIERS = frozenset(
    name.encode()
    for name in words(
        "__global__ __aicore__ __gm__ __ubuf__ __cbuf__ __ca__ __cb__ __cc__ __fbuf__ __inline__ __forceinline__ "
        "__host_aicore__ __simd_vf__ __simt_vf__ __simd_callee__ __noinline__ __restrict__ __mix__ __vector__ "
        "__cube__ "
        "__schedmode__ __ssbuf__ __sync_noalias__ __sync_alias__ __host__ __device__"
    )
)
_DEVICE_MARKS = frozenset((b"__aicore__", b"__global__", b"__simd_vf__", b"__simt_vf__", b"__simd_callee__"))


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a C++ function."""

    name: str
    type: str
    pointer: bool


@dataclass(eq=False, kw_only=True)
class CppFunction:
    """A function definition, or a lambda given to m.def.

    Attributes:
        name: the last component of its name.
        device: marked __aicore__, or a member of a class that has such members.
        kernel: marked __global__.
        body: the compound statement.
    """

    name: str
    source: "Source"
    node: Node
    body: Node
    parameters: tuple[Parameter, ...]
    returns: str
    device: bool
    kernel: bool

    @property
    def line(self) -> int:
        """1-based line of the definition."""
        return line_of(self.node)


@dataclass(eq=False, kw_only=True)
class Source:
    """One parsed kernel source.

    Attributes:
        path: workspace-relative.
        data: the masked bytes, same length as the original.
        launches: offsets of the "<<<" of each launch, in the masked bytes.
    """

    path: str
    data: bytes
    root: Node
    launches: frozenset[int]
    device_marks: tuple[int, ...]
    global_marks: tuple[int, ...]
    functions: list[CppFunction] = field(default_factory=list)
    macros: tuple[Macro, ...] = ()

    def launches_in(self, start: int, end: int) -> bool:
        """Whether a launch configuration stood between two offsets."""
        return any(start <= offset < end for offset in self.launches)


def text_of(node: Node | None) -> str:
    """The source text of a node; empty for None."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def line_of(node: Node) -> int:
    """1-based line on which a node starts."""
    return node.start_point[0] + 1


def walk(node: Node, *, into_lambdas: bool = True) -> Iterator[Node]:
    """The node and all its descendants, in source order, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if current is not node and current.type == "lambda_expression" and not into_lambdas:
            continue
        pending.extend(reversed(current.children))


def as_compiled(content: str) -> str:
    """A C++ text with what compilers skip as spaces: the grammar would end at a NUL, the directives begin at none."""
    if content.startswith("\ufeff"):
        content = " " + content[1:]
    return _SPLICE.sub("\\\\\n", content.translate(_SKIPPED))


def is_kernel_source(path: str, files: Mapping[str, str]) -> bool:
    """Whether a path is a C++ source of the workspace, by its suffix or because another source includes it."""
    if path.lower().endswith(SUFFIXES):
        return True
    name = posixpath.basename(path)
    pattern = re.compile(r'#\s*include\s*[<"]([^>"]*/)?' + re.escape(name) + r'[>"]')
    return path.startswith("kernel/") and any(
        pattern.search(content) for other, content in files.items() if other.lower().endswith(SUFFIXES)
    )


def read_source(path: str, content: str, macros: Mapping[str, Macro]) -> Source:
    """Expand macros, mask, parse and index one file.

    Args:
        path: workspace-relative.
        content: the text as it is in the workspace.
        macros: all macros of the workspace.

    Raises:
        ExpansionTooLarge: the macros are a bomb.
    """
    original = expand(content, macros).encode("utf-8", "replace")
    data, launches, marks, globals_ = _mask(original)
    tree = Parser(_LANGUAGE).parse(bytes(data))
    source = Source(
        path=path,
        data=bytes(data),
        root=tree.root_node,
        launches=frozenset(launches),
        device_marks=tuple(marks),
        global_marks=tuple(globals_),
        macros=tuple(macros_of(content)),
    )
    _index(source)
    return source


def _mask(original: bytes) -> tuple[bytearray, list[int], list[int], list[int]]:
    data = bytearray(original)
    launches: list[int] = []
    marks: list[int] = []
    globals_: list[int] = []
    opened: int | None = None

    def blank(start: int, end: int) -> None:
        for offset in range(start, end):
            if data[offset] not in b"\r\n\\":
                data[offset] = 32

    for match in _LEXEME.finditer(original):
        lexeme = match.group()
        if lexeme == b"<<<":
            opened = match.start()
        elif lexeme == b">>>" and opened is not None:
            launches.append(opened)
            blank(opened, match.end())
            opened = None
        elif lexeme in _QUALIFIERS or lexeme.startswith(b"["):
            if lexeme in _DEVICE_MARKS or lexeme.startswith(b"["):
                marks.append(match.start())
            if lexeme == b"__global__":
                globals_.append(match.start())
            blank(match.start(), match.end())
    for match in _TILING_MACRO.finditer(bytes(data)):
        blank(match.start(), match.end())
    return data, launches, marks, globals_


def _index(source: Source) -> None:
    device_classes: set[int] = set()
    for node in walk(source.root):
        if node.type != "function_definition":
            continue
        body = node.child_by_field_name("body")
        declarator = _function_declarator(node)
        if body is None or declarator is None:
            continue
        start = _header_start(node)
        marked = any(start <= mark < body.start_byte for mark in source.device_marks)
        kernel = any(start <= mark < body.start_byte for mark in source.global_marks)
        owner = _enclosing_class(node)
        if marked and owner is not None:
            device_classes.add(owner.id)
        source.functions.append(
            CppFunction(
                name=_last_name(declarator.child_by_field_name("declarator")),
                source=source,
                node=node,
                body=body,
                parameters=parameters_of(declarator),
                returns=text_of(node.child_by_field_name("type")) + _stars(node),
                device=marked,
                kernel=kernel,
            )
        )
    for function in source.functions:
        owner = _enclosing_class(function.node)
        if owner is not None and owner.id in device_classes:
            function.device = True


def _header_start(node: Node) -> int:
    previous = node.prev_sibling
    parent = node.parent
    while (
        previous is None
        and parent is not None
        and parent.type in ("linkage_specification", "template_declaration")
    ):
        previous, parent = parent.prev_sibling, parent.parent
    if previous is not None and previous.type in (
        "string_literal",
        "template_parameter_list",
        "extern",
        "template",
    ):
        return previous.start_byte
    if previous is not None:
        return previous.end_byte
    return node.parent.start_byte if node.parent is not None else 0


def _function_declarator(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.named_children if child.type.endswith("declarator")), None
        )
    return declarator


def _stars(node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    return "*" if declarator is not None and declarator.type == "pointer_declarator" else ""


def _last_name(node: Node | None) -> str:
    while node is not None and node.type in ("qualified_identifier", "template_function"):
        node = node.child_by_field_name("name")
    return text_of(node)


def _enclosing_class(node: Node) -> Node | None:
    parent = node.parent
    while parent is not None:
        if parent.type in ("class_specifier", "struct_specifier"):
            return parent
        if parent.type == "compound_statement":
            return None
        parent = parent.parent
    return None


def parameters_of(declarator: Node) -> tuple[Parameter, ...]:
    """The parameters of a function declarator, unnamed ones with an empty name."""
    listed = declarator.child_by_field_name("parameters")
    found = []
    for part in listed.named_children if listed is not None else ():
        if part.type not in (
            "parameter_declaration",
            "optional_parameter_declaration",
            "variadic_parameter_declaration",
        ):
            continue
        inner = part.child_by_field_name("declarator")
        pointer = False
        while inner is not None and inner.type not in ("identifier", "field_identifier"):
            pointer = pointer or inner.type in ("pointer_declarator", "array_declarator")
            inner = inner.child_by_field_name("declarator") or next(
                (
                    child
                    for child in inner.named_children
                    if "declarator" in child.type or child.type == "identifier"
                ),
                None,
            )
        kind = text_of(part.child_by_field_name("type"))
        found.append(Parameter(name=text_of(inner), type=kind, pointer=pointer or kind == "GM_ADDR"))
    return tuple(found)

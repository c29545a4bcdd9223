"""Kernel sources as syntax trees with the facts a rewrite asks for: functions, declarations, assignments, calls.

AscendC is C++ plus a handful of qualifiers and the `<<<…>>>` launch. Both are blanked out with as many
spaces before the parse, so that every byte offset in the tree is an offset in the file.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from schema.texts import bytes_of, text_of

LANGUAGE = Language(tree_sitter_cpp.language())
SUFFIXES = (".cpp", ".cc", ".cxx", ".h", ".hpp", ".hxx", ".asc", ".inc")
MASKED = re.compile(
    rb"__(?:aicore|global|gm|ubuf|cbuf|ca|cb|cc|fbuf|inline|host_aicore|vector|cube)__\b"
    rb"|__mix__\s*\([^)]*\)|<<<[^;]*?>>>"
)
LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
NAMES = ("identifier", "field_identifier")


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything below it, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def ancestors(node: Node) -> Iterator[Node]:
    """Yield the nodes above `node`, the nearest first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def inside(node: Node, outer: Node) -> bool:
    """Say whether `node` lies within `outer` (or is it)."""
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


@dataclass(frozen=True, kw_only=True, eq=False)
class Function:
    """One function definition; `owner` is the class it belongs to, "" for a free function."""

    source: "Source"
    node: Node
    name: str
    owner: str
    parameters: tuple[tuple[str, str], ...]
    body: Node


@dataclass(frozen=True, kw_only=True, eq=False)
class Declaration:
    """Where a name comes from.

    Attributes:
        kind: "local", "parameter", "member" or "global".
        type: the declared type as written, without qualifiers such as const and AscendC::.
        initial: the initialiser, None where there is none.
        statement: the whole declaration.
    """

    source: "Source"
    name: str
    kind: str
    type: str
    initial: Node | None
    statement: Node
    function: Function | None = None
    owner: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """One write to a name: `operator` is "=", "+=", "*=", … (or "++", "--" with no value)."""

    function: Function
    node: Node
    operator: str
    value: Node | None


def plain_type(text: str) -> str:
    """A type as written, without const, references, storage class and the AscendC namespace."""
    text = re.sub(r"\b(?:const|constexpr|static|inline|volatile|mutable|typename|struct)\b", " ", text)
    text = re.sub(r"(?:::)?\bAscendC\s*::\s*", "", text)
    return re.sub(r"\s+", " ", text.replace("&", " ")).strip()


class Source:
    """One C++ file of a workspace, parsed."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.data = bytes_of(text)
        masked = MASKED.sub(lambda match: re.sub(rb"[^\n]", b" ", match.group()), self.data)
        masked = masked.replace(b"\0", b" ")  # compilers skip it; the grammar would end there
        self.tree = Parser(LANGUAGE).parse(masked)
        self.root = self.tree.root_node

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return text_of(self.data[node.start_byte : node.end_byte])

    def line(self, node: Node) -> int:
        """The 1-based line a node starts on."""
        return int(node.start_point[0]) + 1

    def indent(self, node: Node) -> str:
        """The white space in front of the line a node starts on."""
        start = self.data.rfind(b"\n", 0, node.start_byte) + 1
        match = re.match(rb"[ \t]*", self.data[start : node.start_byte])
        return match.group().decode() if match else ""

    @cached_property
    def errors(self) -> int:
        """How many places did not parse."""
        return sum(node.is_error or node.is_missing for node in walk(self.root))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function with a body."""
        found = []
        for node in walk(self.root):
            if node.type != "function_definition":
                continue
            body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator")
            while declarator is not None and declarator.type != "function_declarator":
                declarator = declarator.child_by_field_name("declarator")
            if body is None or declarator is None:
                continue
            named = declarator.child_by_field_name("declarator")
            listed = declarator.child_by_field_name("parameters")
            if named is None or listed is None:
                continue
            full = self.text(named)
            owner = self._class_of(node) or (full.rsplit("::", 1)[0] if "::" in full else "")
            parameters = []
            for parameter in listed.children:
                kind = parameter.child_by_field_name("type")
                inner = parameter.child_by_field_name("declarator")
                if kind is None or inner is None:
                    continue
                name = next((n for n in walk(inner) if n.type in NAMES), None)
                if name is not None:
                    stars = "*" if inner.type == "pointer_declarator" else ""
                    parameters.append((self.text(name), plain_type(self.text(kind)) + stars))
            found.append(
                Function(
                    source=self,
                    node=node,
                    name=full.rsplit("::", 1)[-1],
                    owner=re.sub(r"<.*>", "", owner),
                    parameters=tuple(parameters),
                    body=body,
                )
            )
        return tuple(found)

    def _class_of(self, node: Node) -> str:
        for above in ancestors(node):
            if above.type in ("class_specifier", "struct_specifier"):
                name = above.child_by_field_name("name")
                return re.sub(r"<.*>", "", self.text(name)) if name is not None else ""
        return ""

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """Every variable declared anywhere in the file, parameters included."""
        found = []
        for holder in self.functions:
            for name, kind in holder.parameters:
                found.append(
                    Declaration(
                        source=self, name=name, kind="parameter", type=kind, initial=None,
                        statement=holder.node, function=holder, owner=holder.owner,
                    )
                )  # fmt: skip
        for node in walk(self.root):
            if node.type not in ("declaration", "field_declaration"):
                continue
            written = node.child_by_field_name("type")
            if written is None:
                continue
            function = self.function_at(node)
            owner = self._class_of(node)
            kind = "local" if function else ("member" if node.type == "field_declaration" else "global")
            for declarator in node.children_by_field_name("declarator"):
                initial, target = None, declarator
                if declarator.type == "init_declarator":
                    initial = declarator.child_by_field_name("value")
                    inner = declarator.child_by_field_name("declarator")
                    target = inner if inner is not None else declarator
                if target.type in ("function_declarator", "array_declarator"):
                    continue
                stars = "*" if target.type == "pointer_declarator" else ""
                name_node = next((n for n in walk(target) if n.type in NAMES), None)
                if name_node is None:
                    continue
                if kind == "member" and initial is None:
                    initial = node.child_by_field_name("default_value")
                found.append(
                    Declaration(
                        source=self, name=self.text(name_node), kind=kind,
                        type=plain_type(self.text(written)) + stars, initial=initial, statement=node,
                        function=function, owner=owner,
                    )
                )  # fmt: skip
        return tuple(found)

    def function_at(self, node: Node) -> Function | None:
        """The innermost function whose body holds the node."""
        at = bisect_right(self._starts, node.start_byte)
        while at:
            at -= 1
            function = self._by_start[at]
            if inside(node, function.node):
                return function
            if self._reach[at] < node.end_byte:
                return None  # nothing that starts earlier reaches as far
        return None

    @cached_property
    def _by_start(self) -> list[Function]:
        return sorted(self.functions, key=lambda function: function.node.start_byte)

    @cached_property
    def _starts(self) -> list[int]:
        return [function.node.start_byte for function in self._by_start]

    @cached_property
    def _reach(self) -> list[int]:
        """How far any function up to this one reaches."""
        return list(accumulate((function.node.end_byte for function in self._by_start), max))


class Program:
    """All C++ files under kernel/ of a workspace."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(files)
        self.sources = {
            path: Source(path, text)
            for path, text in sorted(files.items())
            if path.startswith("kernel/") and path.endswith(SUFFIXES)
        }

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function of every file, in path order."""
        return tuple(function for source in self.sources.values() for function in source.functions)

    @cached_property
    def _declared(self) -> dict[str, list[Declaration]]:
        found: dict[str, list[Declaration]] = {}
        for source in self.sources.values():
            for declaration in source.declarations:
                found.setdefault(declaration.name, []).append(declaration)
        return found

    @cached_property
    def _written(self) -> dict[str, list[Assignment]]:
        found: dict[str, list[Assignment]] = {}
        for function in self.functions:
            source = function.source
            for node in walk(function.node):
                if node.type == "field_initializer":  # of a constructor: `length_(rows * cols)`
                    name_node, listed = node.named_children[0], node.named_children[-1]
                    values = [child for child in listed.named_children if child.type != "comment"]
                    if len(values) == 1:
                        found.setdefault(source.text(name_node), []).append(
                            Assignment(function=function, node=node, operator="=", value=values[0])
                        )
                    continue
                if not inside(node, function.body):
                    continue
                if node.type == "assignment_expression":
                    target = node.child_by_field_name("left")
                    value = node.child_by_field_name("right")
                    sign = node.child_by_field_name("operator")
                    operator = source.text(sign) if sign is not None else "="
                elif node.type == "update_expression":
                    target, value = node.child_by_field_name("argument"), None
                    operator = "++" if "++" in source.text(node) else "--"
                else:
                    continue
                if target is None:
                    continue
                name = bare_name(source, target)
                if name:
                    found.setdefault(name, []).append(
                        Assignment(function=function, node=node, operator=operator, value=value)
                    )
        return found

    def declaration(self, name: str, at: Node, source: Source) -> Declaration | None:
        """What `name` means at a place: local, then parameter, then member, then global; None if unknown."""
        function = source.function_at(at)
        candidates = self._declared.get(name, [])
        best: Declaration | None = None
        if function is not None:
            for found in candidates:
                if found.kind != "local" or found.function is not function:
                    continue
                if found.statement.start_byte > at.start_byte:
                    continue
                scope = found.statement.parent
                if scope is not None and inside(at, scope):
                    best = found  # later declarations shadow or lie deeper
            if best is not None:
                return best
            for found in candidates:
                if found.kind == "parameter" and found.function is function:
                    return found
            for found in candidates:
                if found.kind == "member" and found.owner == function.owner:
                    return found
        for found in candidates:
            if found.kind == "global":
                return found
        return None

    def assignments(self, declaration: Declaration) -> tuple[Assignment, ...]:
        """Every write to a declared name outside its declaration."""
        return tuple(
            written
            for written in self._written.get(declaration.name, [])
            if self.declaration(declaration.name, written.node, written.function.source) is declaration
        )

    @cached_property
    def _calls(self) -> dict[int, tuple["Call", ...]]:
        found = {}
        for function in self.functions:
            read = (Call.of(function, n) for n in walk(function.body) if n.type == "call_expression")
            found[id(function)] = tuple(call for call in read if call is not None)
        return found

    def calls(self, function: Function | None = None) -> Iterator["Call"]:
        """Yield every call, in one function or in all."""
        for where in (function,) if function is not None else self.functions:
            yield from self._calls[id(where)]

    @cached_property
    def _calls_by_name(self) -> dict[str, list["Call"]]:
        found: dict[str, list[Call]] = {}
        for call in self.calls():
            found.setdefault(call.name, []).append(call)
        return found

    def callers(self, function: Function) -> tuple["Call", ...]:
        """Every call of a function of ours, matched by name and number of arguments."""
        return tuple(
            call
            for call in self._calls_by_name.get(function.name, [])
            if len(call.arguments) == len(function.parameters)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """One call: `receiver` is the text before the last dot or arrow, "" for a free function."""

    function: Function
    node: Node
    name: str
    receiver: str
    template: str
    arguments: tuple[Node, ...]

    @property
    def source(self) -> Source:
        """The file the call is in."""
        return self.function.source

    @property
    def statement(self) -> Node:
        """The statement the call belongs to."""
        for above in ancestors(self.node):
            if above.type.endswith("_statement") or above.type == "declaration":
                return above
        return self.node

    def text(self, index: int) -> str:
        """The text of one argument."""
        return self.source.text(self.arguments[index])

    @classmethod
    def of(cls, function: Function, node: Node) -> "Call | None":
        """Read a call_expression; None where its function part has an unknown form."""
        source = function.source
        target, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if target is None or listed is None or listed.type != "argument_list":
            return None
        receiver, template = "", ""
        if target.type == "field_expression":
            holder = target.child_by_field_name("argument")
            receiver = source.text(holder) if holder is not None else ""
            field = target.child_by_field_name("field")
            if field is None:
                return None
            target = field
        written = re.sub(r"^template\s+", "", source.text(target))
        match = re.fullmatch(r"([\w:\s]*?)(\w+)\s*(?:<(.*)>)?", written, re.DOTALL)
        if match is None:
            return None
        template = (match.group(3) or "").strip()
        arguments = tuple(child for child in listed.named_children if child.type != "comment")
        receiver = re.sub(r"^this->", "", receiver)
        return cls(
            function=function, node=node, name=match.group(2), receiver=receiver,
            template=template, arguments=arguments,
        )  # fmt: skip


def bare_name(source: Source, node: Node) -> str:
    """`x` or `this->x` as "x"; "" for anything else."""
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return bare_name(source, node.named_children[0])
    text = re.sub(r"^this\s*->\s*", "", source.text(node))
    return text if re.fullmatch(r"[A-Za-z_]\w*", text) else ""

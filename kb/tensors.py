"""What is known of tensors in a kernel: global or local, element type, queue or buffer, size."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.reader import Reader
from kb.source import Call, Declaration, Function, Program, Source, bare_name

NARROW = ("half", "bfloat16_t")
GETTERS = ("AllocTensor", "DeQue", "Get", "GetWithOffset", "ReinterpretCast", "GetBuffer")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensor:
    """One use of a tensor.

    Attributes:
        space: "global" or "local".
        element: element type as written ("T", "half", "float", …); "" if unknown.
        name: the variable, without index.
        offset: the index expression of `x[offset]`; None without one.
        holder: the queue or buffer the tensor came from; "" if unknown.
    """

    space: str
    element: str
    name: str
    offset: Node | None
    holder: str
    declaration: Declaration


class Tensors:
    """Answers questions about the tensors of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.reader = Reader(program)

    def tensor(self, function: Function, node: Node) -> Tensor | None:
        """What an argument is; None where it is no tensor (or not known to be one)."""
        source, offset = function.source, None
        if node.type == "subscript_expression":
            listed = node.child_by_field_name("indices")
            base = node.child_by_field_name("argument")
            if listed is None or base is None or listed.named_child_count != 1:
                return None
            offset, node = listed.named_children[0], base
        name = bare_name(source, node)
        if not name:
            return None
        declared = self.program.declaration(name, node, source)
        if declared is None:
            return None
        space, element, holder = self.kind(declared)
        if not space:
            return None
        return Tensor(
            space=space, element=element, name=name, offset=offset, holder=holder, declaration=declared
        )

    def kind(self, declared: Declaration, depth: int = 4) -> tuple[str, str, str]:
        """(space, element type, queue or buffer) of a declared name; empty strings where unknown."""
        space, element, holder = "", "", ""
        match = re.fullmatch(r"(Local|Global)Tensor\s*<(.*)>", declared.type, re.DOTALL)
        if match:
            space, element = match.group(1).lower(), match.group(2).strip()
        values = (
            [(declared.source, declared.initial, declared.function)] if declared.initial is not None else []
        )
        if not values and (match or declared.type == "auto"):
            values = [
                (written.function.source, written.value, written.function)
                for written in self.program.assignments(declared)
                if written.operator == "=" and written.value is not None
            ]
        for source, value, function in values:
            if value.type == "call_expression" and function is not None:
                call = Call.of(function, value)
                if call is not None and call.name in GETTERS and call.receiver:
                    if call.name != "ReinterpretCast":
                        holder = call.receiver
                    if not match:
                        space, element = "local", call.template
            elif value.type == "subscript_expression" and depth and not match:
                base = value.child_by_field_name("argument")
                name = bare_name(source, base) if base is not None else ""
                inner = self.program.declaration(name, value, source) if name else None
                if inner is not None:
                    space, element, holder = self.kind(inner, depth - 1)
        return space, element, holder

    def holder_type(self, name: str, at: Function) -> str:
        """The declared type of a queue or buffer, for example "TQue<TPosition::VECIN, 2>"."""
        declared = self.program.declaration(name, at.body.children[-1], at.source)
        return declared.type if declared is not None else ""

    def buffer_calls(self, holder: str, at: Function) -> tuple[Call, ...]:
        """The InitBuffer calls of a queue or buffer."""
        return tuple(
            call
            for call in self.program.calls()
            if call.name == "InitBuffer"
            and call.arguments
            and bare_name(call.source, call.arguments[0]) == holder
            and (call.function.owner == at.owner or call.function is at)
        )

    def read(self, function: Function, node: Node) -> Expression:
        """The expression at a place."""
        return expression(function.source, node, function)

    def elements_in_buffer(self, holder: str, at: Function) -> tuple[str, Function] | None:
        """The number of elements a buffer was made for, as written, without its `* sizeof(…)`."""
        for call in self.buffer_calls(holder, at):
            size = call.text(len(call.arguments) - 1)
            stripped = strip_sizeof(size)
            if stripped is not None:
                return stripped, call.function
        return None


def strip_sizeof(text: str) -> str | None:
    """`n * sizeof(T)` without the factor; None where there is no such factor at the end or the start."""
    match = re.fullmatch(r"(.+?)\s*\*\s*sizeof\s*\([^()]*\)", text.strip(), re.DOTALL) or re.fullmatch(
        r"sizeof\s*\([^()]*\)\s*\*\s*(.+)", text.strip(), re.DOTALL
    )
    return match.group(1) if match else None


def statement_of(node: Node) -> Node:
    """The statement that directly belongs to a block, walking up from `node`."""
    current = node
    while current.parent is not None and current.parent.type not in (
        "compound_statement", "translation_unit", "field_declaration_list", "case_statement",
    ):  # fmt: skip
        current = current.parent
    return current


def literal(element: str, value: str) -> str:
    """A constant of an element type."""
    return value if element == "float" else f"static_cast<{element}>({value})"


def parts(source: Source, node: Node) -> str:
    """The text of a node in parentheses, unless it is a single name, number or call."""
    text = source.text(node)
    return text if re.fullmatch(r"[\w.]+(?:\([^()]*\))?|\(.*\)|(?:this->)?\w+", text) else f"({text})"

"""Forms that several rewrites look for: accumulations, initialisations, loops around a place, new buffers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.rewrite import Edit, after
from kb.source import LOOPS, Call, Declaration, Function, Program, ancestors, bare_name, inside, walk
from kb.tensors import NARROW, Tensors, statement_of, strip_sizeof

COUNT_REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin")


def loops_around(node: Node, function: Function) -> list[Node]:
    """The loops a place is in, the innermost first."""
    return [above for above in ancestors(node) if above.type in LOOPS and inside(above, function.body)]


def loop_body(loop: Node) -> Node | None:
    """The body of a loop."""
    return loop.child_by_field_name("body")


@dataclass(frozen=True, kw_only=True, eq=False)
class Accumulation:
    """`x += e`, `x = x + e` or `x = e + x` on a scalar; `added` is e, `sign` "+" or "-"."""

    function: Function
    node: Node
    name: str
    added: Node
    sign: str
    declaration: Declaration

    @property
    def loop(self) -> Node | None:
        """The innermost loop around it."""
        return next(iter(loops_around(self.node, self.function)), None)


@lru_cache(maxsize=4)
def accumulations(program: Program) -> tuple[Accumulation, ...]:
    """Every accumulation on a scalar whose declaration is known."""
    return tuple(_accumulations(program))


def _accumulations(program: Program) -> Iterator[Accumulation]:
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type != "assignment_expression":
                continue
            target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            name = bare_name(source, target) if target is not None else ""
            if not name or value is None or sign is None:
                continue
            written, added, way = source.text(sign), value, "+"
            if written == "=":
                inner: Node | None = value
                while inner is not None:
                    if inner.type == "cast_expression":
                        inner = inner.child_by_field_name("value")
                    elif inner.type == "parenthesized_expression" and inner.named_child_count == 1:
                        inner = inner.named_children[0]
                    elif inner.type == "call_expression" and source.text(inner).startswith("static_cast"):
                        listed = inner.child_by_field_name("arguments")
                        inner = listed.named_children[0] if listed is not None else None
                    else:
                        break
                if inner is None or inner.type != "binary_expression":
                    continue
                left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
                operator = inner.child_by_field_name("operator")
                if left is None or right is None or operator is None:
                    continue
                way = source.text(operator)
                if way not in ("+", "-"):
                    continue
                if expression(source, left, function).value == name:
                    added = right
                elif way == "+" and expression(source, right, function).value == name:
                    added = left
                else:
                    continue
            elif written in ("+=", "-="):
                way = written[0]
            else:
                continue
            declared = program.declaration(name, node, source)
            if declared is not None:
                yield Accumulation(
                    function=function, node=node, name=name, added=added, sign=way, declaration=declared
                )


def template_types(function: Function) -> frozenset[str]:
    """The type parameters of the templates a function is in."""
    names: set[str] = set()
    for above in ancestors(function.node):
        if above.type == "template_declaration":
            listed = above.child_by_field_name("parameters")
            if listed is not None:
                for parameter in listed.named_children:
                    if parameter.type == "type_parameter_declaration":
                        names.add(function.source.text(parameter).split()[-1])
    return frozenset(names)


def may_be_narrow(element: str, function: Function) -> bool:
    """Say whether an element type is half or bfloat16, or a template parameter that may be either."""
    return element in NARROW or element in template_types(function)


def is_zero(found: Expression) -> bool:
    """Say whether an expression is a literal zero, casts aside."""
    return found.op == "number" and re.fullmatch(r"0+(?:\.0*)?[fFuUlL]*|0x0+", found.value) is not None


def constant(found: Expression) -> bool:
    """Say whether an expression is a literal, a sign in front allowed."""
    return found.op == "number" or (found.op == "unary-" and constant(found.arguments[0]))


def vector_accumulations(
    program: Program, tensors: Tensors, names: tuple[str, ...] = ("Add",)
) -> Iterator[Call]:
    """Yield calls such as Add(acc, acc, x, n): the first argument is one of the operands."""
    for call in program.calls():
        if call.name not in names or call.receiver or len(call.arguments) != 4:
            continue
        target = call.source.text(call.arguments[0])
        adds = call.name == "Axpy" or target in (call.text(1), call.text(2))
        if adds and tensors.tensor(call.function, call.arguments[0]) is not None:
            yield call


def writes_to(program: Program, tensors: Tensors, name: str, function: Function) -> list[Call]:
    """Calls in a function that write a tensor: it is the first argument, or the receiver of SetValue.

    Calls of functions of ours are left out: they may read it as well.
    """
    found = []
    own = {function.name for function in program.functions}
    for call in program.calls(function):
        if call.receiver == name and call.name == "SetValue":
            found.append(call)
        elif not call.receiver and call.arguments and call.name not in own:
            first = tensors.tensor(function, call.arguments[0])
            if first is not None and first.name == name:
                found.append(call)
    return found


def namespace(call: Call) -> str:
    """The qualification a call is written with, "AscendC::" or ""."""
    text = call.source.text(call.node)
    return text[: text.index(call.name)] if not call.receiver else ""


def fresh(function: Function, wanted: str, program: Program | None = None) -> str:
    """A name that neither the function nor, with a program, any file uses yet."""
    places = [function.node] if program is None else [source.root for source in program.sources.values()]
    sources = [function.source] if program is None else list(program.sources.values())
    used = {
        source.text(node)
        for source, place in zip(sources, places, strict=True)
        for node in walk(place)
        if node.type in ("identifier", "field_identifier")
    }
    name, number = wanted, 2
    while name in used:
        name, number = f"{wanted}{number}", number + 1
    return name


def float_twin(
    program: Program, tensors: Tensors, holder: str, function: Function, name: str
) -> list[Edit] | None:
    """Edits that add a buffer `name` of floats with as many elements as `holder` has; None where that fails."""
    declared = program.declaration(holder, function.body.children[-1], function.source)
    made = tensors.buffer_calls(holder, function)
    if declared is None or not made:
        return None
    edits = []
    qualified = "AscendC::" if "AscendC::" in declared.source.text(declared.statement) else ""
    edits.append(
        after(declared.source, declared.statement, f"{qualified}TBuf<{qualified}TPosition::VECCALC> {name};")
    )
    for call in made:
        size = call.text(len(call.arguments) - 1)
        elements = strip_sizeof(size)
        # Without a visible element size the bytes of a two-byte type are doubled.
        wide = f"{elements} * sizeof(float)" if elements is not None else f"({size}) * 2"
        edits.append(
            after(call.source, statement_of(call.node), f"{call.receiver}.InitBuffer({name}, {wide});")
        )
    return edits

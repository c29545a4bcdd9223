"""Arithmetic of counts and offsets: a small expression form, and the shapes kernels write again and again.

Casts and parentheses are dropped, so `static_cast<uint32_t>((n + 7) / 8 * 8)` and `(n + 7) / 8 * 8` are
the same expression. Names are looked through where they have one definition only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kb.source import Function, Source, bare_name

DEPTH = 6
SCALARS = re.compile(
    r"(?:std::)?(?:u?int(?:8|16|32|64)?(?:_t)?|size_t|float|double|long|unsigned|half|bfloat16_t|T|DTYPE\w*)"
)


@dataclass(frozen=True)
class Expression:
    """One node: `op` is "name", "number", "sizeof", "call", "other" or an operator.

    Attributes:
        value: the name, the number as text, the type of a sizeof, the function of a call.
        text: how it is written in the file, casts included.
        function: where it is written, to look its names up; None for globals.
    """

    op: str
    value: str = ""
    arguments: tuple["Expression", ...] = ()
    text: str = ""
    function: Function | None = None
    node: Node | None = None

    @property
    def key(self) -> str:
        """A canonical text: equal keys mean the same expression within one scope."""
        if self.op in ("name", "number"):
            return self.value
        if self.op == "sizeof":
            return f"sizeof({self.value})"
        if self.op == "other":
            return re.sub(r"\s+", "", self.text)
        inner = [argument.key for argument in self.arguments]
        if self.op == "*":
            inner = sorted(factor.key for factor in factors(self))
        if self.op == "+":
            inner = sorted(inner)
        return f"{self.value or self.op}({','.join(inner)})"

    @property
    def names(self) -> frozenset[str]:
        """Every name in it."""
        if self.op == "name":
            return frozenset({self.value})
        return (
            frozenset().union(*(argument.names for argument in self.arguments))
            if self.arguments
            else (frozenset(re.findall(r"[A-Za-z_]\w*", self.text)) if self.op == "other" else frozenset())
        )

    @property
    def integer(self) -> int | None:
        """Its value, where it is an integer literal."""
        if self.op != "number":
            return None
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", self.value)
        return int(match.group(1), 0) if match else None


def expression(source: Source, node: Node, function: Function | None = None) -> Expression:
    """Read a C++ expression."""
    text = source.text(node)

    def make(op: str, value: str = "", *arguments: Expression) -> Expression:
        return Expression(op, value, arguments, text, function, node)

    def sub(field: str) -> Expression:
        child = node.child_by_field_name(field)
        return expression(source, child, function) if child is not None else make("other")

    kind = node.type
    if kind in ("parenthesized_expression", "condition_clause") and node.named_child_count == 1:
        return expression(source, node.named_children[0], function)
    if kind == "cast_expression":
        return sub("value")
    if kind == "number_literal":
        return make("number", text)
    name = bare_name(source, node)
    if name:
        return make("name", name)
    if kind == "sizeof_expression":
        return make("sizeof", re.sub(r"^sizeof|[()\s]", "", text))
    if kind == "binary_expression":
        sign = node.child_by_field_name("operator")
        return make(source.text(sign) if sign is not None else "?", "", sub("left"), sub("right"))
    if kind == "unary_expression":
        sign = node.child_by_field_name("operator")
        return make("unary" + (source.text(sign) if sign is not None else "?"), "", sub("argument"))
    if kind == "conditional_expression":
        return make("?:", "", sub("condition"), sub("consequence"), sub("alternative"))
    if kind == "call_expression":
        target, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if target is not None and listed is not None:
            called = source.text(target)
            inner = [expression(source, n, function) for n in listed.named_children if n.type != "comment"]
            if len(inner) == 1 and (called.startswith("static_cast") or SCALARS.fullmatch(called)):
                return inner[0]
            short = re.sub(r"<.*>$", "", called, flags=re.DOTALL).rsplit("::", 1)[-1]
            return make("call", re.sub(r"^this\s*->\s*", "", short), *inner)
    return make("other")


def factors(found: Expression) -> tuple[Expression, ...]:
    """The factors of a product, flattened."""
    if found.op == "*":
        return tuple(factor for argument in found.arguments for factor in factors(argument))
    return (found,)


def terms(found: Expression, sign: int = 1) -> Iterator[tuple[int, Expression]]:
    """The terms of a sum with their signs, flattened."""
    if found.op == "+":
        yield from terms(found.arguments[0], sign)
        yield from terms(found.arguments[1], sign)
    elif found.op == "-":
        yield from terms(found.arguments[0], sign)
        yield from terms(found.arguments[1], -sign)
    else:
        yield sign, found


def leftover(total: Expression, known: Expression) -> Expression | None:
    """What is added to `known − 1` in `total`: n in (n + known − 1); None for any other form."""
    wanted = known.integer
    rest: list[Expression] = []
    constant, symbols = 0, 0
    for sign, term in terms(total):
        number = term.integer
        if number is not None:
            constant += sign * number
        elif sign == 1 and wanted is None and term.key == known.key and not symbols:
            symbols = 1
        elif sign == 1:
            rest.append(term)
        else:
            return None
    if constant != ((wanted - 1) if wanted is not None else -1) or (wanted is None and not symbols):
        return None
    return rest[0] if len(rest) == 1 else None


def substitute(found: Expression, bound: dict[str, Expression]) -> Expression:
    """Put expressions in the place of names."""
    if found.op == "name" and found.value in bound:
        return bound[found.value]
    if not found.arguments:
        return found
    inner = tuple(substitute(argument, bound) for argument in found.arguments)
    return Expression(found.op, found.value, inner, found.text, found.function, found.node)

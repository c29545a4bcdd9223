"""Arithmetic of counts and offsets: a small expression form, and the shapes kernels write again and again.

Casts and parentheses are dropped, so `static_cast<uint32_t>((n + 7) / 8 * 8)` and `(n + 7) / 8 * 8` are
the same expression. Names are looked through where they have one definition only.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kb.source import Function, Program, Source, bare_name

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
        return frozenset().union(*(argument.names for argument in self.arguments)) if self.arguments else (
            frozenset(re.findall(r"[A-Za-z_]\w*", self.text)) if self.op == "other" else frozenset()
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


class Reader:
    """Looks through names of one program and recognises forms."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def definitions(self, found: Expression) -> tuple[Expression, ...]:
        """All values a name may have had; () where one of them is unknown or it is no name."""
        if found.op != "name" or found.node is None:
            return ()
        source = found.function.source if found.function else None
        if source is None:
            source = next((s for s in self.program.sources.values() if s.tree.root_node == _root(found.node)), None)
        if source is None:
            return ()
        declared = self.program.declaration(found.value, found.node, source)
        if declared is None:
            return ()
        values: list[Expression] = []
        if declared.initial is not None:
            if declared.initial.type == "initializer_list" and declared.initial.named_child_count == 1:
                values.append(expression(declared.source, declared.initial.named_children[0], declared.function))
            else:
                values.append(expression(declared.source, declared.initial, declared.function))
        if declared.kind == "parameter" and declared.function is not None:
            names = [name for name, _ in declared.function.parameters]
            index = names.index(declared.name)
            values.extend(
                expression(call.source, call.arguments[index], call.function)
                for call in self.program.callers(declared.function)
            )
        for written in self.program.assignments(declared):
            if written.operator != "=" or written.value is None:
                return ()
            values.append(expression(written.function.source, written.value, written.function))
        if declared.kind == "member" and len(values) > 1 and values[0].integer == 0:
            values = values[1:]  # a zero in the declaration is a placeholder, not a value
        return tuple(values)

    def definition(self, found: Expression) -> Expression | None:
        """The one value of a name; None where it has several or none."""
        values = self.definitions(found)
        if len({value.key for value in values}) != 1:
            return None
        return values[0]

    def inline(self, found: Expression) -> Expression | None:
        """The returned expression of a one-line helper function, arguments put in; None for other calls."""
        if found.op != "call":
            return None
        for function in self.program.functions:
            if function.name != found.value or len(function.parameters) != len(found.arguments):
                continue
            statements = [n for n in function.body.named_children if n.type != "comment"]
            if len(statements) != 1 or statements[0].type != "return_statement":
                continue
            returned = statements[0].named_children
            if not returned:
                continue
            bound = dict(zip((name for name, _ in function.parameters), found.arguments, strict=True))
            return substitute(expression(function.source, returned[0], function), bound)
        return None

    def through(
        self, found: Expression, match: Callable[[Expression], Expression | None], depth: int = DEPTH
    ) -> Expression | None:
        """`match` on the expression, else on its one definition or on what a helper returns, and so on."""
        result = match(found)
        if result is not None or depth == 0:
            return result
        deeper = self.inline(found) or self.definition(found)
        return self.through(deeper, match, depth - 1) if deeper is not None else None

    def ceiling_quotient(self, found: Expression) -> tuple[Expression, Expression] | None:
        """(n, d) of a quotient rounded up: (n + d − 1) / d, CeilDiv(n, d), or a shift."""
        if found.op == "/":
            base = leftover(found.arguments[0], found.arguments[1])
            return (base, found.arguments[1]) if base is not None else None
        if found.op == ">>" and (bits := found.arguments[1].integer) is not None:
            divisor = Expression("number", str(1 << bits), (), str(1 << bits))
            base = leftover(found.arguments[0], divisor)
            return (base, divisor) if base is not None else None
        if found.op == "call" and len(found.arguments) == 2 and re.search(
            r"(?i)ceil.?div|div.?ceil|div.?up|round.?up.?div|cdiv", found.value
        ):
            return found.arguments[0], found.arguments[1]
        inlined = self.inline(found)
        return self.ceiling_quotient(inlined) if inlined is not None else None

    def unaligned(self, found: Expression) -> Expression | None:
        """n, where the expression is n rounded up to a multiple of something; None otherwise."""
        return self.through(found, self._unaligned)

    def _unaligned(self, found: Expression) -> Expression | None:
        if found.op == "*":
            parts = factors(found)
            for index, part in enumerate(parts):
                quotient = self.ceiling_quotient(part) or self._quotient_of_name(part)
                if quotient is not None and len(parts) == 2:
                    base, divisor = quotient
                    other = parts[1 - index]
                    if divisor.key == other.key or self._same(divisor, other):
                        return base
        if found.op == "<<" and found.arguments[0].op == ">>":
            quotient = self.ceiling_quotient(found.arguments[0])
            same = found.arguments[0].arguments[1].key == found.arguments[1].key
            return quotient[0] if quotient is not None and same else None
        if found.op == "&" and found.arguments[1].op == "unary~":
            mask = found.arguments[1].arguments[0]
            for sign, term in terms(found.arguments[0]):
                rest = [t for s, t in terms(found.arguments[0]) if t is not term]
                if sign == 1 and term.integer is None and rest and (
                    (len(rest) == 1 and rest[0].key == mask.key) or "-" in mask.key
                ):
                    return term
        if found.op == "/" and found.arguments[1].op == "sizeof":  # bytes rounded up, back to elements
            inner = self.unaligned(found.arguments[0])
            if inner is not None:
                rest = [factor for factor in factors(inner) if factor.op != "sizeof"]
                if len(rest) == 1 and len(rest) < len(factors(inner)):
                    return rest[0]
        if found.op == "call" and len(found.arguments) == 2 and re.search(
            r"(?i)align|round.?up|pad.?up|ceil.?to|up.?to", found.value
        ):
            return found.arguments[0]
        return None

    def _quotient_of_name(self, found: Expression) -> tuple[Expression, Expression] | None:
        value = self.definition(found)
        return self.ceiling_quotient(value) if value is not None else None

    def _same(self, one: Expression, other: Expression) -> bool:
        left, right = self.number(one), self.number(other)
        return left is not None and left == right

    def number(self, found: Expression, depth: int = DEPTH) -> int | None:
        """The compile-time value of an expression; None where it is not known."""
        if found.op == "number":
            return found.integer
        if found.op == "sizeof":
            return SIZES.get(found.value)
        if found.op in FOLD:
            left, right = (self.number(argument, depth) for argument in found.arguments)
            if left is None or right is None or (found.op in "/%" and right == 0):
                return None
            return FOLD[found.op](left, right)
        if depth == 0:
            return None
        deeper = self.definition(found)
        return self.number(deeper, depth - 1) if deeper is not None else None

    def same(self, one: Expression, other: Expression, depth: int = 3) -> bool:
        """Say whether two expressions have one value, looking through single definitions."""
        if one.key == other.key:
            return True
        if depth == 0:
            return False
        for left, right in ((one, other), (other, one)):
            deeper = self.definition(left)
            if deeper is not None and self.same(deeper, right, depth - 1):
                return True
        return False

    def accessible(self, found: Expression, at: Function) -> str | None:
        """How to write an expression's value inside another function; None where it can't be.

        Names of the same function, members and globals serve as they are. A local or a parameter serves through a
        member (or a parameter of `at`) that was given its value.
        """
        if found.node is None and found.op == "number":
            return found.text
        home = found.function
        if home is None or home is at:
            return found.text
        scopes = {name: self._scope(name, found, home) for name in found.names}
        if all(scope in ("member", "global") for scope in scopes.values()):
            return found.text if home.owner == at.owner or "member" not in scopes.values() else None
        for declared in (d for s in self.program.sources.values() for d in s.declarations):
            usable = (declared.kind == "member" and declared.owner == at.owner) or (
                declared.kind == "parameter" and declared.function is at
            )
            if not usable:
                continue
            holder = Expression("name", declared.name, (), declared.name, at, at.body)
            value = self.definition(holder)
            if value is not None and value.key == found.key and value.function is home:
                return declared.name
        return None

    def _scope(self, name: str, found: Expression, home: Function) -> str:
        declared = self.program.declaration(name, found.node or home.body, home.source)
        return declared.kind if declared is not None else "global"


def substitute(found: Expression, bound: dict[str, Expression]) -> Expression:
    """Put expressions in the place of names."""
    if found.op == "name" and found.value in bound:
        return bound[found.value]
    if not found.arguments:
        return found
    inner = tuple(substitute(argument, bound) for argument in found.arguments)
    return Expression(found.op, found.value, inner, found.text, found.function, found.node)


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


SIZES = {
    "float": 4, "half": 2, "bfloat16_t": 2, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2,
    "int32_t": 4, "uint32_t": 4, "int": 4, "int64_t": 8, "uint64_t": 8, "double": 8,
}  # fmt: skip
FOLD: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}

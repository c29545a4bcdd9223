"""Reads what names and struct fields stand for in one program, and recognises rounded-up lengths.

Names are looked through where they have one definition only.
"""

import re
from collections.abc import Callable
from functools import cached_property

from tree_sitter import Node

from kb import fields
from kb.expressions import DEPTH, Expression, expression, factors, leftover, substitute, terms
from kb.source import Function, Program


class Reader:
    """Looks through names of one program and recognises forms."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def fields(self) -> dict[str, tuple[Expression, ...]]:
        """What the fields of tiling structs are given."""
        return fields.field_values(self.program)

    def definitions(self, found: Expression) -> tuple[Expression, ...]:
        """All values a name or a struct's field may have had; () where one of them is unknown or it is neither."""
        if found.op == "other":
            return self.fields.get(fields.field_of(found), ())
        if found.op != "name" or found.node is None:
            return ()
        source = found.function.source if found.function else None
        if source is None:
            source = next(
                (s for s in self.program.sources.values() if s.tree.root_node == _root(found.node)), None
            )
        if source is None:
            return ()
        declared = self.program.declaration(found.value, found.node, source)
        if declared is None:
            return ()
        values: list[Expression] = []
        if declared.initial is not None:
            if declared.initial.type == "initializer_list" and declared.initial.named_child_count == 1:
                values.append(
                    expression(declared.source, declared.initial.named_children[0], declared.function)
                )
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
        if found.op == ">>" and (bits := found.arguments[1].integer) is not None and 0 <= bits < WORD_BITS:
            divisor = Expression("number", str(1 << bits), (), str(1 << bits))
            base = leftover(found.arguments[0], divisor)
            return (base, divisor) if base is not None else None
        if (
            found.op == "call"
            and len(found.arguments) == 2
            and re.search(r"(?i)ceil.?div|div.?ceil|div.?up|round.?up.?div|cdiv", found.value)
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
                if (
                    sign == 1
                    and term.integer is None
                    and rest
                    and ((len(rest) == 1 and rest[0].key == mask.key) or "-" in mask.key)
                ):
                    return term
        if found.op == "/" and found.arguments[1].op == "sizeof":  # bytes rounded up, back to elements
            inner = self.unaligned(found.arguments[0])
            if inner is not None:
                rest = [factor for factor in factors(inner) if factor.op != "sizeof"]
                if len(rest) == 1 and len(rest) < len(factors(inner)):
                    return rest[0]
        if (
            found.op == "call"
            and len(found.arguments) == 2
            and re.search(r"(?i)align|round.?up|pad.?up|ceil.?to|up.?to", found.value)
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
            # Hostile source shifts by 10**12: Python would build that number, whatever memory it takes.
            if found.op in {"<<", ">>"} and not 0 <= right < WORD_BITS:
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
        field = self._field_at(found, at)
        if field is not None or fields.field_of(found):
            return field
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

    def _field_at(self, found: Expression, at: Function) -> str | None:
        """How a function writes a value that reached it in a field: the member that keeps it, or the field itself."""
        names = fields.names_of(self.fields, found)
        if not names:
            return None
        for declared in (d for s in self.program.sources.values() for d in s.declarations):
            if declared.kind == "member" and declared.owner == at.owner and at.owner:
                value = self.definition(Expression("name", declared.name, (), declared.name, at, at.body))
                if value is not None and fields.field_of(value) in names:
                    return declared.name
        reads = tuple(fields.reads_in(at))
        for read in reads:
            if fields.field_of(read) in names:
                return read.text
        # The struct is at hand in the function, though not this field of it.
        known = set(self.fields)
        for read in reads:
            if fields.field_of(read) in known:
                return fields.sibling(read, min(names))
        return None

    def _scope(self, name: str, found: Expression, home: Function) -> str:
        declared = self.program.declaration(name, found.node or home.body, home.source)
        return declared.kind if declared is not None else "global"


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


WORD_BITS = 64


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

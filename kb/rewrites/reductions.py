"""Reductions over padding, and identities that do not fit."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import expression
from kb.patterns import (
    COUNT_REDUCTIONS,
    accumulations,
    is_zero,
    loops_around,
    may_be_narrow,
    vector_accumulations,
    writes_to,
)
from kb.rewrite import Rewrite, Site, replace, site
from kb.source import Declaration, Function, Program, Source, bare_name, walk
from kb.tensors import Tensors, literal


def find_padded_count(program: Program) -> Sequence[Site]:
    """A reduction, vector or scalar, whose count is the length rounded up to whole blocks."""
    tensors = Tensors(program)
    sites = []
    for call in program.calls():
        if call.name not in COUNT_REDUCTIONS or call.receiver or len(call.arguments) < 4:
            continue
        count = tensors.read(call.function, call.arguments[3])
        base = tensors.reader.unaligned(count)
        true = tensors.reader.accessible(base, call.function) if base is not None else None
        if true is not None:
            note = f"{call.name} over {call.text(3)} elements takes the padding behind {true} elements in."
            sites.append(site(call.source, call.node, [replace(call.source, call.arguments[3], true)], note))
    for found in accumulations(program):
        loop = found.loop
        condition = loop.child_by_field_name("condition") if loop is not None else None
        if loop is None or condition is None or loop.type != "for_statement":
            continue
        bound = condition.child_by_field_name("right")
        read = expression(found.function.source, bound, found.function) if bound is not None else None
        base = tensors.reader.unaligned(read) if read is not None else None
        true = tensors.reader.accessible(base, found.function) if base is not None else None
        if true is not None and bound is not None:
            note = f"The loop that sums {found.name} runs over the padding behind {true} elements."
            source = found.function.source
            sites.append(site(source, loop, [replace(source, bound, true)], note))
    return list(dict.fromkeys(sites))


def find_identity(program: Program) -> Sequence[Site]:
    """A maximum that starts at zero (or a minimum): negative rows never win."""
    tensors = Tensors(program)
    sites = []
    for call in vector_accumulations(program, tensors, ("Max", "Min")):
        sign = "-" if call.name == "Max" else ""
        start = tensors.tensor(call.function, call.arguments[0])
        if start is None:
            continue
        for write in writes_to(program, tensors, start.name, call.function):
            if write.name != "Duplicate" or len(write.arguments) != 3:
                continue
            if is_zero(tensors.read(write.function, write.arguments[1])):
                value = literal(start.element or "float", f"{sign}__builtin_inff()")
                edit = replace(write.source, write.arguments[1], value)
                note = f"{start.name} starts at 0, which is no identity of {call.name}."
                sites.append(site(write.source, write.node, [edit], note))
    for function in program.functions:
        for node in walk(function.body):
            kept = _extreme(function, node)
            if kept is None:
                continue
            name, way = kept
            declared = program.declaration(name, node, function.source)
            if declared is None or not loops_around(node, function):
                continue
            for source, start_value, place in _zero_starts(program, declared):
                kind = declared.type if declared.type != "auto" else "float"
                if kind not in ("float", "half", "double") and not may_be_narrow(kind, function):
                    continue
                edit = replace(source, start_value, literal(kind, f"{way}__builtin_inff()"))
                what = "maximum" if way else "minimum"
                sites.append(site(source, place, [edit], f"The {what} {name} starts at 0."))
    return list(dict.fromkeys(sites))


def _zero_starts(program: Program, declared: Declaration) -> list[tuple[Source, Node, Node]]:
    found = []
    if declared.initial is not None and is_zero(
        expression(declared.source, declared.initial, declared.function)
    ):
        found.append((declared.source, declared.initial, declared.statement))
    for written in program.assignments(declared):
        value = written.value if written.operator == "=" else None
        if value is not None and is_zero(expression(written.function.source, value, written.function)):
            found.append((written.function.source, value, written.node))
    return found


def _extreme(function: Function, node: Node) -> tuple[str, str] | None:
    """(name, sign of its identity) of `m = max(m, v)`, `if (v > m) m = v` or `m = v > m ? v : m`."""
    source = function.source
    if node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        name = bare_name(source, left) if left is not None else ""
        if not name or right is None:
            return None
        value = expression(source, right, function)
        extreme = value.op == "call" and re.fullmatch(r"(?i)f?(?:max|min)f?", value.value)
        if extreme and name in (argument.value for argument in value.arguments):
            return name, "-" if "max" in value.value.lower() else ""
        if value.op == "?:" and name in (value.arguments[1].value, value.arguments[2].value):
            test = value.arguments[0]
            if test.op in ("<", ">", "<=", ">=") and len(test.arguments) == 2:
                kept_if_true = value.arguments[1].key
                larger = test.arguments[0].key if test.op[0] == ">" else test.arguments[1].key
                return name, "-" if kept_if_true == larger else ""
    if node.type == "if_statement":
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is None or body is None or node.child_by_field_name("alternative") is not None:
            return None
        test = expression(source, condition, function)
        if test.op not in ("<", ">", "<=", ">=") or len(test.arguments) != 2:
            return None
        for inner in walk(body):
            if inner.type != "assignment_expression":
                continue
            left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            name = bare_name(source, left) if left is not None else ""
            if not name or right is None:
                continue
            value = expression(source, right, function)
            one, two = test.arguments
            if {one.key, two.key} == {name, value.key}:
                larger = one.key if test.op[0] == ">" else two.key
                return name, "-" if larger == value.key else ""
    return None


REWRITES = (
    Rewrite(name="reduce-true-count", summary="reductions end at the true length", find=find_padded_count),
    Rewrite(name="reduce-identity", summary="maxima start at -inf, minima at +inf", find=find_identity),
)

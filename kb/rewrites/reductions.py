"""Reductions over padding, identities that do not fit, sums that start anew or nowhere."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.patterns import (
    COUNT_REDUCTIONS,
    accumulations,
    constant,
    is_zero,
    loop_body,
    loops_around,
    may_be_narrow,
    namespace,
    vector_accumulations,
    writes_to,
)
from kb.rewrite import Rewrite, Site, before, remove, replace, site
from kb.source import LOOPS, Declaration, Function, Program, Source, ancestors, bare_name, inside, walk
from kb.tensors import Tensors, literal

ACCUMULATING = ("Add", "Max", "Min", "Mul", "Axpy", "MulAddDst")


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
    if declared.initial is not None and is_zero(expression(declared.source, declared.initial, declared.function)):
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


def find_reset_in_loop(program: Program) -> Sequence[Site]:
    """An accumulator that is set back inside the tile loop but read behind it."""
    tensors = Tensors(program)
    sites = []
    for function in program.functions:
        source = function.source
        for loop in (n for n in walk(function.body) if n.type in LOOPS):
            body = loop_body(loop)
            if body is None or body.type != "compound_statement":
                continue
            for statement in body.named_children:
                name = _reset(program, tensors, function, statement)
                if not name or not _accumulated_in(program, tensors, function, name, body, statement):
                    continue
                if _read_in(function, name, body, statement, program, tensors) or not _read_after(function, name, loop):
                    continue
                if _written_before(function, name, loop):
                    edits = [remove(source, statement)]
                    variant = "removed"
                else:
                    edits, variant = [], "moved"
                moved = [before(source, loop, source.text(statement)), remove(source, statement)]
                note = f"{name} is set back for every tile but read after the last one."
                sites.append(site(source, statement, moved, note, variant="moved"))
                if edits and variant == "removed":
                    sites.append(site(source, statement, edits, note, variant="removed", order=1))
    return sites


def _reset(program: Program, tensors: Tensors, function: Function, statement: Node) -> str:
    """The name a statement sets to a constant: `x = 0;` or Duplicate(x, 0, n)."""
    source = function.source
    if statement.type != "expression_statement" or not statement.named_children:
        return ""
    node = statement.named_children[0]
    if node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or source.text(sign) != "=":
            return ""
        return bare_name(source, left) if constant(expression(source, right, function)) else ""
    for call in program.calls(function):
        if call.node == node and call.name == "Duplicate" and len(call.arguments) == 3:
            tensor = tensors.tensor(function, call.arguments[0])
            if tensor is not None and constant(tensors.read(function, call.arguments[1])):
                return tensor.name if tensor.offset is None else ""
    return ""


def _updates(program: Program, tensors: Tensors, function: Function, name: str, depth: int = 2) -> list[Node]:
    """The places of a function that accumulate into a name, calls of functions that do so with it included."""
    found = [
        one.node
        for one in accumulations(program)
        if one.name == name and one.function is function
    ]
    for call in program.calls(function):
        if call.receiver or not call.arguments:
            continue
        if call.name in ACCUMULATING and len(call.arguments) == 4:
            target = _root_name(tensors, function, call.arguments[0])
            operands = [_root_name(tensors, function, argument) for argument in call.arguments[1:3]]
            if target == name and (call.name not in ("Add", "Max", "Min", "Mul") or name in operands):
                found.append(call.node)
            continue
        for callee in program.functions if depth else ():
            if callee.name != call.name or len(callee.parameters) != len(call.arguments):
                continue
            for index, argument in enumerate(call.arguments):
                inner = callee.parameters[index][0]
                if bare_name(call.source, argument) == name and _updates(program, tensors, callee, inner, depth - 1):
                    found.append(call.node)
    return found


def _root_name(tensors: Tensors, function: Function, node: Node) -> str:
    """The tensor an argument is a part of: `row` of `LocalTensor row = acc[i]` is acc."""
    tensor = tensors.tensor(function, node)
    initial = tensor.declaration.initial if tensor is not None else None
    if tensor is not None and initial is not None and initial.type == "subscript_expression":
        base = initial.child_by_field_name("argument")
        return bare_name(function.source, base) if base is not None else tensor.name
    return tensor.name if tensor is not None else ""


def _accumulated_in(
    program: Program, tensors: Tensors, function: Function, name: str, body: Node, reset: Node
) -> bool:
    return any(
        inside(update, body) and update.start_byte > reset.end_byte
        for update in _updates(program, tensors, function, name)
    )


def _read_in(
    function: Function, name: str, body: Node, reset: Node, program: Program, tensors: Tensors
) -> bool:
    """Say whether the accumulator is used within the loop for anything but its updates."""
    updates = _updates(program, tensors, function, name)
    for node in walk(body):
        if node.type != "identifier" or function.source.text(node) != name or inside(node, reset):
            continue
        if not any(inside(node, update) for update in updates):
            return True
    return False


def _read_after(function: Function, name: str, loop: Node) -> bool:
    return any(
        node.type in ("identifier", "field_identifier") and function.source.text(node) == name
        and node.start_byte > loop.end_byte
        for node in walk(function.body)
    )  # fmt: skip


def _written_before(function: Function, name: str, loop: Node) -> bool:
    source = function.source
    for node in walk(function.body):
        if node.end_byte > loop.start_byte:
            continue
        if node.type == "init_declarator" and source.text(node).split("=")[0].strip() == name:
            return True
        if node.type == "assignment_expression" and source.text(node).split("=")[0].strip() == name:
            return True
        if node.type == "call_expression" and source.text(node).replace(" ", "").startswith(f"Duplicate({name},"):
            return True
    return False


def find_uninitialised(program: Program) -> Sequence[Site]:
    """An accumulator that is added to before anything was written to it."""
    tensors = Tensors(program)
    sites = []
    for found in accumulations(program):
        declared = found.declaration
        if declared.kind != "local" or declared.initial is not None or found.loop is None:
            continue
        if any(
            written.operator == "=" and written.node.start_byte < found.node.start_byte
            for written in program.assignments(declared)
        ):
            continue
        declarators = declared.statement.children_by_field_name("declarator")
        place = next((d for d in declarators if declared.source.text(d) == declared.name), None)
        if place is not None and not declared.type.endswith("*"):
            zero = f"{declared.name} = {literal(declared.type, '0.0f') if declared.type != 'float' else '0.0f'}"
            if re.fullmatch(r"u?int\d*(?:_t)?|size_t", declared.type):
                zero = f"{declared.name} = 0"
            note = f"{declared.name} is added to, but never set."
            sites.append(site(declared.source, declared.statement, [replace(declared.source, place, zero)], note))
    identities = {"Add": "0.0f", "Max": "-__builtin_inff()", "Min": "__builtin_inff()", "Mul": "1.0f"}
    for call in vector_accumulations(program, tensors, tuple(identities)):
        function = call.function
        tensor = tensors.tensor(function, call.arguments[0])
        loops = loops_around(call.node, function)
        if tensor is None or not loops or tensor.declaration.kind != "local" or not tensor.element:
            continue
        if inside(tensor.declaration.statement, loops[0]) or "Buf" not in tensors.holder_type(tensor.holder, function):
            continue
        if any(
            write.node.start_byte < call.node.start_byte and write.node != call.node
            for write in writes_to(program, tensors, tensor.name, function)
        ):
            continue
        outer = [loop for loop in loops if not inside(tensor.declaration.statement, loop)][-1]
        count = tensors.read(function, call.arguments[3])
        held = tensors.elements_in_buffer(tensor.holder, function)
        text = call.text(3) if _known_before(program, function, count, outer) else (held[0] if held else None)
        if text is None:
            continue
        value = literal(tensor.element, identities[call.name])
        line = f"{namespace(call)}Duplicate({tensor.name}, {value}, {text});"
        note = f"{tensor.name} is added to, but never set."
        sites.append(site(call.source, call.node, [before(call.source, outer, line)], note))
    return sites


def _known_before(program: Program, function: Function, found: Expression, place: Node) -> bool:
    for name in found.names:
        declared = program.declaration(name, found.node or function.body, function.source)
        if declared is not None and declared.kind == "local" and declared.statement.start_byte > place.start_byte:
            return False
    return not any(above == place for above in ancestors(place))


REWRITES = (
    Rewrite(name="reduce-true-count", summary="reductions end at the true length", find=find_padded_count),
    Rewrite(name="reduce-identity", summary="maxima start at -inf, minima at +inf", find=find_identity),
    Rewrite(name="hoist-initialisation", summary="accumulators are set once, before the loop", find=find_reset_in_loop),
    Rewrite(
        name="initialise-accumulator", summary="accumulators are set before their first update", find=find_uninitialised
    ),
)

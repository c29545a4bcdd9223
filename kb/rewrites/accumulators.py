"""Accumulators that start anew with every tile, are overwritten by it, or never start at all."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.patterns import (
    accumulations,
    constant,
    is_zero,
    loop_body,
    loops_around,
    namespace,
    vector_accumulations,
    writes_to,
)
from kb.rewrite import Rewrite, Site, before, remove, replace, site
from kb.source import LOOPS, Function, Program, ancestors, bare_name, inside, walk
from kb.tensors import Tensors, literal

ACCUMULATING = ("Add", "Max", "Min", "Mul", "Axpy", "MulAddDst")


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
                if _read_in(function, name, body, statement, program, tensors) or not _read_after(
                    function, name, loop
                ):
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
    found = [one.node for one in accumulations(program) if one.name == name and one.function is function]
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
                if bare_name(call.source, argument) == name and _updates(
                    program, tensors, callee, inner, depth - 1
                ):
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
        if node.type == "call_expression" and source.text(node).replace(" ", "").startswith(
            f"Duplicate({name},"
        ):
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
            zero = (
                f"{declared.name} = {literal(declared.type, '0.0f') if declared.type != 'float' else '0.0f'}"
            )
            if re.fullmatch(r"u?int\d*(?:_t)?|size_t", declared.type):
                zero = f"{declared.name} = 0"
            note = f"{declared.name} is added to, but never set."
            sites.append(
                site(declared.source, declared.statement, [replace(declared.source, place, zero)], note)
            )
    identities = {
        "Add": "0.0f",
        "Axpy": "0.0f",
        "Max": "-__builtin_inff()",
        "Min": "__builtin_inff()",
        "Mul": "1.0f",
    }
    for call in vector_accumulations(program, tensors, tuple(identities)):
        function = call.function
        tensor = tensors.tensor(function, call.arguments[0])
        loops = loops_around(call.node, function)
        if tensor is None or not loops or tensor.declaration.kind != "local" or not tensor.element:
            continue
        if inside(tensor.declaration.statement, loops[0]) or "Buf" not in tensors.holder_type(
            tensor.holder, function
        ):
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
    return [*sites, *_unset_scalars(program, tensors), *_unset_for_callee(program, tensors)]


def _unset_scalars(program: Program, tensors: Tensors) -> list[Site]:
    """`x.SetValue(i, x.GetValue(i) + v)` in a loop, on a tensor of a TBuf that nothing sets before."""
    sites = []
    for call in program.calls():
        name, function = call.receiver, call.function
        if call.name != "SetValue" or len(call.arguments) != 2 or f"{name}.GetValue(" not in call.text(1):
            continue
        tensor = tensors.tensor(function, call.node.named_children[0].named_children[0])
        if tensor is None or tensor.declaration.kind != "local":
            continue
        if "Buf" not in tensors.holder_type(tensor.holder, function):
            continue
        loops = [
            loop
            for loop in loops_around(call.node, function)
            if not inside(tensor.declaration.statement, loop)
        ]
        held = tensors.elements_in_buffer(tensor.holder, function)
        writes = writes_to(program, tensors, name, function)
        written = any(write.node.start_byte < call.node.start_byte for write in writes)
        handed = any(
            other.node.start_byte < call.node.start_byte
            and any(bare_name(other.source, argument) == name for argument in other.arguments)
            for other in program.calls(function)
        )
        if not loops or held is None or written or handed or not tensor.element:
            continue
        if held[1] is not function and not _visible(program, function, held[0]):
            continue
        qualified = "AscendC::" if "AscendC::" in call.source.text(tensor.declaration.statement) else ""
        line = f"{qualified}Duplicate({name}, {literal(tensor.element, '0.0f')}, {held[0]});"
        note = f"{name} is added to, but never set."
        sites.append(site(call.source, call.node, [before(call.source, loops[-1], line)], note))
    return sites


def _unset_for_callee(program: Program, tensors: Tensors) -> list[Site]:
    """A tensor of a TBuf that only functions of ours add to, in a loop, with nothing that sets it."""
    sites = []
    for function in program.functions:
        source = function.source
        for declared in source.declarations:
            if declared.function is not function or declared.kind != "local":
                continue
            space, element, holder = tensors.kind(declared)
            if space != "local" or not tensors.holder_type(holder, function).startswith("TBuf"):
                continue
            if writes_to(program, tensors, declared.name, function):
                continue
            updates = _updates(program, tensors, function, declared.name)
            if not updates or _filled(program, tensors, function, declared.name, updates):
                continue
            loops = [
                loop for loop in loops_around(updates[0], function) if not inside(declared.statement, loop)
            ]
            held = tensors.elements_in_buffer(holder, function)
            if not loops or held is None or not _visible(program, function, held[0]):
                continue
            qualified = "AscendC::" if "AscendC::" in source.text(declared.statement) else ""
            line = f"{qualified}Duplicate({declared.name}, {literal(element, '0.0f')}, {held[0]});"
            note = f"{declared.name} is added to, but never set."
            sites.append(site(source, declared.statement, [before(source, loops[-1], line)], note))
    return sites


def _filled(program: Program, tensors: Tensors, function: Function, name: str, updates: list[Node]) -> bool:
    """Say whether a function that is handed the tensor before its first update writes it."""
    for call in program.calls(function):
        if call.node.start_byte >= updates[0].start_byte or call.receiver:
            continue
        if any(bare_name(call.source, argument) == name for argument in call.arguments):
            return True
    for callee in program.functions:
        inner = [
            callee.parameters[index][0]
            for call in program.callers(callee)
            if call.function is function
            for index, argument in enumerate(call.arguments)
            if bare_name(call.source, argument) == name
        ]
        if any(
            call.name in ("Duplicate", "DataCopy", "DataCopyPad", "Cast")
            for parameter in inner
            for call in writes_to(program, tensors, parameter, callee)
        ):
            return True
    return False


def _visible(program: Program, function: Function, text: str) -> bool:
    for name in re.findall(r"[A-Za-z_]\w*", text):
        declared = program.declaration(name, function.body.children[-1], function.source)
        if declared is not None and declared.kind == "local":
            return False
        if declared is None and any(d.name == name for s in program.sources.values() for d in s.declarations):
            return False
    return True


def find_overwritten(program: Program) -> Sequence[Site]:
    """A sum that starts at 0, is assigned in a loop and read behind it: the last tile is all that is left of it."""
    sites = []
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type != "assignment_expression" or node.parent is None or node.parent.parent is None:
                continue
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            name = bare_name(source, left) if left is not None else ""
            declared = program.declaration(name, node, source) if name else None
            loop = next(iter(loops_around(node, function)), None)
            if declared is None or right is None or sign is None or loop is None or source.text(sign) != "=":
                continue
            if declared.initial is None or not is_zero(expression(source, declared.initial, function)):
                continue
            if declared.type not in ("float", "double", "half") or inside(declared.statement, loop):
                continue
            if not _sums(program, source.text(right)) or name in expression(source, right, function).names:
                continue
            if node.parent.parent != loop_body(loop) or not _read_after(function, name, loop):
                continue
            used = [n for n in walk(loop) if n.type == "identifier" and source.text(n) == name and n != left]
            if used or len(program.assignments(declared)) != 1:
                continue
            note = f"{name} holds the last tile alone: each tile overwrites what the others found."
            sites.append(site(source, node, [replace(source, sign, "+=")], note))
    return sites


def _sums(program: Program, text: str) -> bool:
    """Say whether a value is what a tile's reduction left: read from a tensor, or handed back by a function that is."""
    if ".GetValue" in text:
        return True
    called = re.match(r"(?:this\s*->\s*)?(\w+)\s*\(", text)
    return called is not None and any(
        call.name.startswith(("Reduce", "Whole"))
        for function in program.functions
        if function.name == called.group(1)
        for call in program.calls(function)
    )


def _known_before(program: Program, function: Function, found: Expression, place: Node) -> bool:
    for name in found.names:
        declared = program.declaration(name, found.node or function.body, function.source)
        if (
            declared is not None
            and declared.kind == "local"
            and declared.statement.start_byte > place.start_byte
        ):
            return False
    return not any(above == place for above in ancestors(place))


REWRITES = (
    Rewrite(
        name="hoist-initialisation",
        summary="accumulators are set once, before the loop",
        find=find_reset_in_loop,
    ),
    Rewrite(
        name="accumulate-over-tiles", summary="tiles add to the sum, not replace it", find=find_overwritten
    ),
    Rewrite(
        name="initialise-accumulator",
        summary="accumulators are set before their first update",
        find=find_uninitialised,
    ),
)

"""Sums kept in half precision, casts with the wrong rounding, variances that cancel."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import expression
from kb.patterns import (
    Accumulation,
    accumulations,
    float_twin,
    fresh,
    loops_around,
    may_be_narrow,
    namespace,
    vector_accumulations,
)
from kb.rewrite import Edit, Rewrite, Site, before, remove, replace, site
from kb.source import Call, Function, Program, ancestors, inside, walk
from kb.tensors import NARROW, Tensors, statement_of

EXACT = {"half": 11, "bfloat16_t": 8, "float": 24}  # bits of significand
INTEGERS = ("int8_t", "uint8_t", "int16_t", "int32_t", "int64_t")


def find_narrow_scalar_sum(program: Program) -> Sequence[Site]:
    """A scalar sum kept in half, bfloat16 or the element type over a loop."""
    tensors = Tensors(program)
    sites: dict[int, Site] = {}
    for found in accumulations(program):
        declared, loop = found.declaration, found.loop
        if loop is None or declared.kind != "local" or not may_be_narrow(declared.type, found.function):
            continue
        if inside(declared.statement, loop) or id(declared) in sites:
            continue
        kind = declared.statement.child_by_field_name("type")
        if kind is None or len(declared.statement.children_by_field_name("declarator")) != 1:
            continue
        source = declared.source
        edits = [replace(source, kind, "float")]
        if declared.initial is not None:
            start = re.sub(
                rf"^static_cast<\s*{declared.type}\s*>", "static_cast<float>", source.text(declared.initial)
            )
            start = re.sub(rf"^\(\s*{declared.type}\s*\)", "(float)", start)
            if start != source.text(declared.initial):
                edits.append(replace(source, declared.initial, start))
        for other in accumulations(program):
            if other.declaration is declared:
                edits.extend(_widened(tensors, other))
        for call in program.calls(found.function):
            if call.name == "SetValue" and len(call.arguments) == 2:
                value = call.arguments[1]
                if source.text(value) == declared.name:
                    edits.append(replace(source, value, f"static_cast<{declared.type}>({declared.name})"))
        note = f"{declared.name} adds up in {declared.type}, which drops small addends."
        sites[id(declared)] = site(source, declared.statement, edits, note)
    return list(sites.values())


def _widened(tensors: Tensors, found: Accumulation) -> list[Edit]:
    """Casts to float around the elements and narrow names of what is added."""
    function, source, edits = found.function, found.function.source, []
    taken: list[Node] = []
    for node in walk(found.added):
        if any(inside(node, one) for one in taken):
            continue
        narrow = False
        if node.type == "call_expression":
            call = Call.of(function, node)
            if (
                call is not None
                and call.name in ("static_cast", "ToFloat")
                and call.template != found.declaration.type
            ):
                taken.append(node)
                continue
            if call is not None and call.name == "GetValue":
                target = node.child_by_field_name("function")
                holder = target.child_by_field_name("argument") if target is not None else None
                tensor = tensors.tensor(function, holder) if holder is not None else None
                narrow = tensor is None or may_be_narrow(tensor.element, function)
        elif node.type == "identifier":
            declared = tensors.program.declaration(source.text(node), node, source)
            narrow = (
                declared is not None
                and declared.name != found.name
                and may_be_narrow(declared.type, function)
            )
        if narrow:
            taken.append(node)
            edits.append(replace(source, node, f"static_cast<float>({source.text(node)})"))
    return edits


def find_narrow_vector_sum(program: Program) -> Sequence[Site]:
    """A vector sum kept in half over a loop, or a reduction of half values: the sum gets a float twin."""
    tensors = Tensors(program)
    sites = []
    for call in vector_accumulations(program, tensors):
        function, source = call.function, call.source
        total = tensors.tensor(function, call.arguments[0])
        added = call.arguments[2] if call.text(1) == call.text(0) else call.arguments[1]
        loops = loops_around(call.node, function)
        if total is None or not may_be_narrow(total.element, function) or not total.holder or not loops:
            continue
        outer = [loop for loop in loops if not inside(total.declaration.statement, loop)]
        if not outer or not _known_outside(program, function, call.arguments[3], outer[-1]):
            continue
        names = [fresh(function, name, program) for name in ("wideSumBuf", "wideTermBuf")]
        twins = [float_twin(program, tensors, total.holder, function, name) for name in names]
        if twins[0] is None or twins[1] is None:
            continue
        qualified, count = namespace(call), call.text(3)
        wide, term = fresh(function, "wideSum"), fresh(function, "wideTerm")
        opening = (
            f"{qualified}LocalTensor<float> {wide} = {names[0]}.Get<float>();\n"
            f"{qualified}LocalTensor<float> {term} = {names[1]}.Get<float>();\n"
            f"{qualified}Cast({wide}, {call.text(0)}, {qualified}RoundMode::CAST_NONE, {count});"
        )
        addition = (
            f"{qualified}Cast({term}, {source.text(added)}, {qualified}RoundMode::CAST_NONE, {count});\n"
            f"{qualified}Add({wide}, {wide}, {term}, {count});\n"
            f"{qualified}Cast({call.text(0)}, {wide}, {qualified}RoundMode::CAST_RINT, {count})"
        )
        indent = "\n" + source.indent(statement_of(call.node))
        edits = [*twins[0], *twins[1], before(source, outer[-1], opening)]
        edits.append(replace(source, call.node, addition.replace("\n", indent)))
        note = f"{total.name} adds up in {total.element}, which drops small addends."
        sites.append(site(source, call.node, edits, note))
    sites.extend(_narrow_reductions(program, tensors))
    return sites


def _narrow_reductions(program: Program, tensors: Tensors) -> list[Site]:
    sites = []
    for call in program.calls():
        if call.name != "ReduceSum" or call.receiver or len(call.arguments) != 4:
            continue
        function, source = call.function, call.source
        target, origin = (tensors.tensor(function, call.arguments[index]) for index in (0, 1))
        if (
            target is None
            or origin is None
            or not origin.holder
            or not may_be_narrow(origin.element, function)
        ):
            continue
        names = [fresh(function, name, program) for name in ("wideBuf", "wideWorkBuf")]
        twins = [float_twin(program, tensors, origin.holder, function, name) for name in names]
        if twins[0] is None or twins[1] is None:
            continue
        qualified, count = namespace(call), call.text(3)
        wide, work = fresh(function, "wide"), fresh(function, "wideWork")
        lines = (
            f"{qualified}LocalTensor<float> {wide} = {names[0]}.Get<float>();\n"
            f"{qualified}LocalTensor<float> {work} = {names[1]}.Get<float>();\n"
            f"{qualified}Cast({wide}, {call.text(1)}, {qualified}RoundMode::CAST_NONE, {count});\n"
            f"{qualified}ReduceSum({wide}, {wide}, {work}, {count});\n"
            f"{qualified}Cast({call.text(0)}, {wide}, {qualified}RoundMode::CAST_RINT, 1)"
        )
        indent = "\n" + source.indent(statement_of(call.node))
        edits = [*twins[0], *twins[1], replace(source, call.node, lines.replace("\n", indent))]
        note = f"{call.name} of {origin.name} adds up in {origin.element}, which drops small addends."
        sites.append(site(source, call.node, edits, note))
    return sites


def _known_outside(program: Program, function: Function, node: Node, loop: Node) -> bool:
    for name in expression(function.source, node, function).names:
        declared = program.declaration(name, node, function.source)
        if declared is not None and declared.kind == "local" and inside(declared.statement, loop):
            return False
    return True


def find_cast_mode(program: Program) -> Sequence[Site]:
    """Casts whose rounding does not fit: widening is exact, narrowing rounds half to even, to integers truncates."""
    tensors = Tensors(program)
    sites = []
    for call in program.calls():
        if call.name != "Cast" or call.receiver or len(call.arguments) < 4:
            continue
        one, two = (tensors.tensor(call.function, call.arguments[index]) for index in (0, 1))
        mode = call.text(2).rsplit("::", 1)[-1]
        if one is None or two is None or not mode.startswith("CAST_"):
            continue
        wanted = _mode(one.element, two.element, call.function)
        if (
            wanted is None
            or wanted == mode
            or (
                wanted == "CAST_RINT"
                and mode == "CAST_NONE"
                and one.element != "half"
                and one.element != "bfloat16_t"
            )
        ):
            continue
        text = call.text(2)[: -len(mode)] + wanted
        note = f"A cast from {two.element} to {one.element} wants {wanted}, not {mode}."
        sites.append(site(call.source, call.node, [replace(call.source, call.arguments[2], text)], note))
    return sites


def _mode(target: str, origin: str, function: Function) -> str | None:
    if origin in NARROW and target == "float":
        return "CAST_NONE"
    if target in NARROW and origin == "float":
        return "CAST_RINT"
    if origin == "float" and target in INTEGERS:
        return "CAST_TRUNC"
    if origin in ("float",) and may_be_narrow(target, function):
        return "CAST_RINT"
    if target == "float" and may_be_narrow(origin, function):
        return "CAST_NONE"
    return None


def find_cancelling_variance(program: Program) -> Sequence[Site]:
    """Variance as mean of squares minus square of the mean, over scalars read in one loop: a second loop instead."""
    sites = []
    every = list(accumulations(program))
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type != "binary_expression":
                continue
            read = expression(source, node, function)
            if read.op != "-" or read.arguments[1].op != "*" or read.arguments[0].op not in ("/", "*"):
                continue
            mean, again = read.arguments[1].arguments
            squares = read.arguments[0].arguments[0]
            if mean.key != again.key or mean.op != "name" or squares.op != "name":
                continue
            square = next((a for a in every if a.function is function and a.name == squares.value), None)
            if square is None or square.loop is None:
                continue
            product = expression(source, square.added, function)
            if product.op != "*" or product.arguments[0].key != product.arguments[1].key:
                continue
            loop, value = square.loop, product.arguments[0].text
            declared = program.declaration(mean.value, node, source)
            if declared is None or declared.kind != "local" or declared.statement.start_byte < loop.end_byte:
                continue
            body = loop.child_by_field_name("body")
            others = [a for a in every if a.function is function and inside(a.node, loop) and a is not square]
            statement = statement_of(node)
            if body is None or loop.parent != statement.parent:
                continue
            name = fresh(function, "centredSquares")
            copied = source.text(loop)
            for other in others:
                copied = copied.replace(source.text(statement_of(other.node)), "", 1)
            step = f"{name} += ({value} - {mean.value}) * ({value} - {mean.value});"
            copied = copied.replace(source.text(statement_of(square.node)), step, 1)
            copied = "\n".join(line for line in copied.split("\n") if line.strip())
            indent = source.indent(loop)
            lines = f"float {name} = 0.0f;\n" + copied.replace("\n" + indent, "\n")
            squares_node = next(n for n in walk(node) if source.text(n) == squares.value)
            minus = node.child_by_field_name("left")
            if minus is None:
                continue
            new = source.text(minus).replace(source.text(squares_node), name, 1)
            edits = [before(source, statement, lines), replace(source, node, new)]
            edits.extend(_without(function, square, squares_node))
            note = f"{source.text(node)} subtracts nearly equal numbers; squares of {value} - {mean.value} do not."
            if not any(
                above.type == "if_statement" for above in ancestors(loop) if inside(above, function.body)
            ):
                sites.append(site(source, node, edits, note))
    return sites


def _without(function: Function, square: Accumulation, use: Node) -> list[Edit]:
    """Edits that remove a sum nobody reads any more; () where something else still reads it."""
    source, declared = function.source, square.declaration
    for node in walk(function.body):
        if node.type == "identifier" and source.text(node) == square.name:
            known = inside(node, square.node) or inside(node, declared.statement) or node == use
            if not known:
                return []
    alone = len(declared.statement.children_by_field_name("declarator")) == 1 and declared.kind == "local"
    statement = statement_of(square.node)
    block = statement.parent
    if not alone or block is None or block.type != "compound_statement":
        return []
    return [remove(source, statement), remove(source, declared.statement)]


REWRITES = (
    Rewrite(name="sum-in-float", summary="scalar sums are kept in float", find=find_narrow_scalar_sum),
    Rewrite(name="vector-sum-in-float", summary="vector sums are kept in float", find=find_narrow_vector_sum),
    Rewrite(name="cast-mode", summary="casts round as the reference does", find=find_cast_mode),
    Rewrite(
        name="centred-variance",
        summary="the variance comes from centred values",
        find=find_cancelling_variance,
    ),
)

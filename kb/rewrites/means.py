"""Means and weighted means that divide by something else than what was added up."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import Expression, expression, factors
from kb.patterns import Accumulation, accumulations, fresh, loops_around, may_be_narrow
from kb.rewrite import Rewrite, Site, after, before, replace, site
from kb.rewrites.tiles import tile_loops
from kb.source import Function, Program, bare_name, inside, walk
from kb.tensors import Tensors, statement_of

FLOATING = re.compile(r"\b(?:float|half|bfloat16_t|double)\b|\d\.\d*f?|\.GetValue|\dF\b")
CORES = re.compile(r"(?i)GetBlockNum|block_?(?:num|dim)|core_?(?:num|count)|num_?(?:core|block)")
ONE = re.compile(r"1(?:\.0*)?[fFuUlL]*")


def find_wrong_divisor(program: Program) -> Sequence[Site]:
    """A mean divided by a padded length, by one core's share or by one tile."""
    tensors = Tensors(program)
    sites = []
    loops = list(tile_loops(program, tensors))
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type != "binary_expression":
                continue
            sign, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
            if (
                sign is None
                or right is None
                or source.text(sign) != "/"
                or not _floating(program, function, node)
            ):
                continue
            divisor = expression(source, right, function)
            base, note, variant = tensors.reader.unaligned(divisor), "the padded length", "padded"
            if base is None:
                base, note, variant = tensors.reader.through(divisor, _share), "one core's share", "share"
            if base is None:
                whole = next((loop.length for loop in loops if tensors.reader.same(divisor, loop.tile)), None)
                base, note, variant = whole, "one tile", "tile"
            if base is None:
                continue
            true = tensors.reader.accessible(base, function)
            if true is None or true == divisor.text:
                continue
            text = f"static_cast<float>({true})"
            order = ("padded", "share", "tile").index(variant)
            sites.append(
                site(
                    source, node, [replace(source, right, text)],
                    f"{source.text(node)} divides by {note}; the mean is over {true} elements.",
                    variant=variant, order=order,
                )
            )  # fmt: skip
    return sites


def _share(found: Expression) -> Expression | None:
    if found.op == "/" and CORES.search(found.arguments[1].key):
        numerator = found.arguments[0]
        return numerator if numerator.op == "name" else None
    return None


def _floating(program: Program, function: Function, node: Node) -> bool:
    source = function.source
    if FLOATING.search(source.text(node)):
        return True
    left = node.child_by_field_name("left")
    name = bare_name(source, left) if left is not None else ""
    declared = program.declaration(name, node, source) if name else None
    if declared is not None and (
        declared.type in ("float", "double", "half") or may_be_narrow(declared.type, function)
    ):
        return True
    parent = node.parent
    holder = parent.parent if parent is not None else None
    if parent is not None and parent.type == "init_declarator" and holder is not None:
        kind = holder.child_by_field_name("type")
        return kind is not None and source.text(kind) in ("float", "double")
    return False


def find_unweighted_divisor(program: Program) -> Sequence[Site]:
    """A sum of products divided by how many there were, where it should be divided by the sum of their weights.

    Two forms: a counter that grows by one beside the products, and a division by the number of loop rounds. Each factor
    of the products that has a name of its own is a candidate for the weight.
    """
    found = list(accumulations(program))
    sites: list[Site] = []
    for count in found:
        if count.sign == "+" and ONE.fullmatch(count.function.source.text(count.added)):
            sites.extend(_weigh_counter(program, count))
    for total in found:
        sites.extend(_weigh_division(program, total))
    return list(dict.fromkeys(sites))


def _weigh_counter(program: Program, count: Accumulation) -> list[Site]:
    source, block = count.function.source, statement_of(count.node).parent
    if block is None or count.declaration.type not in ("float", "double"):
        return []
    sites = []
    for order, weight in enumerate(_weights(program, count.function, block, count.node)):
        note = f"{count.name} counts the products, but a weighted mean divides by the sum of {weight}."
        edit = replace(source, count.added, weight)
        sites.append(site(source, count.node, [edit], note, variant=f"weight {weight}", order=order))
    return sites


def _weights(program: Program, function: Function, block: Node, at: Node) -> list[str]:
    """What may serve as a weight at a place: factors of products in a block, as names or as elements read."""
    source, names = function.source, []
    for node in walk(block):
        if node.type != "binary_expression":
            continue
        read = expression(source, node, function)
        if read.op != "*":
            continue
        for factor in factors(read):
            while factor.op.startswith("unary") and factor.arguments:
                factor = factor.arguments[0]
            if factor.op == "call" and ".GetValue" in factor.text:
                names.append(factor.text)
            declared = program.declaration(factor.value, at, source) if factor.op == "name" else None
            if declared is None or declared.kind != "local" or declared.statement.start_byte > at.start_byte:
                continue
            if declared.type in ("float", "double", "auto") or may_be_narrow(declared.type, function):
                names.append(factor.value)
    return list(dict.fromkeys(names))


def _weigh_division(program: Program, total: Accumulation) -> list[Site]:
    """`sum += w * v` in a loop and `sum / n` behind it."""
    function, source, loop = total.function, total.function.source, total.loop
    block = statement_of(total.node).parent
    read = expression(source, total.added, function)
    if loop is None or block is None or read.op != "*" or inside(total.declaration.statement, loop):
        return []
    sites = []
    for node in walk(function.body):
        if node.type != "binary_expression" or node.start_byte < loop.end_byte:
            continue
        quotient = expression(source, node, function)
        if quotient.op != "/" or quotient.arguments[0].value != total.name:
            continue
        right = node.child_by_field_name("right")
        divisor = quotient.arguments[1]
        if right is None or any(
            other.name == divisor.value for other in accumulations(program) if other.function is function
        ):
            continue  # the divisor is added up as well: the other form, or right already
        around = loops_around(total.node, function)
        outer = [above for above in around if not inside(total.declaration.statement, above)][-1]
        for order, weight in enumerate(_weights(program, function, block, total.node)):
            name = fresh(function, "weightSum")
            edits = [
                before(source, outer, f"float {name} = 0.0f;"),
                after(source, statement_of(total.node), f"{name} += static_cast<float>({weight});"),
                replace(source, right, name),
            ]
            note = f"{total.name} adds products up, but is divided by {divisor.text} and not by the sum of {weight}."
            sites.append(site(source, node, edits, note, variant=f"sum of {weight}", order=10 + order))
    return sites


REWRITES = (
    Rewrite(
        name="mean-true-divisor", summary="means divide by the number of elements", find=find_wrong_divisor
    ),
    Rewrite(
        name="weighted-mean-divisor",
        summary="weighted means divide by the sum of weights",
        find=find_unweighted_divisor,
    ),
)

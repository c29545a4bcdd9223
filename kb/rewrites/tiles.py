"""Tile loops whose last tile is treated as a full one, or left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.rewrite import Edit, Rewrite, Site, into, replace, site
from kb.source import Call, Function, Program, ancestors, bare_name, inside, walk
from kb.tensors import Tensors


@dataclass(frozen=True, kw_only=True, eq=False)
class TileLoop:
    """A loop over tiles: `length` elements in steps of `tile`, `start` is where the current tile begins.

    Attributes:
        counter: the loop variable.
        strided: the counter runs over elements (off += tile), not over tiles (i++).
        floor: where a floor quotient that bounds the loop is written; None for a bound that covers all.
    """

    function: Function
    node: Node
    body: Node
    counter: str
    length: Expression
    tile: Expression
    strided: bool
    floor: Expression | None = None


def tile_loops(program: Program, tensors: Tensors) -> Iterator[TileLoop]:
    """Yield the loops that walk a length in tiles."""
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type not in ("for_statement", "while_statement"):
                continue
            body, condition = node.child_by_field_name("body"), node.child_by_field_name("condition")
            if body is None or condition is None or body.type != "compound_statement":
                continue
            test = expression(source, condition, function)
            if test.op not in ("<", "!=") or test.arguments[0].op != "name":
                continue
            counter, bound = test.arguments[0].value, test.arguments[1]
            steps = _steps(function, node, counter)
            if len(steps) == 1 and steps[0] is not None:
                tile = steps[0]
                if tile.integer != 1:
                    yield TileLoop(
                        function=function, node=node, body=body, counter=counter, length=bound,
                        tile=tile, strided=True,
                    )  # fmt: skip
                    continue
            if len(steps) != 1:
                continue
            found = _quotient(tensors, bound)
            if found is not None:
                length, tile, floor = found
                yield TileLoop(
                    function=function, node=node, body=body, counter=counter, length=length, tile=tile,
                    strided=False, floor=floor,
                )  # fmt: skip


def _steps(function: Function, loop: Node, counter: str) -> list[Expression | None]:
    """How the counter moves in the loop: the stride, or None for ++."""
    steps: list[Expression | None] = []
    for node in walk(loop):
        if node.type == "update_expression":
            target = node.child_by_field_name("argument")
            if target is not None and bare_name(function.source, target) == counter:
                steps.append(None)
        elif node.type == "assignment_expression":
            target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if target is None or value is None or sign is None or bare_name(function.source, target) != counter:
                continue
            read = expression(function.source, value, function)
            if function.source.text(sign) == "+=":
                steps.append(None if read.integer == 1 else read)
            elif read.op == "+" and any(part.value == counter for part in read.arguments):
                steps.append(next(part for part in read.arguments if part.value != counter))
    return steps


def _quotient(
    tensors: Tensors, bound: Expression, depth: int = 4
) -> tuple[Expression, Expression, Expression | None] | None:
    """(length, tile, floor quotient or None) of a loop bound."""
    reader = tensors.reader
    rounded = reader.ceiling_quotient(bound)
    if rounded is not None:
        return rounded[0], rounded[1], None
    if bound.op == "/":
        return bound.arguments[0], bound.arguments[1], bound
    if bound.op == "?:" or depth == 0:
        return None
    deeper = reader.definition(bound)
    return _quotient(tensors, deeper, depth - 1) if deeper is not None else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Reach:
    """A function body the current tile's work is done in: the loop's own, or that of a function it calls."""

    function: Function
    body: Node
    counter: str


def reaches(program: Program, loop: TileLoop, depth: int = 2) -> Iterator[Reach]:
    """Yield where a tile is worked on, as far as the counter is handed down."""
    waiting = [(Reach(function=loop.function, body=loop.body, counter=loop.counter), depth)]
    seen = set()
    while waiting:
        reach, left = waiting.pop(0)
        yield reach
        if left == 0:
            continue
        for call in program.calls(reach.function):
            if not inside(call.node, reach.body):
                continue
            for callee in program.functions:
                if callee.name != call.name or len(callee.parameters) != len(call.arguments):
                    continue
                for index, argument in enumerate(call.arguments):
                    if bare_name(call.source, argument) == reach.counter and id(callee) not in seen:
                        seen.add(id(callee))
                        inner = Reach(function=callee, body=callee.body, counter=callee.parameters[index][0])
                        waiting.append((inner, left - 1))


def counts_of(program: Program, tensors: Tensors, loop: TileLoop, reach: Reach) -> Iterator[Node]:
    """Yield the places in a body where the tile length stands for the number of elements to work on."""
    own = {function.name for function in program.functions}
    source = reach.function.source

    def is_tile(node: Node) -> bool:
        return tensors.reader.same(expression(source, node, reach.function), loop.tile)

    for node in walk(reach.body):
        if node.type == "call_expression":
            call = Call.of(reach.function, node)
            if call is None or call.name in ("InitBuffer", "SetGlobalBuffer", "GetWithOffset", "Get"):
                continue
            if call.name == "static_cast" or (call.receiver and call.name not in own):
                continue
            first = 0 if call.name in own else 1
            for argument in call.arguments[first:]:
                if is_tile(argument) and not _guarded(reach, argument):
                    yield argument
        elif node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None:
                continue
            if right.type == "sizeof_expression" and is_tile(left) and not _guarded(reach, left):
                yield left
            elif left.type == "sizeof_expression" and is_tile(right) and not _guarded(reach, right):
                yield right
            elif (
                node.parent is not None
                and node.parent.type == "for_statement"
                and source.text(node).startswith(source.text(left))
                and left.type == "identifier"
                and is_tile(right)
                and not _guarded(reach, right)
            ):
                yield right  # a scalar loop over the tile


def _guarded(reach: Reach, node: Node) -> bool:
    """Say whether the place is reached only for some tiles already."""
    for above in ancestors(node):
        if above.start_byte <= reach.body.start_byte:
            return False
        if above.type in ("if_statement", "conditional_expression"):
            condition = above.child_by_field_name("condition")
            if condition is not None and any(
                n.type == "identifier" and reach.function.source.text(n) == reach.counter for n in walk(condition)
            ):
                return True
    return False


def fresh_name(function: Function, wanted: str) -> str:
    """A name the function does not use yet."""
    used = {function.source.text(n) for n in walk(function.node) if n.type == "identifier"}
    name, number = wanted, 2
    while name in used:
        name, number = f"{wanted}{number}", number + 1
    return name


def find_full_last_tile(program: Program) -> Sequence[Site]:
    """Counts of a tile loop that ignore that the last tile is shorter, floor loops that drop it."""
    tensors = Tensors(program)
    sites = []
    for loop in tile_loops(program, tensors):
        if loop.floor is not None and _tail_is_handled(program, tensors, loop):
            continue
        whole, tile = tensors.reader.number(loop.length), tensors.reader.number(loop.tile)
        if whole is not None and tile and whole % tile == 0:
            continue
        edits: list[Edit] = []
        first: Node | None = None
        for reach in reaches(program, loop):
            places = list(counts_of(program, tensors, loop, reach))
            if not places:
                continue
            length = tensors.reader.accessible(loop.length, reach.function)
            step = tensors.reader.accessible(loop.tile, reach.function)
            if length is None or step is None:
                continue
            source = reach.function.source
            begin = reach.counter if loop.strided else f"{reach.counter} * {_factor(loop.tile, step)}"
            rest = f"{_term(loop.length, length)} - {begin}"
            name = fresh_name(reach.function, "currentCount")
            line = f"const uint32_t {name} = static_cast<uint32_t>({rest} < {step} ? {rest} : {step});"
            edits.append(into(source, reach.body, line))
            edits.extend(replace(source, place, name) for place in places)
            first = first or places[0]
        if first is None:
            continue
        source = loop.function.source
        note = f"The last tile of {loop.length.text} elements is shorter than {loop.tile.text}."
        if loop.floor is not None and loop.floor.node is not None and loop.floor.function is not None:
            length, tile_text = _term(loop.length, loop.length.text), loop.tile.text
            edits.append(
                replace(
                    loop.floor.function.source, loop.floor.node,
                    f"(({length} + {tile_text} - 1) / {_factor(loop.tile, tile_text)})",
                )
            )  # fmt: skip
            note = f"{loop.floor.text} rounds down, so the last tile is never worked on."
        sites.append(site(source, loop.node, edits, note))
    return sites


def _tail_is_handled(program: Program, tensors: Tensors, loop: TileLoop) -> bool:
    """Say whether the file computes what a floor loop leaves over."""
    for function in program.functions:
        for node in walk(function.body):
            if node.type != "binary_expression":
                continue
            read = expression(function.source, node, function)
            if read.op == "%" and tensors.reader.same(read.arguments[1], loop.tile):
                return True
            if read.op == "-" and read.arguments[1].op == "*":
                inner = read.arguments[1].arguments
                if any(tensors.reader.same(part, loop.tile) for part in inner) and not any(
                    part.value == loop.counter for part in inner
                ):
                    return True
    return False


def _factor(found: Expression, text: str) -> str:
    return text if found.op in ("name", "number", "call") else f"({text})"


def _term(found: Expression, text: str) -> str:
    return f"({text})" if found.op in ("?:", "<", ">", "-") else text


REWRITES = (
    Rewrite(
        name="current-tile-count",
        summary="counts follow the current tile, the last one included",
        find=find_full_last_tile,
    ),
)

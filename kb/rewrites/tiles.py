"""Tile loops whose last tile is treated as a full one, or left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.patterns import fresh
from kb.rewrite import Edit, Rewrite, Site, after, into, replace, site
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
            if len(steps) != 1:
                continue
            # A step of the number of cores deals tiles out; any other step is the tile itself.
            dealt = steps[0] is None or tensors.reader.through(
                steps[0], lambda e: e if e.op == "call" and e.value == "GetBlockNum" else None
            )
            found = _quotient(tensors, bound) if dealt else None
            if steps[0] is not None and not dealt:
                yield TileLoop(
                    function=function, node=node, body=body, counter=counter, length=bound, tile=steps[0],
                    strided=True,
                )  # fmt: skip
            elif found is not None:
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
            if (
                target is None
                or value is None
                or sign is None
                or bare_name(function.source, target) != counter
            ):
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
        read = expression(source, node, reach.function)
        if read.op == "name" and read.key != loop.tile.key and reach.function is not loop.function:
            declared = program.declaration(read.value, node, source)
            if declared is not None and declared.kind == "parameter":
                return False  # its value is mended where it is handed in
        return tensors.reader.same(read, loop.tile)

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
        elif (
            node.type == "return_statement"
            and node.named_child_count == 1
            and reach.body == reach.function.body
        ):
            if reach.function is not loop.function and is_tile(node.named_children[0]):
                yield node.named_children[0]  # a helper that says how many elements a tile has
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
                n.type == "identifier" and reach.function.source.text(n) == reach.counter
                for n in walk(condition)
            ):
                return True
    return False


def _count_definition(program: Program, loop: TileLoop, reach: Reach, places: list[Node]) -> Node | None:
    """The value of the one local name all places use, where it is defined within the body; None otherwise."""
    source = reach.function.source
    reads = [expression(source, place, reach.function) for place in places]
    if not reads or any(read.op != "name" or read.key != reads[0].key for read in reads):
        return None
    declared = program.declaration(reads[0].value, places[0], source)
    if declared is None or declared.kind != "local" or declared.initial is None:
        return None
    if reads[0].key == loop.tile.key or not inside(declared.statement, reach.body):
        return None
    return declared.initial if not program.assignments(declared) else None


def find_full_start(program: Program) -> Sequence[Site]:
    """Counts beside a tile's start that is a multiple of the tile, where no loop over one axis shows it."""
    tensors = Tensors(program)
    known = list(_known_quotients(program, tensors))
    sites = []
    for function in program.functions if known else ():
        source = function.source
        for declared in source.declarations:
            if declared.function is not function or declared.kind != "local" or declared.initial is None:
                continue
            block = declared.statement.parent
            start = expression(source, declared.initial, function)
            if start.op != "*" or block is None or block.type != "compound_statement":
                continue
            for length, tile in known:
                if not any(tensors.reader.same(part, tile) for part in start.arguments):
                    continue
                loop = TileLoop(
                    function=function, node=block, body=block, counter=declared.name, length=length, tile=tile,
                    strided=True,
                )  # fmt: skip
                reach = Reach(function=function, body=block, counter=declared.name)
                every = counts_of(program, tensors, loop, reach)
                places = [place for place in every if place.start_byte > declared.statement.end_byte]
                held = tensors.reader.accessible(length, function)
                step = tensors.reader.accessible(tile, function)
                if not places or held is None or step is None or declared.name in length.names:
                    continue
                rest = f"{_term(length, held)} - {declared.name}"
                text = f"static_cast<uint32_t>({rest} < {step} ? {rest} : {step})"
                definition = _count_definition(program, loop, reach, places)
                if definition is not None and definition.start_byte > declared.statement.end_byte:
                    edits = [replace(source, definition, text)]
                else:
                    name = fresh(function, "currentCount")
                    edits = [after(source, declared.statement, f"const uint32_t {name} = {text};")]
                    edits += [replace(source, place, name) for place in places]
                note = (
                    f"The tile at {declared.name} may hold fewer than {tile.text} of {length.text} elements."
                )
                sites.append(site(source, places[0], edits, note, variant="start", order=1))
                break
    return sites


def find_floor_tiles(program: Program) -> Sequence[Site]:
    """A number of tiles that is rounded down although the last tile is held to what is left."""
    tensors = Tensors(program)
    held = [
        read
        for function in program.functions
        for node in walk(function.body)
        if node.type == "conditional_expression"
        and (read := expression(function.source, node, function)).op == "?:"
    ]
    sites = []
    for function in program.functions if held else ():
        source = function.source
        for node in walk(function.body):
            if node.type not in ("init_declarator", "assignment_expression"):
                continue
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            quotient = expression(source, value, function) if value is not None else None
            if value is None or quotient is None or quotient.op != "/":
                continue
            if tensors.reader.ceiling_quotient(quotient) is not None:
                continue
            length, tile = quotient.arguments
            size = tensors.reader.number(tile)
            if (size is None and tile.op not in ("name", "other")) or (size is not None and size < 2):
                continue
            # rest < tile ? rest : tile, in either order
            if not any(
                any(tensors.reader.same(part, tile) for part in choice.arguments[1:])
                and choice.arguments[0].op in ("<", ">", "<=", ">=")
                for choice in held
            ):
                continue
            text, step = _term(length, length.text), tile.text
            new = f"({text} + {step} - 1) / {_factor(tile, step)}"
            note = f"{quotient.text} rounds down, so the last tile is never worked on."
            sites.append(site(source, node, [replace(source, value, new)], note, variant="tiles", order=2))
    return sites


def _known_quotients(program: Program, tensors: Tensors) -> Iterator[tuple[Expression, Expression]]:
    """Every (length, tile) that is divided, rounded up, anywhere in the program."""
    seen = set()
    for function in program.functions:
        for node in walk(function.body):
            if node.type not in ("binary_expression", "call_expression"):
                continue
            found = tensors.reader.ceiling_quotient(expression(function.source, node, function))
            if found is not None and (found[0].key, found[1].key) not in seen:
                seen.add((found[0].key, found[1].key))
                yield found


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
            name = fresh(reach.function, "currentCount")
            line = f"const uint32_t {name} = static_cast<uint32_t>({rest} < {step} ? {rest} : {step});"
            definition = _count_definition(program, loop, reach, places)
            if definition is not None:
                edits.append(replace(source, definition, line.split(" = ", 1)[1].rstrip(";")))
            else:
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
    taken = {(edit.path, edit.start, edit.end) for found in sites for edit in found.edits}
    sites.extend(
        found
        for found in [*find_full_start(program), *find_floor_tiles(program)]
        if not any((edit.path, edit.start, edit.end) in taken for edit in found.edits)
    )
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

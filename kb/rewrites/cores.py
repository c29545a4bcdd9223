"""Work dealt out to cores with a remainder nobody does, or with a last share that reaches too far."""

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kb.expressions import Expression, expression, factors
from kb.patterns import fresh
from kb.reader import Reader
from kb.rewrite import Edit, Rewrite, Site, before, replace, site
from kb.source import Declaration, Function, Program, Source, walk
from kb.tensors import statement_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Share:
    """One core's share of a total, as it is defined.

    Attributes:
        value: the quotient in the definition.
        rounded_up: the share is a ceiling quotient.
        offsets: the products share × block index, where the share serves as a distance.
    """

    function: Function
    declaration: Declaration
    statement: Node
    value: Node
    total: Expression
    cores: Expression
    rounded_up: bool
    offsets: tuple[Node, ...]
    index: str


def _is_call(reader: Reader, found: Expression, name: str) -> bool:
    return reader.through(found, lambda e: e if e.op == "call" and e.value == name else None) is not None


def shares(program: Program) -> list[Share]:
    """Every definition of one core's share that is multiplied with the block index somewhere in its function."""
    reader = Reader(program)
    found = []
    for function in program.functions:
        for source, declared, value, statement in _definitions(program, function):
            read = expression(source, value, function)
            rounded = reader.ceiling_quotient(read)
            if rounded is not None:
                total, cores, up = rounded[0], rounded[1], True
            elif read.op == "/":
                total, cores, up = read.arguments[0], read.arguments[1], False
            else:
                continue
            if not _is_call(reader, cores, "GetBlockNum"):
                continue
            offsets, index = [], ""
            for node in walk(function.body):
                if node.type != "binary_expression" or node.start_byte < value.end_byte:
                    continue
                product = expression(source, node, function)
                if product.op != "*":
                    continue
                parts = factors(product)
                others = [part for part in parts if _is_call(reader, part, "GetBlockIdx")]
                if (
                    len(parts) == 2
                    and others
                    and any(part.op == "name" and part.value == declared.name for part in parts)
                ):
                    offsets.append(node)
                    index = others[0].text
            if offsets:
                found.append(
                    Share(
                        function=function, declaration=declared, statement=statement, value=value, total=total,
                        cores=cores, rounded_up=up, offsets=tuple(offsets), index=index,
                    )
                )  # fmt: skip
    return found


def _definitions(program: Program, function: Function) -> list[tuple[Source, Declaration, Node, Node]]:
    source, found = function.source, []
    for declared in source.declarations:
        if declared.function is function and declared.kind == "local" and declared.initial is not None:
            found.append((source, declared, declared.initial, declared.statement))
    names = {
        d.name: d for s in program.sources.values() for d in s.declarations if d.kind in ("member", "local")
    }
    for name in names:
        target = program.declaration(name, function.body.children[-1], source)
        if target is None:
            continue
        for written in program.assignments(target):
            if written.function is function and written.operator == "=" and written.value is not None:
                found.append((source, target, written.value, statement_of(written.node)))
    return found


def find_lost_remainder(program: Program) -> Sequence[Site]:
    """A total split by an integer quotient: the floor loses the remainder, the ceiling overshoots the end."""
    reader = Reader(program)
    sites = []
    for share in shares(program):
        function, source = share.function, share.function.source
        if _corrected(reader, share):
            continue
        total = share.total.text
        total = total if share.total.op in ("name", "call", "other") else f"({total})"
        cores, index, name = share.cores.text, share.index, share.declaration.name
        even = fresh(function, "coreShare")
        if share.rounded_up:
            rest = f"{total} - {even} * {index}"
            own = f"{even} * {index} >= {total} ? 0 : ({rest} < {even} ? {rest} : {even})"
            note = f"{name} is rounded up, so the last cores reach beyond {share.total.text}."
        else:
            own = f"{index} + 1 == {cores} ? {total} - {even} * {index} : {even}"
            note = f"{name} is rounded down, so no core works on the last {share.total.text} % {cores}."
        edits: list[Edit] = [
            before(source, share.statement, f"const auto {even} = {source.text(share.value)};"),
            replace(source, share.value, own),
        ]
        for offset in share.offsets:
            for node in walk(offset):
                if node.type in ("identifier", "field_expression") and _names(source, node, name):
                    edits.append(replace(source, node, even))
                    break
        sites.append(site(source, share.statement, edits, note))
    return sites


def _names(source: Source, node: Node, name: str) -> bool:
    text = source.text(node).replace(" ", "")
    return text in (name, f"this->{name}")


def _corrected(reader: Reader, share: Share) -> bool:
    """Say whether the function looks at the remainder or at the end of its share already."""
    function, source = share.function, share.function.source
    for node in walk(function.body):
        if node.type != "binary_expression":
            continue
        read = expression(source, node, function)
        if read.op == "%" and reader.same(read.arguments[0], share.total):
            return True
        if read.op in ("<", ">", "<=", ">=") and len(read.arguments) == 2:
            one, two = read.arguments
            for side, other in ((one, two), (two, one)):
                # Holding the start back is no correction of the length.
                if _mentions(side, share.total.key) and not _is_start(reader, share, other):
                    return True
        if read.op in ("==", "!=", "<") and any(
            argument.op == "-" and reader.same(argument.arguments[0], share.cores)
            for argument in read.arguments
        ):
            return True
        if read.op in ("==", "<", ">") and any(
            argument.op == "+" and _is_call(reader, argument.arguments[0], "GetBlockIdx")
            for argument in read.arguments
        ):
            return True
    return False


def _mentions(found: Expression, key: str) -> bool:
    return found.key == key or any(_mentions(argument, key) for argument in found.arguments)


def _is_start(reader: Reader, share: Share, found: Expression) -> bool:
    offsets = {expression(share.function.source, node, share.function).key for node in share.offsets}
    return found.key in offsets or any(value.key in offsets for value in reader.definitions(found))


REWRITES = (
    Rewrite(
        name="share-the-remainder",
        summary="the last core takes what an even split leaves over",
        find=find_lost_remainder,
    ),
)

"""Rows found at the wrong distance, and rows of a scatter that overwrite each other."""

from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import Expression, expression, factors, terms
from kb.fields import field_of, names_of, sibling
from kb.patterns import loops_around, namespace
from kb.reader import Reader
from kb.rewrite import Rewrite, Site, after, before, replace, site
from kb.source import Declaration, Function, Program, walk
from kb.tensors import Tensors, statement_of


def _padded_names(program: Program, reader: Reader) -> list[tuple[Declaration, Expression]]:
    """Names whose value is a length rounded up, with that length."""
    found = []
    for source in program.sources.values():
        for declared in source.declarations:
            at = declared.function.body if declared.function is not None else None
            values = [declared.initial] if declared.initial is not None else []
            function = declared.function
            reads = [expression(source, value, function) for value in values]
            reads += [
                expression(written.function.source, written.value, written.function)
                for written in program.assignments(declared)
                if written.value is not None and written.operator == "="
            ]
            if declared.kind == "parameter" and at is not None:
                reads += list(
                    reader.definitions(Expression("name", declared.name, (), declared.name, function, at))
                )
            bases = [reader.unaligned(read) for read in reads]
            if bases and all(base is not None for base in bases) and bases[0] is not None:
                found.append((declared, bases[0]))
    return found


def find_row_distance(program: Program) -> Sequence[Site]:
    """Rows are packed in global memory and padded in the unified buffer; an offset that mixes the two up."""
    tensors = Tensors(program)
    padded = _padded_names(program, tensors.reader)
    padded_fields = _padded_fields(tensors.reader)
    sites = []
    for function in program.functions if padded or padded_fields else ():
        source = function.source
        for node in walk(function.body):
            if node.type != "subscript_expression":
                continue
            tensor = tensors.tensor(function, node)
            if tensor is None or tensor.offset is None:
                continue
            for part in walk(tensor.offset):
                if part.parent is None or part.parent.type != "binary_expression":
                    continue
                outer = expression(source, part.parent, function)
                if outer.op != "*":
                    continue
                read = expression(source, part, function)
                wanted = _field_counterpart(read, tensor.space, padded_fields) or _counterpart(
                    program, tensors.reader, function, node, read, tensor.space, padded
                )
                if wanted is not None and wanted != source.text(part):
                    where = (
                        "packed in global memory"
                        if tensor.space == "global"
                        else "padded in the unified buffer"
                    )
                    note = f"Rows of {tensor.name} are {where}: {wanted} apart, not {source.text(part)}."
                    sites.append(
                        site(source, node, [replace(source, part, wanted)], note, variant=tensor.space,
                             order=0 if tensor.space == "global" else 1)
                    )  # fmt: skip
    return list(dict.fromkeys(sites))


def _padded_fields(reader: Reader) -> list[tuple[str, str]]:
    """Struct fields that hold a length rounded up, each with the fields that hold the length itself."""
    found: list[tuple[str, str]] = []
    for name, values in reader.fields.items():
        bases = [reader.unaligned(value) for value in values]
        for base in bases[:1]:
            if base is not None and all(other is not None for other in bases):
                found.extend(
                    (name, field) for field in sorted(names_of(reader.fields, base)) if field != name
                )
    return found


def _field_counterpart(read: Expression, space: str, padded: list[tuple[str, str]]) -> str | None:
    own = field_of(read)
    for wide, length in padded if own else ():
        if own == (wide if space == "global" else length):
            return sibling(read, length if space == "global" else wide)
    return None


def _counterpart(
    program: Program, reader: Reader, function: Function, at: Node, read: Expression, space: str,
    padded: list[tuple[Declaration, Expression]],
) -> str | None:  # fmt: skip
    if read.op not in ("name", "other") or (read.op == "other" and "(" in read.text):
        return None
    for declared, base in padded:
        visible = program.declaration(declared.name, at, function.source) is declared
        if space == "global":
            if visible and read.value == declared.name:
                return reader.accessible(base, function)
        elif (
            visible
            and read.value != declared.name
            and (reader.same(read, base) or reader.accessible(base, function) == read.text)
        ):
            return declared.name
    return None


def find_swapped_extent(program: Program) -> Sequence[Site]:
    """`x[i * R + j]` with i < R and j < C: a row is as long as the inner index runs, so the factor is C."""
    tensors = Tensors(program)
    sites = []
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            offset = None
            if node.type == "subscript_expression":
                tensor = tensors.tensor(function, node)
                offset = tensor.offset if tensor is not None else None
            elif node.type == "call_expression" and ".GetValue" in source.text(node):
                listed = node.child_by_field_name("arguments")
                offset = listed.named_children[0] if listed is not None and listed.named_child_count else None
            if offset is None:
                continue
            extents = _extents(function, node)
            read = expression(source, offset, function)
            parts = [term for sign, term in terms(read) if sign == 1]
            inner = [part for part in parts if part.op == "name" and part.value in extents]
            for product in (part for part in parts if part.op == "*"):
                outer = [f for f in factors(product) if f.op == "name" and f.value in extents]
                strides = [f for f in factors(product) if f not in outer]
                if len(outer) != 1 or len(strides) != 1 or len(inner) != 1 or strides[0].node is None:
                    continue
                own, other = extents[outer[0].value], extents[inner[0].value]
                if own.key == other.key or strides[0].key != own.key:
                    continue
                note = f"A row holds {other.text} elements, so row {outer[0].value} starts at a multiple of that."
                sites.append(site(source, node, [replace(source, strides[0].node, other.text)], note))
    return list(dict.fromkeys(sites))


def _extents(function: Function, node: Node) -> dict[str, Expression]:
    """The bounds of the counters of the loops around a place."""
    found = {}
    for loop in loops_around(node, function):
        condition = loop.child_by_field_name("condition")
        if condition is None:
            continue
        test = expression(function.source, condition, function)
        if test.op == "<" and test.arguments[0].op == "name":
            found[test.arguments[0].value] = test.arguments[1]
    return found


def find_overwriting_scatter(program: Program) -> Sequence[Site]:
    """Rows copied out to places read from an index tensor: equal indices overwrite each other instead of adding up."""
    tensors = Tensors(program)
    if any(call.name == "SetAtomicAdd" for call in program.calls()):
        return []
    sites = []
    for call in program.calls():
        if call.name not in ("DataCopy", "DataCopyPad") or len(call.arguments) < 3:
            continue
        function, source = call.function, call.source
        target = tensors.tensor(function, call.arguments[0])
        if target is None or target.space != "global" or target.offset is None or not target.element:
            continue
        if not loops_around(call.node, function) or not _from_memory(
            program, tensors, function, target.offset
        ):
            continue
        loaded = any(
            other.name in ("DataCopy", "DataCopyPad") and len(other.arguments) >= 3
            and other.text(1) == call.text(0)
            for other in program.calls(function)
        )  # fmt: skip
        if loaded:
            continue  # read, added to and written back: adds up already
        qualified, statement = namespace(call), statement_of(call.node)
        edits = [
            before(source, statement, f"{qualified}SetAtomicAdd<{target.element}>();"),
            after(source, statement, f"{qualified}SetAtomicNone();"),
        ]
        note = f"Rows of {target.name} are stored at places read from memory; equal places must add up."
        sites.append(site(source, call.node, edits, note))
    return sites


def _from_memory(program: Program, tensors: Tensors, function: Function, offset: Node) -> bool:
    source = function.source
    if ".GetValue" in source.text(offset):
        return True
    for name in expression(source, offset, function).names:
        declared = program.declaration(name, offset, source)
        if declared is not None and declared.initial is not None and declared.kind == "local":
            text = source.text(declared.initial)
            if ".GetValue" in text or _from_memory(program, tensors, function, declared.initial):
                return True
    return False


REWRITES = (
    Rewrite(name="row-distance", summary="packed rows outside, padded rows inside", find=find_row_distance),
    Rewrite(
        name="row-extent", summary="row offsets multiply with the length of a row", find=find_swapped_extent
    ),
    Rewrite(name="scatter-adds", summary="scattered rows add up atomically", find=find_overwriting_scatter),
)

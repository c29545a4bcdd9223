"""Elements where bytes are meant, and bytes where elements are meant; offsets that outgrow 32 bits."""

from collections.abc import Sequence

from tree_sitter import Node

from kb.expressions import Expression, expression, factors
from kb.rewrite import Edit, Rewrite, Site, replace, site
from kb.source import Declaration, Function, Program, Source, ancestors, bare_name, walk
from kb.tensors import Tensors

LENGTHS = ("DataCopyExtParams", "DataCopyParams")
NARROW_INTEGERS = ("int32_t", "uint32_t", "int", "unsigned", "unsigned int")

SIZES_IN_BYTES = (4, 32)  # 2 as well means "twice as many"
ONE_BYTE = ("uint8_t", "int8_t", "bool")


def _scaled(source: Source, node: Node) -> list[tuple[Node, Node]]:
    """(product, the other factor) of each `x * sizeof(T)` in an expression."""
    found = []
    for inner in walk(node):
        if inner.type != "binary_expression":
            continue
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        sign = inner.child_by_field_name("operator")
        if left is None or right is None or sign is None or source.text(sign) != "*":
            continue
        if right.type == "sizeof_expression":
            found.append((inner, left))
        elif left.type == "sizeof_expression":
            found.append((inner, right))
    return found


def _uses(program: Program, declared: Declaration) -> list[tuple[Function, Node]]:
    """Every reading of a declared name."""
    found = []
    for function in program.functions:
        for node in walk(function.body):
            if node.type != "identifier" or function.source.text(node) != declared.name:
                continue
            if program.declaration(declared.name, node, function.source) is declared:
                found.append((function, node))
    return found


def _is_index(node: Node) -> bool:
    """Say whether a place is part of an index: `x[…]`, or the first argument of GetValue or SetValue."""
    child = node
    for above in ancestors(node):
        if above.type == "subscript_argument_list":
            return True
        if above.type == "argument_list" and above.parent is not None:
            called = above.parent.child_by_field_name("function")
            field = called.child_by_field_name("field") if called is not None else None
            first = next(iter(above.named_children), None)
            return field is not None and field.text in (b"GetValue", b"SetValue") and first == child
        child = above
    return False


def find_byte_index(program: Program) -> Sequence[Site]:
    """An index of a tensor, or typed pointer arithmetic, that is multiplied by the size of an element."""
    tensors = Tensors(program)
    sites = []
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type == "subscript_expression":
                tensor = tensors.tensor(function, node)
                if tensor is None or tensor.offset is None:
                    continue
                edits = [
                    replace(source, whole, source.text(kept))
                    for whole, kept in _scaled(source, tensor.offset)
                ]
                edits.extend(_through_names(program, function, tensor.offset))
                if edits:
                    note = f"{source.text(node)} is indexed in bytes; a tensor's index counts elements."
                    sites.append(site(source, node, edits, note))
            elif node.type == "binary_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is None or right is None or left.type != "cast_expression":
                    continue
                kind = left.child_by_field_name("type")
                pointed = source.text(kind).replace("__gm__", "").replace(" ", "") if kind is not None else ""
                if not pointed.endswith("*") or pointed in ("uint8_t*", "int8_t*", "char*", "void*"):
                    continue
                edits = [replace(source, whole, source.text(kept)) for whole, kept in _scaled(source, right)]
                edits.extend(_through_names(program, function, right))
                if edits:
                    note = f"A pointer to {pointed[:-1]} advances by elements, not by bytes."
                    sites.append(site(source, node, edits, note))
    return sites


def _through_names(program: Program, function: Function, offset: Node) -> list[Edit]:
    """Edits of the definitions of names in an offset, where the names serve as offsets alone."""
    edits: list[Edit] = []
    for node in walk(offset):
        name = bare_name(function.source, node) if node.type in ("identifier", "field_expression") else ""
        declared = program.declaration(name, node, function.source) if name else None
        if declared is None or declared.kind == "global":
            continue
        values = [(declared.source, declared.initial)] if declared.initial is not None else []
        values += [(w.function.source, w.value) for w in program.assignments(declared) if w.value is not None]
        if declared.kind == "parameter" and declared.function is not None:
            place = [known for known, _ in declared.function.parameters].index(declared.name)
            values += [(call.source, call.arguments[place]) for call in program.callers(declared.function)]
        scaled = [(source, pair) for source, value in values for pair in _scaled(source, value)]
        if not scaled:
            continue
        used = [n for _, n in _uses(program, declared) if not _written_to(n)]
        if all(_is_index(n) or _beside_pointer(n) for n in used):
            edits += [replace(source, whole, source.text(kept)) for source, (whole, kept) in scaled]
    return edits


def _written_to(node: Node) -> bool:
    parent = node.parent
    if parent is not None and parent.type == "field_expression":
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type == "init_declarator":
        return True
    return parent.type == "assignment_expression" and parent.child_by_field_name("left") == node


def _beside_pointer(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "binary_expression":
        return False
    left = parent.child_by_field_name("left")
    return left is not None and left.type == "cast_expression"


def _bytes_known(tensors: Tensors, found: Expression, depth: int = 4) -> bool:
    """Say whether an expression already is in bytes (or nothing is known of it)."""
    if any(part in found.key for part in ("sizeof", "BLOCK")) or "byte" in found.key.lower():
        return True
    if found.op == "number":
        return True
    literal = found.op == "*" and any(factor.integer in SIZES_IN_BYTES for factor in factors(found))
    if literal and tensors.reader.unaligned(found) is None:
        return True  # `n * 4`: an element size, or a block, written as a number
    if depth:
        for value in tensors.reader.definitions(found):
            if value.op != "number" and _bytes_known(tensors, value, depth - 1):
                return True
    return any(
        _bytes_known(tensors, argument, depth - 1)
        for argument in found.arguments
        if depth and argument.op != "number"
    ) and (found.op not in ("*", "+", "-", "?:", "/"))


def find_element_length(program: Program) -> Sequence[Site]:
    """A block length of DataCopyPad that counts elements where bytes are asked for."""
    tensors = Tensors(program)
    sites = []
    for call in program.calls():
        if call.name != "DataCopyPad" or len(call.arguments) < 3:
            continue
        one, two = (tensors.tensor(call.function, call.arguments[index]) for index in (0, 1))
        element = (one.element if one else "") or (two.element if two else "")
        listed = _parameters(program, call.function, call.arguments[2])
        lengths = _lengths_by_field(program, call.function, call.arguments[2])
        if listed is not None and len(listed[2]) > 1:
            lengths.append((listed[0], listed[1], listed[2][1]))
        for source, function, length in lengths if element and element not in ONE_BYTE else ():
            read = expression(source, length, function)
            if _bytes_known(tensors, read):
                continue
            factor = read.text if read.op in ("name", "call") else f"({read.text})"
            new = f"static_cast<uint32_t>({factor} * sizeof({element}))"
            note = f"The block length {source.text(length)} of DataCopyPad counts elements; it is a number of bytes."
            sites.append(site(source, length, [replace(source, length, new)], note))
    return list(dict.fromkeys(sites))


def _lengths_by_field(
    program: Program, function: Function, node: Node
) -> list[tuple[Source, Function | None, Node]]:
    """The values that are assigned to the block length of a parameter block, `size.blockLen = …`."""
    name = bare_name(function.source, node)
    declared = program.declaration(name, node, function.source) if name else None
    found: list[tuple[Source, Function | None, Node]] = []
    if declared is None or not declared.type.endswith("Params"):
        return []
    local = declared.function if declared.kind == "local" else None
    for place in (local,) if local is not None else program.functions:
        for inner in walk(place.body):
            target, value = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            if inner.type != "assignment_expression" or target is None or value is None:
                continue
            if place.source.text(target).replace("this->", "") == f"{name}.blockLen" and (
                program.declaration(name, inner, place.source) is declared
            ):
                found.append((place.source, place, value))
    return found


def _parameters(
    program: Program, function: Function, node: Node
) -> tuple[Source, Function | None, list[Node]] | None:
    """The values a copy parameter block is made of."""
    source = function.source
    if node.type == "compound_literal_expression":
        listed = node.child_by_field_name("value")
        return (source, function, list(listed.named_children)) if listed is not None else None
    if node.type == "initializer_list":
        return source, function, list(node.named_children)
    if node.type == "call_expression":
        target, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if (
            target is not None
            and arguments is not None
            and source.text(target).rsplit("::", 1)[-1] in LENGTHS
        ):
            return source, function, list(arguments.named_children)
        return None
    name = bare_name(source, node)
    declared = program.declaration(name, node, source) if name else None
    if declared is None or declared.initial is None or not declared.type.endswith("Params"):
        return None
    if declared.initial.type in ("initializer_list", "argument_list"):
        return declared.source, declared.function, list(declared.initial.named_children)
    return None


def find_element_buffer(program: Program) -> Sequence[Site]:
    """A buffer made with a number of elements where InitBuffer asks for bytes."""
    tensors = Tensors(program)
    sites = []
    for call in program.calls():
        if call.name != "InitBuffer" or len(call.arguments) not in (2, 3):
            continue
        holder = bare_name(call.source, call.arguments[0])
        size = tensors.read(call.function, call.arguments[-1])
        if not holder or _bytes_known(tensors, size):
            continue
        element = ""
        for source in program.sources.values():
            for declared in source.declarations:
                space, kind, where = tensors.kind(declared)
                here = declared.owner == call.function.owner or declared.function is call.function
                if where == holder and space == "local" and here:
                    element = kind
        if element and element not in ONE_BYTE:
            factor = size.text if size.op in ("name", "call") else f"({size.text})"
            edit = replace(call.source, call.arguments[-1], f"{factor} * sizeof({element})")
            note = f"InitBuffer of {holder} asks for bytes; {size.text} counts elements."
            sites.append(site(call.source, call.node, [edit], note))
    return sites


def find_element_buffer_offset(program: Program) -> Sequence[Site]:
    """A part of a buffer taken at an offset in elements where GetWithOffset asks for bytes."""
    tensors = Tensors(program)
    sites = []
    for call in program.calls():
        if call.name != "GetWithOffset" or len(call.arguments) != 2 or not call.receiver:
            continue
        element, offset = call.template, tensors.read(call.function, call.arguments[1])
        if not element or element in ONE_BYTE or offset.op == "number" or _bytes_known(tensors, offset):
            continue
        factor = offset.text if offset.op in ("name", "call") else f"({offset.text})"
        edit = replace(call.source, call.arguments[1], f"{factor} * sizeof({element})")
        note = f"GetWithOffset takes its offset in bytes; {offset.text} counts elements."
        sites.append(site(call.source, call.node, [edit], note))
    return sites


def find_narrow_offset(program: Program) -> Sequence[Site]:
    """Products of 32-bit integers that serve as offsets into global memory."""
    tensors = Tensors(program)
    sites = []
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type != "subscript_expression":
                continue
            tensor = tensors.tensor(function, node)
            if tensor is None or tensor.space != "global" or tensor.offset is None:
                continue
            for product in (n for n in walk(tensor.offset) if n.type == "binary_expression"):
                read = expression(source, product, function)
                left = product.child_by_field_name("left")
                if read.op != "*" or left is None or left.type == "cast_expression" or "int64" in read.text:
                    continue
                if _narrow(program, function, read):
                    wide = f"static_cast<int64_t>({source.text(left)})"
                    sites.append(
                        site(
                            source, product, [replace(source, left, wide)],
                            f"{source.text(product)} is computed in 32 bits and may exceed them.",
                        )
                    )  # fmt: skip
            name = bare_name(source, tensor.offset)
            declared = program.declaration(name, tensor.offset, source) if name else None
            if declared is None or declared.initial is None or declared.type not in NARROW_INTEGERS:
                continue
            read = expression(declared.source, declared.initial, declared.function)
            kind = declared.statement.child_by_field_name("type")
            if (
                read.op == "*"
                and declared.function is not None
                and kind is not None
                and declared.kind == "local"
            ):
                left = declared.initial.child_by_field_name("left")
                if left is None or not _narrow(program, declared.function, read):
                    continue
                edits = [
                    replace(declared.source, kind, "int64_t"),
                    replace(declared.source, left, f"static_cast<int64_t>({declared.source.text(left)})"),
                ]
                note = f"{declared.name} holds an offset in 32 bits; large tensors need 64."
                sites.append(site(declared.source, declared.statement, edits, note))
    return list(dict.fromkeys(sites))


def _narrow(program: Program, function: Function, read: Expression) -> bool:
    """Say whether every name in a product is known to be a 32-bit integer, and there are two at least."""
    kinds = []
    for name in read.names:
        declared = program.declaration(name, read.node or function.body, function.source)
        kinds.append(declared.type if declared is not None else "")
    return len(kinds) >= 2 and all(kind in NARROW_INTEGERS for kind in kinds)


REWRITES = (
    Rewrite(name="index-in-elements", summary="tensor offsets count elements", find=find_byte_index),
    Rewrite(name="length-in-bytes", summary="DataCopyPad lengths count bytes", find=find_element_length),
    Rewrite(name="buffer-in-bytes", summary="InitBuffer sizes count bytes", find=find_element_buffer),
    Rewrite(name="part-at-bytes", summary="GetWithOffset counts bytes", find=find_element_buffer_offset),
    Rewrite(
        name="offset-in-64-bits", summary="offset products are computed in 64 bits", find=find_narrow_offset
    ),
)

"""What is known of the fields of tiling structs: the host computes them, the kernel reads them.

A field is known by its name alone: `t.cols` of the host and `tiling_->cols` of the kernel are the same field, as the
structs of one workspace are few. A proposal that mistakes one for another does not survive its trial.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.source import Function, Program, Source, plain_type, walk


def field_of(found: Expression) -> str:
    """The field that `a.b.field` or `a->field` reads; "" for anything else."""
    match = re.fullmatch(r"[A-Za-z_][\w.\->\[\]\s]*(?:\.|->)\s*([A-Za-z_]\w*)", found.text.strip())
    return match.group(1) if match and found.op == "other" else ""


def field_values(program: Program) -> dict[str, tuple[Expression, ...]]:
    """All values that each field is given: by assignment, or by position in a braced list of its struct."""
    found: dict[str, list[Expression]] = {}
    layouts = _layouts(program)
    for function in program.functions:
        source = function.source
        for node in walk(function.body):
            if node.type == "assignment_expression":
                _assigned(function, source, node, found)
                continue
            struct, listed = _braced(source, node)
            for name, value in zip(layouts.get(struct, ()), _items(listed), strict=False):
                found.setdefault(name, []).append(expression(source, value, function))
    return {name: tuple(values) for name, values in found.items()}


def _assigned(function: Function, source: Source, node: Node, found: dict[str, list[Expression]]) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if left is None or right is None or left.type != "field_expression":
        return
    name = field_of(expression(source, left, function))
    if name:
        plain = sign is not None and source.text(sign) == "="
        value = expression(source, right if plain else node, function)
        if field_of(value) != name:  # a copy of the field from another struct says nothing new
            found.setdefault(name, []).append(value)


def _layouts(program: Program) -> dict[str, list[str]]:
    """The fields of each struct, in order."""
    found: dict[str, list[str]] = {}
    for source in program.sources.values():
        seen: dict[str, list[str]] = {}
        for declared in source.declarations:
            if declared.kind == "member" and declared.owner:
                seen.setdefault(declared.owner, []).append(declared.name)
        for owner, names in seen.items():
            found.setdefault(owner, names)  # two files may declare one struct
    return found


def _braced(source: Source, node: Node) -> tuple[str, Node | None]:
    """(struct, list) of `S{…}`, `S name{…}` and `S name = {…}`."""
    if node.type == "compound_literal_expression":
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        return (plain_type(source.text(kind)), value) if kind is not None else ("", None)
    if node.type == "init_declarator" and node.parent is not None:
        kind, value = node.parent.child_by_field_name("type"), node.child_by_field_name("value")
        if kind is not None and value is not None and value.type == "initializer_list":
            return plain_type(source.text(kind)), value
    return "", None


def _items(listed: Node | None) -> Iterator[Node]:
    for child in listed.named_children if listed is not None else ():
        if child.type == "initializer_pair":
            return  # designated: the order says nothing
        if child.type != "comment":
            yield child


def names_of(values: dict[str, tuple[Expression, ...]], wanted: Expression) -> frozenset[str]:
    """The fields that hold a value of the host: the field it reads itself, and those that were given it."""
    own = field_of(wanted)
    given = {
        name
        for name, all_values in values.items()
        if all_values
        and all(value.key == wanted.key and value.function is wanted.function for value in all_values)
    }
    return frozenset(given | ({own} if own else set()))


def reads_in(function: Function) -> Iterator[Expression]:
    """Every field access in a function, in the order of the text."""
    for node in walk(function.body):
        if node.type == "field_expression":
            found = expression(function.source, node, function)
            if field_of(found):
                yield found


def sibling(found: Expression, name: str) -> str:
    """Another field of the same struct, written like `found`."""
    return re.sub(r"[A-Za-z_]\w*$", name, found.text.strip())

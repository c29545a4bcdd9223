"""Cores that read what others have not written yet, that miss a barrier, or that add to memory nobody cleared."""

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from kb.expressions import Expression, expression
from kb.reader import Reader
from kb.rewrite import Rewrite, Site, before, remove, replace, site
from kb.source import Call, Function, Program, bare_name, inside, walk
from kb.tensors import Tensors

COPIES = ("DataCopy", "DataCopyPad")
BARRIERS = ("SyncAll", "CrossCoreWaitFlag")
ALLOCATIONS = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
CLEARING = (
    "InitGlobalMemory", "InitOutput", "Fill", "zeros", "zeros_like", "zero_", "fill_", "clone", "copy_", "full",
    "full_like", "new_zeros", "new_full", "aclrtMemset", "aclrtMemsetAsync",
)  # fmt: skip


def find_missing_barrier(program: Program) -> Sequence[Site]:
    """Memory that all cores write (or add to atomically) and that is read with no barrier of all cores in between."""
    tensors = Tensors(program)
    sites = []
    for function in program.functions:
        for block in (node for node in walk(function.body) if node.type == "compound_statement"):
            written: set[str] = set()
            added: set[str] = set()
            for statement in block.named_children:
                calls = list(_calls_in(program, function, statement))
                if any(call.name in BARRIERS for call in calls):
                    written, added = set(), set()
                    continue
                read = _globals(tensors, calls, 1)
                late = read & (written if _one_core(program, function, statement) else added)
                if late:
                    qualified = "AscendC::" if "AscendC::" in function.source.text(function.body) else ""
                    note = f"{min(late)} is read here while other cores may still write it."
                    sites.append(
                        site(function.source, statement,
                             [before(function.source, statement, f"{qualified}SyncAll();")], note)
                    )  # fmt: skip
                now = _globals(tensors, calls, 0)
                written |= now
                if any(call.name == "SetAtomicAdd" for call in calls):
                    added |= now
    return list(dict.fromkeys(sites))


def _calls_in(program: Program, function: Function, place: Node, depth: int = 2) -> Iterator[Call]:
    """The calls within a place, with those of the functions of ours that it calls."""
    for call in program.calls(function):
        if not inside(call.node, place):
            continue
        yield call
        for callee in program.functions if depth and not call.receiver else ():
            if callee.name == call.name and callee is not function:
                yield from _calls_in(program, callee, callee.body, depth - 1)


def _globals(tensors: Tensors, calls: Sequence[Call], argument: int) -> set[str]:
    """The global tensors that copies write (argument 0) or read (argument 1)."""
    found = set()
    for call in calls:
        if call.name in COPIES and not call.receiver and len(call.arguments) > argument:
            tensor = tensors.tensor(call.function, call.arguments[argument])
            if tensor is not None and tensor.space == "global":
                found.add(tensor.name)
    return found


def _one_core(program: Program, function: Function, statement: Node) -> bool:
    """Say whether a statement is `if (<block index> == n)`."""
    condition = statement.child_by_field_name("condition") if statement.type == "if_statement" else None
    if condition is None:
        return False
    test = expression(function.source, condition, function)
    return test.op == "==" and any(_of_the_core(Reader(program), side) for side in test.arguments)


def _of_the_core(reader: Reader, found: Expression, depth: int = 4) -> bool:
    """Say whether a value differs from core to core."""
    if "GetBlockIdx" in found.text:
        return True
    if found.arguments:
        return any(_of_the_core(reader, part, depth) for part in found.arguments)
    return depth > 0 and any(_of_the_core(reader, value, depth - 1) for value in reader.definitions(found))


def find_missed_barrier(program: Program) -> Sequence[Site]:
    """A core that returns before a barrier which the others wait at."""
    reader = Reader(program)
    sites = []
    for function in program.functions:
        source = function.source
        barriers = [
            call.node
            for call in program.calls(function)
            if any(inner.name == "SyncAll" for inner in _calls_in(program, function, call.node))
        ]
        for node in walk(function.body):
            condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
            if node.type != "if_statement" or condition is None or body is None:
                continue
            if not re.fullmatch(r"\{?\s*return\s*;\s*\}?", source.text(body)):
                continue
            if not any(barrier.start_byte > node.end_byte for barrier in barriers):
                continue
            if _of_the_core(reader, expression(source, condition, function)):
                note = "A core that returns here never reaches the barrier at which all others wait."
                sites.append(site(source, node, [remove(source, node)], note))
    return sites


def find_uncleared(program: Program) -> Sequence[Site]:
    """Memory from `empty` to which a kernel adds atomically, with nothing that clears it."""
    everything = list(program.calls())
    used = {call.name for call in everything}
    # A method that nobody calls clears nothing.
    calls = [call for call in everything if not call.function.owner or call.function.name in used]
    if not any(call.name == "SetAtomicAdd" for call in calls) or any(call.name in CLEARING for call in calls):
        return []
    sites = []
    for call in calls:
        target = call.node.child_by_field_name("function")
        if call.name not in ALLOCATIONS or target is None:
            continue
        named = next(
            (n for n in walk(target) if n.type in ("identifier", "field_identifier")
             and bare_name(call.source, n) == call.name),
            None,
        )  # fmt: skip
        if named is not None:
            note = "The kernel adds to this memory, and nothing sets it to 0 before."
            edits = [replace(call.source, named, ALLOCATIONS[call.name])]
            sites.append(site(call.source, call.node, edits, note))
    return sites


REWRITES = (
    Rewrite(
        name="wait-for-all-cores", summary="a barrier before what others wrote", find=find_missing_barrier
    ),
    Rewrite(
        name="reach-the-barrier",
        summary="cores without work go to the barrier, too",
        find=find_missed_barrier,
    ),
    Rewrite(
        name="clear-before-adding", summary="memory for atomic additions starts at 0", find=find_uncleared
    ),
)

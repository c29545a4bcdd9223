"""Stages that are not ordered: EnQue and DeQue, FreeTensor, barriers, scalar writes to global memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kb.patterns import fresh, namespace
from kb.rewrite import Edit, Rewrite, Site, after, before, replace, site
from kb.source import Call, Declaration, Function, Program, inside, walk
from kb.tensors import Tensor, Tensors, statement_of

COPIES = ("DataCopy", "DataCopyPad")
BARRIERS = ("PipeBarrier", "SetFlag", "WaitFlag", "SyncAll")


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    """A local tensor variable that was taken from a queue: by AllocTensor or by DeQue."""

    function: Function
    declaration: Declaration
    queue: str
    element: str
    taken: str

    @property
    def block(self) -> Node | None:
        """The block the variable lives in."""
        return self.declaration.statement.parent


def held_tensors(program: Program, tensors: Tensors) -> Iterator[Held]:
    """Yield every variable that holds a tensor of a queue of ours."""
    for source in program.sources.values():
        for declared in source.declarations:
            if declared.kind != "local" or declared.initial is None or declared.function is None:
                continue
            if declared.initial.type != "call_expression":
                continue
            call = Call.of(declared.function, declared.initial)
            handed = _handed_out(program, tensors, call) if call is not None else None
            if handed is not None:
                element = tensors.kind(declared)[1]
                yield Held(
                    function=declared.function,
                    declaration=declared,
                    queue=handed,
                    element=element,
                    taken="DeQue",
                )
            if call is None or call.name not in ("AllocTensor", "DeQue") or not call.template:
                continue
            if "TQue" in tensors.holder_type(call.receiver, declared.function):
                yield Held(
                    function=declared.function, declaration=declared, queue=call.receiver, element=call.template,
                    taken=call.name,
                )  # fmt: skip


def _handed_out(program: Program, tensors: Tensors, call: Call) -> str | None:
    """The queue that a helper of ours was given and returns a dequeued tensor of; None for other calls."""
    for callee in program.functions:
        if callee.name != call.name or len(callee.parameters) != len(call.arguments):
            continue
        returned = [n for n in walk(callee.body) if n.type == "return_statement"]
        for index, (parameter, kind) in enumerate(callee.parameters):
            if "TQue" not in kind:
                continue
            taken = any(
                inner.receiver == parameter and inner.name == "DeQue" for inner in program.calls(callee)
            )
            queue = call.text(index)
            if taken and returned and "TQue" in tensors.holder_type(queue, call.function):
                return queue
    return None


def _used(program: Program, owner: str, receiver: str, name: str) -> bool:
    """Say whether a class calls receiver.name anywhere, or might through a queue handed on."""
    for call in program.calls():
        if call.name != name or call.function.owner != owner:
            continue
        if call.receiver == receiver or any(call.receiver == p for p, _ in call.function.parameters):
            return True
    return False


def _in_block(node: Node, block: Node) -> Node:
    """The statement of a block that holds a node."""
    current = node
    while current.parent is not None and current.parent != block:
        current = current.parent
    return current


def _copies(program: Program, held: Held, index: int) -> list[Call]:
    name = held.declaration.name
    found = []
    for call in program.calls(held.function):
        if call.name in COPIES and len(call.arguments) >= 3 and not call.receiver:
            argument = call.text(index).replace(" ", "")
            ours = argument == name or argument.startswith(f"{name}[")
            if ours and held.block is not None and inside(call.node, held.block):
                found.append(call)
    return found


def find_missing_exchange(program: Program) -> Sequence[Site]:
    """A tensor of a queue that is copied and used with no EnQue and DeQue between."""
    tensors = Tensors(program)
    sites = []
    for held in held_tensors(program, tensors):
        owner, source, name = held.function.owner, held.function.source, held.declaration.name
        if held.taken != "AllocTensor" or held.block is None:
            continue
        enqueued, dequeued = (_used(program, owner, held.queue, call) for call in ("EnQue", "DeQue"))
        if enqueued:
            continue
        template = (
            "template " if source.text(held.declaration.initial or held.block).find(".template") >= 0 else ""
        )
        exchange = f"{held.queue}.EnQue({name});\n{name} = {held.queue}.{template}DeQue<{held.element}>();"
        inbound, outbound = _copies(program, held, 0), _copies(program, held, 1)
        if dequeued:
            last = _last_statement(held.block)
            if last is not None:
                note = f"{name} is taken from {held.queue} by DeQue elsewhere, but nobody enqueues it."
                edit = after(source, last, f"{held.queue}.EnQue({name});")
                sites.append(site(source, held.declaration.statement, [edit], note))
        elif inbound:
            place = _in_block(inbound[-1].node, held.block)
            note = f"{name} is used before the copy into it is known to have ended."
            sites.append(site(source, inbound[-1].node, [after(source, place, exchange)], note))
        elif outbound:
            place = _in_block(outbound[0].node, held.block)
            note = f"{name} is copied out before the computation of it is known to have ended."
            sites.append(site(source, outbound[0].node, [before(source, place, exchange)], note))
    return sites


def _last_statement(block: Node) -> Node | None:
    statements = [n for n in block.named_children if n.type not in ("comment", "return_statement")]
    return statements[-1] if statements else None


def find_missing_free(program: Program) -> Sequence[Site]:
    """A tensor of a queue that is never given back."""
    tensors = Tensors(program)
    sites = []
    for held in held_tensors(program, tensors):
        source, name, block = held.function.source, held.declaration.name, held.block
        if block is None or _used(program, held.function.owner, held.queue, "FreeTensor"):
            continue
        if held.taken == "AllocTensor" and _used(program, held.function.owner, held.queue, "EnQue"):
            continue  # handed on: whoever dequeues it gives it back
        last = _last_statement(block)
        returned = any(
            node.type == "return_statement" and name in source.text(node) for node in walk(held.function.body)
        )
        if last is None or returned:
            continue
        edit = after(source, last, f"{held.queue}.FreeTensor({name});")
        note = f"{name} is never given back to {held.queue}, so the queue runs out of buffers."
        sites.append(site(source, held.declaration.statement, [edit], note))
    return sites


def find_unordered_buffer(program: Program) -> Sequence[Site]:
    """A TBuf that is copied into or out of with nothing that waits for the copy or the computation."""
    tensors = Tensors(program)
    sites = []
    for function in program.functions:
        calls = list(program.calls(function))
        if any(call.name in BARRIERS for call in calls):
            continue
        for call in calls:
            if call.name not in COPIES or len(call.arguments) < 3:
                continue
            one, two = (tensors.tensor(function, call.arguments[index]) for index in (0, 1))
            if one is None or two is None:
                continue
            source, line = call.source, f"{namespace(call)}PipeBarrier<PIPE_ALL>();"
            if _buffered(tensors, function, one) and two.space == "global":
                note = f"{one.name} lies in a TBuf, which does not wait for the copy into it."
                sites.append(site(source, call.node, [after(source, statement_of(call.node), line)], note))
            elif _buffered(tensors, function, two) and one.space == "global":
                note = f"{two.name} lies in a TBuf; the copy out does not wait for its computation."
                edits = [
                    before(source, statement_of(call.node), line),
                    after(source, statement_of(call.node), line),
                ]
                sites.append(site(source, call.node, edits, note))
    return sites


def _buffered(tensors: Tensors, function: Function, tensor: Tensor) -> bool:
    return tensor.space == "local" and tensors.holder_type(tensor.holder, function).startswith("TBuf")


def find_scalar_store(program: Program) -> Sequence[Site]:
    """GlobalTensor.SetValue: the value goes through a cache of 64-byte lines and may never land."""
    tensors = Tensors(program)
    sites = []
    made = [call for call in program.calls() if call.name == "InitBuffer" and call.receiver]
    for call in program.calls():
        if call.name != "SetValue" or len(call.arguments) != 2:
            continue
        function, source = call.function, call.source
        target = call.node.child_by_field_name("function")
        holder = target.child_by_field_name("argument") if target is not None else None
        tensor = tensors.tensor(function, holder) if holder is not None else None
        if tensor is None or tensor.space != "global" or tensor.offset is not None or not tensor.element:
            continue
        first = next((other for other in made if other.function.owner == function.owner), None)
        buffer = program.declaration(first.text(0), first.node, first.source) if first is not None else None
        if first is None or buffer is None:
            continue
        name, local = fresh(function, "scalarOutBuf", program), fresh(function, "scalarOut")
        qualified = "AscendC::" if "AscendC::" in buffer.source.text(buffer.statement) else ""
        size = f"static_cast<uint32_t>(sizeof({tensor.element}))"
        block = "\n".join(
            (
                "{",
                f"    {qualified}LocalTensor<{tensor.element}> {local} = {name}.Get<{tensor.element}>();",
                f"    {local}.SetValue(0, {call.text(1)});",
                f"    {qualified}PipeBarrier<PIPE_ALL>();",
                f"    {qualified}DataCopyPad({tensor.name}[{call.text(0)}], {local},",
                f"        {qualified}DataCopyExtParams{{1, {size}, 0, 0, 0}});",
                f"    {qualified}PipeBarrier<PIPE_ALL>();",
                "}",
            )
        ).replace("\n", "\n" + source.indent(statement_of(call.node)))
        edits: list[Edit] = [
            after(buffer.source, buffer.statement, f"{qualified}TBuf<{qualified}TPosition::VECCALC> {name};"),
            after(first.source, statement_of(first.node), f"{first.receiver}.InitBuffer({name}, 32);"),
            replace(source, statement_of(call.node), block),
        ]
        note = f"{tensor.name}.SetValue writes through a cache; the value may not reach memory."
        sites.append(site(source, call.node, edits, note))
    return sites


def find_queue_position(program: Program) -> Sequence[Site]:
    """A queue at the input position whose tensors are copied out only."""
    tensors = Tensors(program)
    copied: dict[int, list[bool]] = {}
    queues: dict[int, Declaration] = {}
    for held in held_tensors(program, tensors):
        queue = program.declaration(held.queue, held.function.body.children[-1], held.function.source)
        if queue is None or queue.kind == "parameter" or "VECIN" not in queue.type:
            continue
        queues[id(queue)] = queue
        ways = copied.setdefault(id(queue), [])
        ways.extend([True] * len(_copies(program, held, 1)) + [False] * len(_copies(program, held, 0)))
    sites = []
    for key, ways in copied.items():
        queue = queues[key]
        kind = queue.statement.child_by_field_name("type")
        if ways and all(ways) and kind is not None:
            new = queue.source.text(kind).replace("VECIN", "VECOUT")
            note = f"Tensors of {queue.name} are copied out only; its position should be VECOUT."
            sites.append(site(queue.source, queue.statement, [replace(queue.source, kind, new)], note))
    return sites


REWRITES = (
    Rewrite(name="queue-exchange", summary="EnQue and DeQue order copy and use", find=find_missing_exchange),
    Rewrite(name="queue-position", summary="output queues stand at VECOUT", find=find_queue_position),
    Rewrite(name="free-tensor", summary="tensors go back to their queue", find=find_missing_free),
    Rewrite(
        name="barrier-around-buffer", summary="barriers order copies of a TBuf", find=find_unordered_buffer
    ),
    Rewrite(
        name="scalar-store-by-copy", summary="scalars reach memory by DataCopyPad", find=find_scalar_store
    ),
)

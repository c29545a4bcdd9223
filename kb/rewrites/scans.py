"""Running sums that are kept more exactly than the reference keeps them."""

from collections.abc import Sequence

from kb.expressions import expression
from kb.patterns import accumulations, loops_around, may_be_narrow, namespace, vector_accumulations
from kb.rewrite import Rewrite, Site, after, site
from kb.source import Call, Program, Source, inside, walk
from kb.tensors import Tensors, statement_of

WIDE = ("float", "double")


def find_exact_scan(program: Program) -> Sequence[Site]:
    """A float running sum whose steps are stored in a narrower type, without taking the rounded step back."""
    return [*_vector_sites(program), *_scalar_sites(program)]


def _vector_sites(program: Program) -> list[Site]:
    tensors = Tensors(program)
    sites = []
    for call in vector_accumulations(program, tensors):
        function, source = call.function, call.source
        total = tensors.tensor(function, call.arguments[0])
        if total is None or total.element not in WIDE:
            continue
        block = statement_of(call.node).parent
        persistent = total.declaration.kind in ("parameter", "member") or any(
            not inside(total.declaration.statement, loop) for loop in loops_around(call.node, function)
        )
        if not persistent or block is None:
            continue
        casts = [
            other
            for other in program.calls(function)
            if other.name == "Cast" and len(other.arguments) == 4 and statement_of(other.node).parent == block
        ]
        stored = next(
            (
                other
                for other in casts
                if other.node.start_byte > call.node.end_byte and other.text(1) == call.text(0)
            ),
            None,
        )
        if stored is None or any(
            other.text(0) == call.text(0) and other.text(1) == stored.text(0) for other in casts
        ):
            continue
        narrow = tensors.tensor(function, stored.arguments[0])
        if narrow is None or not may_be_narrow(narrow.element, function):
            continue
        qualified = namespace(stored)
        mode = stored.text(2).rsplit("::", 1)[0]
        line = f"{qualified}Cast({stored.text(1)}, {stored.text(0)}, {mode}::CAST_NONE, {stored.text(3)});"
        note = f"{total.name} stays more exact than the {narrow.element} steps that are stored."
        sites.append(site(source, stored.node, [after(source, statement_of(stored.node), line)], note))
    return sites


def _scalar_sites(program: Program) -> list[Site]:
    tensors = Tensors(program)
    sites = []
    for found in accumulations(program):
        function, source, loop = found.function, found.function.source, found.loop
        if loop is None or inside(found.declaration.statement, loop):
            continue
        for call in program.calls(function):
            if call.name != "SetValue" or len(call.arguments) != 2 or not inside(call.node, loop):
                continue
            if call.node.start_byte < found.node.start_byte or loops_around(call.node, function)[:1] != [
                loop
            ]:
                continue
            receiver = call.node.child_by_field_name("function")
            holder = receiver.child_by_field_name("argument") if receiver is not None else None
            target = tensors.tensor(function, holder) if holder is not None else None
            if target is None or not may_be_narrow(target.element, function):
                continue
            value = expression(source, call.arguments[1], function)
            if found.name not in value.names or value.names - {found.name, "ToBfloat16", "Cast"}:
                continue
            if found.declaration.type not in WIDE and "float" not in _alias(source, found.declaration.type):
                continue  # the sum rounds with every step already
            text = call.text(1)
            if text == found.name:
                text = f"static_cast<{target.element}>({text})"
            back = f"ToFloat({text})" if text.startswith("ToBfloat16") else f"static_cast<float>({text})"
            statement = statement_of(call.node)
            if _taken_back(found.name, source.text(found.node), call):
                continue
            line = f"{found.name} = {back};"
            note = f"{found.name} stays more exact than the {target.element} steps that are stored."
            sites.append(site(source, call.node, [after(source, statement, line)], note))
    return list(dict.fromkeys(sites))


def _alias(source: Source, name: str) -> str:
    """What `using name = …;` says; "" without one."""
    for node in walk(source.root):
        if node.type == "alias_declaration" and source.text(node).startswith(f"using {name} "):
            return source.text(node)
    return ""


def _taken_back(name: str, update: str, call: Call) -> bool:
    """Say whether the sum is rounded in its update, or assigned again before the loop goes on."""
    if any(word in update for word in ("half", "bfloat16", "ToBfloat16")):
        return True
    block = statement_of(call.node).parent
    if block is None:
        return False
    for node in walk(block):
        if node.type == "assignment_expression" and node.start_byte > call.node.end_byte:
            left = node.child_by_field_name("left")
            if left is not None and call.source.text(left) == name:
                return True
    return False


REWRITES = (
    Rewrite(
        name="round-each-step",
        summary="a running sum takes back each step as it was rounded",
        find=find_exact_scan,
    ),
)

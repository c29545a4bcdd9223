"""Copies between global memory and the unified buffer whose size is no whole number of 32-byte blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb.expressions import Expression
from kb.patterns import namespace
from kb.rewrite import Rewrite, Site, replace, site
from kb.source import Call, Program
from kb.tensors import Tensor, Tensors

BLOCK = 32  # bytes of a DataCopy block (research/ascendc.md)
SIZES = {
    "half": 2,
    "bfloat16_t": 2,
    "float": 4,
    "int32_t": 4,
    "uint32_t": 4,
    "int64_t": 8,
    "int8_t": 1,
    "uint8_t": 1,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Copy:
    """A DataCopy by element count between global memory and a local tensor."""

    call: Call
    target: Tensor
    origin: Tensor
    count: Expression

    @property
    def inbound(self) -> bool:
        """Global memory to unified buffer."""
        return self.target.space == "local"

    @property
    def element(self) -> str:
        """The element type, from whichever side knows it."""
        return self.target.element or self.origin.element


def counted_copies(program: Program, tensors: Tensors) -> Iterator[Copy]:
    """Yield every DataCopy(dst, src, count) that crosses between global and local memory."""
    for call in program.calls():
        if call.name != "DataCopy" or call.receiver or len(call.arguments) != 3:
            continue
        target = tensors.tensor(call.function, call.arguments[0])
        origin = tensors.tensor(call.function, call.arguments[1])
        if target is None or origin is None or target.space == origin.space:
            continue
        count = tensors.read(call.function, call.arguments[2])
        if count.op == "name":
            declared = program.declaration(count.value, call.node, call.source)
            if declared is not None and declared.type.endswith("Params"):
                continue
        if call.arguments[2].type == "initializer_list" or (
            count.op == "call" and count.value.endswith("Params")
        ):
            continue
        yield Copy(call=call, target=target, origin=origin, count=count)


def padded(copy: Copy, count: str) -> str:
    """The same copy as a DataCopyPad of `count` elements; inbound padding lanes become zero."""
    qualified = namespace(copy.call)
    element = copy.element
    size = f"{count} * sizeof({element})"
    extent = f"{qualified}DataCopyExtParams{{1, static_cast<uint32_t>({size}), 0, 0, 0}}"
    target, origin = copy.call.text(0), copy.call.text(1)
    indent = copy.call.source.indent(copy.call.node) + "    "
    if not copy.inbound:
        return f"{qualified}DataCopyPad({target}, {origin},\n{indent}{extent})"
    lanes = f"static_cast<uint8_t>(({BLOCK} - {size} % {BLOCK}) % {BLOCK} / sizeof({element}))"
    filling = f"{qualified}DataCopyPadExtParams<{element}>{{true, 0, {lanes}, static_cast<{element}>(0)}}"
    return f"{qualified}DataCopyPad({target}, {origin},\n{indent}{extent},\n{indent}{filling})"


def whole_blocks(tensors: Tensors, copy: Copy) -> bool:
    """Say whether the size is known to be a whole number of blocks at compile time."""
    number = tensors.reader.number(copy.count)
    return number is not None and number * SIZES.get(copy.element, 2) % BLOCK == 0


def parenthesised(found: Expression, text: str) -> str:
    """`text` ready to be a factor."""
    simple = found.op in ("name", "number", "call") or text.startswith("static_cast")
    return text if simple else f"({text})"


def find_unaligned(program: Program) -> Sequence[Site]:
    """DataCopy by a count that nobody promises to be whole blocks."""
    tensors = Tensors(program)
    sites = []
    for copy in counted_copies(program, tensors):
        if not copy.element or whole_blocks(tensors, copy):
            continue
        count = copy.count
        text = copy.call.text(2)
        true = tensors.reader.unaligned(count)
        note = f"DataCopy of {' '.join(text.split())} elements moves whole {BLOCK}-byte blocks only."
        if true is not None:
            spelled = tensors.reader.accessible(true, copy.call.function)
            if spelled is None:
                continue
            note = f"DataCopy of the rounded-up length {' '.join(text.split())} reaches beyond {spelled} elements."
            text, count = spelled, true
        new = padded(copy, parenthesised(count, text))
        sites.append(
            site(copy.call.source, copy.call.node, [replace(copy.call.source, copy.call.node, new)], note)
        )
    return sites


REWRITES = (
    Rewrite(
        name="datacopy-to-pad",
        summary="DataCopy by count becomes DataCopyPad by bytes",
        find=find_unaligned,
    ),
)

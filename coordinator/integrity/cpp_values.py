"""Abstract values of host-side C++: which tensor a variable, a pointer or a struct comes from."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

_NONE: frozenset[str] = frozenset()

INPUT = "input"  # a tensor that Python passed in
FRESH = "fresh"  # a tensor allocated here, on the device
STAGING = "staging"  # a tensor allocated here on the CPU, for tilings and pointer tables
EXPANDED = "expanded"
TRANSPOSED = "transposed"
COMPUTED = "computed"
STATIC = "static"  # lives between calls
ON_DEVICE = "on-device"  # TensorOptions or a device that came from a tensor or names the NPU
ON_HOST = "on-host"  # TensorOptions that name the CPU
ELEMENT = "element"  # one element of a tensor, picked by subscript


@dataclass(frozen=True, kw_only=True)
class CppValue:
    """What an expression may be.

    Attributes:
        tensor: an at::Tensor (or an optional of one), or a container of some.
        pointer: an address of tensor data.
        origins: the parameters and allocations whose memory it may share.
        functions: names of functions it may stand for.
    """

    tensor: bool = False
    container: bool = False
    pointer: bool = False
    marks: frozenset[str] = _NONE
    origins: frozenset[str] = _NONE
    functions: frozenset[str] = _NONE

    @property
    def is_tensor(self) -> bool:
        """A tensor itself, neither a container nor an address."""
        return self.tensor and not self.container and not self.pointer

    @property
    def is_data(self) -> bool:
        """The address of a tensor's elements, other than a staging tensor's."""
        return (
            self.pointer and not self.container and bool(self.origins) and bool(self.marks & {INPUT, FRESH})
        )

    def marked(self, *marks: str) -> "CppValue":
        """The same value with marks added."""
        return replace(self, marks=self.marks | frozenset(marks))

    def unmarked(self, *marks: str) -> "CppValue":
        """The same value with marks taken away."""
        return replace(self, marks=self.marks - frozenset(marks))


OTHER = CppValue()


def join(values: Iterable[CppValue]) -> CppValue:
    """The least value that covers all of `values`."""
    parts = list(values)
    if not parts:
        return OTHER
    if len(parts) == 1:
        return parts[0]
    tensors = [part for part in parts if part.tensor]
    return CppValue(
        tensor=bool(tensors),
        container=any(part.container for part in parts),
        pointer=any(part.pointer for part in parts),
        marks=frozenset().union(*(part.marks for part in parts)),
        origins=frozenset().union(*(part.origins for part in parts)),
        functions=frozenset().union(*(part.functions for part in parts)),
    )

"""Fill new memory with a canary, so that what a kernel never wrote can't look like a result.

`torch.empty` may hand out the memory of an earlier output, and a kernel that writes nothing would pass. Floats get
a NaN with bits that no arithmetic makes, so that forensics can tell "never written" from "computed NaN".
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

CANARY = bytes((0xC1, 0x7F, 0xC1, 0x7F))
"""Repeated over the memory: a NaN as float16, bfloat16 and float32, and far off as anything else.

The simulator fills its on-chip memory with the same word, and forensics knows it."""

_ALLOCATORS = ("empty", "empty_like", "empty_strided", "empty_permuted")
_WHOLE = {2: "int16", 4: "int32", 8: "int64"}
_METHODS = ("new_empty", "new_empty_strided")


def fill(tensor: Any, word: bytes = CANARY) -> Any:
    """Overwrite a CPU tensor with the canary (or another word), in place; other tensors are left as they are."""
    import torch

    if tensor.device.type != "cpu" or tensor.layout != torch.strided or not tensor.numel():
        return tensor
    with torch.no_grad():
        flat = tensor.detach()
        if tensor.is_complex():
            flat = torch.view_as_real(flat)
        size = flat.element_size()
        if size == 1:
            # A byte holds half of the pattern; for bool any byte but 0 and 1 would be undefined.
            flat.view(torch.uint8).fill_(1 if tensor.dtype == torch.bool else word[0])
        elif size in _WHOLE:
            bits = int.from_bytes(word * 2, "little") & ((1 << 8 * size) - 1)
            # As torch's signed integers have it.
            bits -= (bits >> (8 * size - 1)) << (8 * size)
            flat.view(getattr(torch, _WHOLE[size])).fill_(bits)
    return tensor


def install(word: bytes = CANARY) -> None:
    """Make torch's allocations of this process return memory that is full of `word` (4 bytes)."""
    import torch

    for owner, names in ((torch, _ALLOCATORS), (torch.Tensor, _METHODS)):
        for name in names:
            setattr(owner, name, _poisoned(getattr(owner, name), word))


def _poisoned(allocate: Callable[..., Any], word: bytes) -> Callable[..., Any]:
    @wraps(allocate)
    def poisoned(*args: Any, **kwargs: Any) -> Any:
        return fill(allocate(*args, **kwargs), word)

    return poisoned

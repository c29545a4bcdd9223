"""What a test proves of the AscendC interface: names whose results it compares with an independent computation.

`npu_worker.sim.table` reads these marks from the text of tests: a name is "exact" in api.toml only where a test says
so, and the kernel that the mark names must call it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def proves(kernel: str, names: str, *, forms: str = "") -> Callable[[Function], Function]:
    """Mark a test.

    Args:
        kernel: the kernel's source, a path below tests/kernels, whose text has the names.
        names: names of the interface, separated by spaces.
        forms: which forms are compared, of "count", "mask" and "counter"; empty where a call has no forms.
    """
    del kernel, names, forms
    return lambda function: function

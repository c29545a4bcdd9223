"""What adapters expect of the torch_npu package, as far as it means anything on a simulated device.

Adapters import it for its side effects and wait for their stream: both do nothing here, since a simulated kernel has
ended when its launch returns. Anything else is told as unsupported, which is no fault of a kernel.
"""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

UNSUPPORTED = "unsupported by the simulator: "


class _Simulated(ModuleType):
    """A module whose unknown names are unsupported."""

    def __init__(self, name: str, known: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{UNSUPPORTED}{self.__name__}.{name}")


def install() -> None:
    """Make `import torch_npu`, `torch.npu` and `Tensor.npu()` work in this process, unless they do already."""
    import torch

    if "torch_npu" in sys.modules or hasattr(torch, "npu"):
        return
    device = _Simulated(
        "torch.npu",
        {
            "synchronize": lambda *_: None,
            "empty_cache": lambda: None,
            "set_device": lambda *_: None,
            "current_device": lambda: 0,
            "device_count": lambda: 1,
            "is_available": lambda: True,
        },
    )
    torch.npu = device
    torch.Tensor.npu = lambda self, *_, **__: self
    sys.modules["torch.npu"] = device
    sys.modules["torch_npu"] = _Simulated("torch_npu", {"npu": device, "__version__": "simulated"})

import _tiny_add_ext
import torch
from torch import nn


class ModelNew(nn.Module):
    """Hands both tensors to the extension."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return _tiny_add_ext.run_tiny_add(x, y)

import _plus_ext
import torch
from torch import nn


class ModelNew(nn.Module):
    """Hands both tensors to the extension."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return _plus_ext.run_plus(x, y)

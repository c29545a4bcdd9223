import torch
from torch import nn


class Model(nn.Module):
    """The sum of two tensors of one shape."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

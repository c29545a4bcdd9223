import torch
from torch import nn


class Model(nn.Module):
    """A sum that nobody waits for to the end."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        while True:
            x = x + y

"""ModelNew: hands the inputs to the AscendC extension, which allocates the outputs and launches the kernel."""

import _add_ext
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        y: torch.Tensor,
        alpha: float,
    ) -> torch.Tensor:
        return _add_ext.run_add(x, y, alpha)

"""ModelNew: hands the inputs to the AscendC extension, which allocates the outputs and launches the kernel."""

import _sum_ext
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        dim: int,
        keepdim: bool,
    ) -> torch.Tensor:
        return _sum_ext.run_sum(x, dim, keepdim)

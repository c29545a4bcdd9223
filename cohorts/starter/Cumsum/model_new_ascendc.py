"""ModelNew: hands the inputs to the AscendC extension, which allocates the outputs and launches the kernel."""

import _cumsum_ext
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        dim: int,
    ) -> torch.Tensor:
        return _cumsum_ext.run_cumsum(x, dim)

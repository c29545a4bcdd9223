"""ModelNew: hands the inputs to the AscendC extension, which allocates the outputs and launches the kernel."""

import _layer_norm_ext
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        normalized_shape: list[int],
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        return _layer_norm_ext.run_layer_norm(x, normalized_shape, weight, bias, 1e-5)

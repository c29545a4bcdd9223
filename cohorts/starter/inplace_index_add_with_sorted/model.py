"""out = var with alpha * value[pos[j]] added to slice sorted_indices[j] along axis, in the order of j.

Along the other axes value may be shorter than var (one upstream case is): only the leading part of var is then
updated. Products and sums round to the dtype of var at each step; torch.index_add leaves open in which order and
width it adds duplicates (it depends on the shape), so the steps are written out.
"""

import torch
from torch import nn


class Model(nn.Module):
    def forward(
        self,
        var: torch.Tensor,
        value: torch.Tensor,
        sorted_indices: torch.Tensor,
        pos: torch.Tensor,
        alpha: torch.Tensor | None,
        axis: int,
    ) -> torch.Tensor:
        out = var.clone()
        factor = 1 if alpha is None else alpha.reshape(-1)[0].to(var.dtype).item()
        region = out
        for dimension, length in enumerate(value.shape):
            if dimension != axis % var.dim():
                region = region.narrow(dimension, 0, length)
        for index, place in zip(sorted_indices.tolist(), pos.tolist(), strict=True):
            region.select(axis, index).add_(value.select(axis, place) * factor)
        return out

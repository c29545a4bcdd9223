"""Negative log likelihood loss over the class axis 1, with class weights, ignore_index and three reductions.

The sums run in float32 and round once to the dtype of the input: the 16-bit sums of a CPU build of torch would
round at each step, which no device does.
"""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(
        self,
        input: torch.Tensor,
        target: torch.Tensor,
        weight: torch.Tensor | None,
        ignore_index: int,
        reduction: str,
    ) -> torch.Tensor:
        wide_weight = None if weight is None else weight.float()
        loss = functional.nll_loss(
            input.float(), target, wide_weight, ignore_index=ignore_index, reduction=reduction
        )
        return loss.to(input.dtype)

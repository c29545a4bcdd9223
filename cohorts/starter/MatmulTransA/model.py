"""C = A^T @ B for A [K, M] and B [K, N]; products accumulate in float32 and round once to the dtype of A."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A.float().t(), B.float()).to(A.dtype)

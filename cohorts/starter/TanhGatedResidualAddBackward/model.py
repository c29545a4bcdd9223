"""Gradients of out = residual + tanh(gate) * hidden_states * mask.

The gate acts as one scalar in the sum: the gradient of the gate is the sum over all elements of
grad_output * hidden_states * mask, times the element-wise factor 1 - tanh(gate)^2.
"""

import torch
from torch import nn


class Model(nn.Module):
    def forward(
        self,
        grad_output: torch.Tensor,
        gate: torch.Tensor,
        hidden_states: torch.Tensor,
        mask: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        dtype = grad_output.dtype
        wide_grad = grad_output.float()
        wide_mask = mask.float()
        tanh_gate = torch.tanh(gate.float())
        grad_residual = grad_output.clone()
        grad_hidden = wide_grad * tanh_gate * wide_mask
        total = (wide_grad * hidden_states.float() * wide_mask).sum()
        grad_gate = total * (1.0 - tanh_gate * tanh_gate)
        return grad_residual, grad_hidden.to(dtype), grad_gate.to(dtype)

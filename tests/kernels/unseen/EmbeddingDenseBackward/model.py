import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, grad_output, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False):
        return torch.ops.aten.embedding_dense_backward(
            grad_output.float(), indices, num_weights, padding_idx, scale_grad_by_freq
        ).to(grad_output.dtype)

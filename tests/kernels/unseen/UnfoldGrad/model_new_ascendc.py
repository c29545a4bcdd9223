import _unfold_grad_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, grad_output, input_sizes, dim, size, step):
        return _unfold_grad_ext.unfold_grad(grad_output, list(input_sizes), int(dim), int(size), int(step))

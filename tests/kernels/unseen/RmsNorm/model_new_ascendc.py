import torch
import torch.nn as nn
import _rmsnorm_ext


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, weight, eps):
        return _rmsnorm_ext.run(x, weight, eps)

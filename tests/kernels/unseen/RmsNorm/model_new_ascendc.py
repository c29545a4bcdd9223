import _rmsnorm_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, weight, eps):
        return _rmsnorm_ext.run(x, weight, eps)

import torch
import torch.nn as nn
import _gelu_ext


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _gelu_ext.gelu(x)

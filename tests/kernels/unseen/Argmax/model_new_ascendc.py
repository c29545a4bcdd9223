import _argmax_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, dim):
        return _argmax_ext.argmax(x, int(dim))

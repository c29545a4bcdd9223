import _row_scale_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, scale, bias=None):
        return _row_scale_ext.row_scale(x, scale, bias)

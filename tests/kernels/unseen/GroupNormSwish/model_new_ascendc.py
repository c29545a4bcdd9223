import _group_norm_swish_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, input, num_groups, weight, bias, eps=1e-5, swish_scale=1.0):
        return _group_norm_swish_ext.forward(input, num_groups, weight, bias, eps, swish_scale)

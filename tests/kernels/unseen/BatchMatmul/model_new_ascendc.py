import _bmm_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return _bmm_ext.bmm(A, B)

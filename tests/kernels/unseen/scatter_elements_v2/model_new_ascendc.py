import _scatter_elements_v2_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, self_, index, updates, axis=0, reduction="none"):
        return _scatter_elements_v2_ext.scatter_elements(self_, index, updates, axis, reduction)

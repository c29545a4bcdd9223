import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, scale, bias=None):
        y = x * scale[:, None]
        if bias is not None:
            y = y + bias
        return torch.relu(y).clamp(max=6.0)

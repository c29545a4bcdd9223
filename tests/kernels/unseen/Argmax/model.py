import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, dim):
        return torch.argmax(x, dim=dim)

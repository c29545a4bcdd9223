import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, weight, eps):
        v = x.float()
        r = torch.rsqrt((v * v).mean(-1, keepdim=True) + eps)
        return (v * r * weight.float()).to(x.dtype)

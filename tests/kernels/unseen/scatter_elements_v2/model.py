import torch.nn as nn


class Model(nn.Module):
    def forward(self, self_, index, updates, axis=0, reduction="none"):
        out = self_.clone()
        if reduction == "add":
            return out.scatter_add_(axis, index.long(), updates)
        return out.scatter_(axis, index.long(), updates)

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self,
        var,
        m,
        v,
        grad,
        beta1_power,
        beta2_power,
        lr,
        beta1,
        beta2,
        epsilon,
        use_locking=False,
        use_nesterov=False,
    ):
        g = grad.float()
        m2 = beta1 * m + (1 - beta1) * g
        v2 = beta2 * v + (1 - beta2) * g * g
        mh = m2 / (1 - beta1_power)
        vh = v2 / (1 - beta2_power)
        out = var.float() - lr * mh / (torch.sqrt(vh) + epsilon)
        return out.to(var.dtype), m2, v2

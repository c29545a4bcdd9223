import _adam_w_ext as ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()

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
        assert not use_nesterov
        out, m_out, v_out = ext.adamw(
            var,
            m,
            v,
            grad,
            float(beta1_power),
            float(beta2_power),
            float(lr),
            float(beta1),
            float(beta2),
            float(epsilon),
        )
        return out, m_out, v_out

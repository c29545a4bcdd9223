import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, time_decay, key, time_first, value, max_state, num_state, den_state):
        w = -torch.exp(time_decay.float())
        ms, num, den = max_state.float(), num_state.float(), den_state.float()
        outs = []
        for t in range(key.shape[1]):
            k, v = key[:, t].float(), value[:, t].float()
            m = torch.maximum(ms, k + time_first)
            e1, e2 = torch.exp(ms - m), torch.exp(k + time_first - m)
            outs.append((e1 * num + e2 * v) / (e1 * den + e2))
            m2 = torch.maximum(ms + w, k)
            e1, e2 = torch.exp(ms + w - m2), torch.exp(k - m2)
            num = e1 * num + e2 * v
            den = e1 * den + e2
            ms = m2
        return torch.stack(outs, 1), ms, num, den

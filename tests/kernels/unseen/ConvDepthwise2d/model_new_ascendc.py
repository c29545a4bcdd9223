import _conv_depthwise2d_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, in_channels, kernel_size, stride=1, padding=0, bias=True):
        # the layer only holds the parameters that the specification draws
        conv = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            groups=in_channels,
            bias=bias,
        )
        weight = conv.weight.detach()
        b = conv.bias.detach() if bias else None
        return _conv_depthwise2d_ext.depthwise(x, weight, b, stride, padding)

import _iou_ext
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, bboxes, gtboxes, mode=0):
        return _iou_ext.iou(bboxes, gtboxes, mode)

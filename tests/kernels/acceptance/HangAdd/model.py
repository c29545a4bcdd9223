import os
from pathlib import Path

import torch
from torch import nn


class Model(nn.Module):
    """A sum that nobody waits for to the end; a file in the home folder of the stack says that it has begun."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        Path(os.environ["OPMEND_HOME"], "hangs").touch()
        while True:
            x = x + y

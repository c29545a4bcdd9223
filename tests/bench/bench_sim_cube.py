"""Matrix products on the simulator, against torch on the same machine.

The limit is the issue's: a 512 x 512 x 512 product of halves in at most 20 times torch's time. Compiling is not in it.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import torch

from tests.bench.measure import Measure, median_seconds
from tests.support.extension import compiled, loaded, sources

KERNELS = Path(__file__).parent.parent / "kernels" / "cube"
SIZE = 512
#: TCubeTiling's first 33 fields for one core: base 128 x 256 x 64 as in public samples, L1 and L0 held twice.
TILING = [
    1,
    SIZE,
    SIZE,
    SIZE,
    SIZE,
    SIZE,
    SIZE,
    SIZE,
    128,
    256,
    64,
    2,
    2,
    1,
    1,
    *([0] * 11),
    1,
    1,
    0,
    0,
    2,
    2,
    1,
]


def measures() -> Iterator[Measure]:
    """Halves and floats through the Matmul object; milliseconds a product."""
    kernels = _kernels()
    request = torch.tensor(TILING + [0] * (58 - len(TILING)), dtype=torch.int32)
    request[50 + 4] = 1  # one part along M
    for name, types, kind in (("half", 0, torch.float16), ("float", 3, torch.float32)):
        a, b = (
            torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(seed)).to(kind) for seed in (1, 2)
        )
        c, bias = torch.zeros(SIZE, SIZE), torch.zeros(SIZE)
        ours = median_seconds(partial(kernels.matmul, 1, a, b, bias, c, request, types))
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-3)
        theirs = median_seconds(partial(torch.matmul, a, b))
        yield Measure(
            name=f"Matmul 512 x 512 x 512, {name}",
            ours=ours * 1000,
            against=theirs * 1000,
            unit="ms",
            peer=f"torch, {torch.get_num_threads()} threads",
            at_most=20,
        )


def _kernels() -> ModuleType:
    work = Path(tempfile.mkdtemp(prefix="bench_sim_cube_"))
    return loaded(compiled(sources(KERNELS), "_cube_kernels_ext", work))

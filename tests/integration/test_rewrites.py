"""Each executable rewrite mends a kernel of our own on the simulator: it fails before and is right after.

The kernels of tests/kernels/rewrites differ in shape from the entries' examples: free functions and classes, while and
for loops, TBuf and TQue, templates, helpers. All are compiled together twice, before and after.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
import torch

from kb.context import RewriteContext
from kb.entry import Entry, load_entries
from kb.rewrite import Proposal, propose
from tests.support.extension import compiled, loaded

KERNELS = Path(__file__).parent.parent / "kernels" / "rewrites" / "kernel"
ROWS, COLS = 5, 77
CANARY = 321.0


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A faulty kernel, the rewrite that mends it, and what it should compute from (x, w)."""

    kernel: str
    rewrite: str
    reference: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    dtype: torch.dtype = torch.float32
    rows: int = ROWS
    cols: int = COLS
    cores: int = 1
    make: Callable[[torch.Generator, int, int], torch.Tensor] = field(
        default=lambda generator, rows, cols: torch.randn(rows, cols, generator=generator)
    )
    tolerance: float = 1e-5


def positive(generator: torch.Generator, rows: int, cols: int) -> torch.Tensor:
    return torch.rand(rows, cols, generator=generator)


def negative(generator: torch.Generator, rows: int, cols: int) -> torch.Tensor:
    return -1.0 - torch.rand(rows, cols, generator=generator)


def far_from_zero(generator: torch.Generator, rows: int, cols: int) -> torch.Tensor:
    return 2000.0 + torch.randn(rows, cols, generator=generator)


def serial_scan(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    steps = [x[0]]
    for row in x[1:]:
        steps.append(steps[-1] + row)
    return torch.stack(steps)


def scattered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.zeros(2, x.shape[1]).index_add(0, w[: x.shape[0]].long(), x)


TRIALS = (
    Trial(kernel="pad_flat", rewrite="datacopy-to-pad", reference=lambda x, w: 2 * x),
    Trial(
        kernel="tail_stages", rewrite="current-tile-count", reference=lambda x, w: x + 1, dtype=torch.float16,
        tolerance=1e-3,
    ),
    Trial(kernel="tail_floor", rewrite="current-tile-count", reference=lambda x, w: -x),
    Trial(kernel="byte_index", rewrite="index-in-elements", reference=lambda x, w: x),
    Trial(kernel="element_length", rewrite="length-in-bytes", reference=lambda x, w: x),
    Trial(kernel="padded_reduce", rewrite="reduce-true-count", reference=lambda x, w: x.sum(1), tolerance=1e-4),
    Trial(kernel="padded_mean", rewrite="mean-true-divisor", reference=lambda x, w: x.mean(1), make=positive),
    Trial(kernel="zero_maximum", rewrite="reduce-identity", reference=lambda x, w: x.amax(0), make=negative),
    Trial(
        kernel="reset_each_tile", rewrite="hoist-initialisation", make=positive,
        reference=lambda x, w: x.sum().reshape(1),
    ),
    Trial(
        kernel="half_total", rewrite="sum-in-float", make=positive, dtype=torch.float16,
        reference=lambda x, w: x.float().sum(1).half(), cols=3000, tolerance=1e-3,
    ),
    Trial(
        kernel="half_columns", rewrite="vector-sum-in-float", reference=lambda x, w: x.float().sum(0).half(),
        dtype=torch.float16, make=positive, rows=600, tolerance=1e-3,
    ),
    Trial(
        kernel="exact_scan", rewrite="round-each-step", reference=serial_scan, dtype=torch.float16, make=positive,
        rows=200, tolerance=0.0,
    ),
    Trial(kernel="floor_share", rewrite="share-the-remainder", reference=lambda x, w: x, cores=4),
    Trial(kernel="truncating_cast", rewrite="cast-mode", reference=lambda x, w: x.half(), tolerance=0.0),
    Trial(
        kernel="raw_moments", rewrite="centred-variance",
        reference=lambda x, w: x.double().var(1, correction=0).float(), make=far_from_zero, tolerance=1e-3,
    ),
    Trial(
        kernel="counted_weights", rewrite="weighted-mean-divisor", reference=lambda x, w: (x * w).sum(1) / w.sum(),
        make=positive, tolerance=1e-4,
    ),
    Trial(kernel="unset_columns", rewrite="initialise-accumulator", reference=lambda x, w: x.sum(0)),
    Trial(kernel="never_freed", rewrite="free-tensor", reference=lambda x, w: x),
    Trial(kernel="not_enqueued", rewrite="queue-exchange", reference=lambda x, w: 3 * x),
    Trial(kernel="swapped_rows", rewrite="row-extent", reference=lambda x, w: x.sum(1), tolerance=1e-4),
    Trial(kernel="packed_rows", rewrite="row-distance", reference=lambda x, w: x.sum(1), tolerance=1e-4),
    Trial(kernel="scatter_rows", rewrite="scatter-adds", reference=scattered, tolerance=1e-4),
    Trial(
        kernel="last_tile_wins", rewrite="accumulate-over-tiles", make=positive,
        reference=lambda x, w: x.sum().reshape(1),
    ),
    Trial(kernel="dealt_tiles", rewrite="current-tile-count", reference=lambda x, w: x / 2, cores=3),
    Trial(kernel="small_buffer", rewrite="buffer-in-bytes", reference=lambda x, w: x + 1),
)  # fmt: skip


def entry_of(rewrite: str) -> Entry:
    return next(entry for entry in load_entries() if entry.rewrite == rewrite)


def first_proposal(trial: Trial) -> Proposal:
    path = f"kernel/{trial.kernel}.h"
    files = {path: (KERNELS / f"{trial.kernel}.h").read_text()}
    proposals = propose(files, entry_of(trial.rewrite), RewriteContext())
    assert proposals, f"{trial.rewrite} finds nothing in {path}"
    return proposals[0]


def built(files: dict[str, str], name: str, home: Path) -> ModuleType:
    home.mkdir()
    return loaded(compiled(files, name, home))


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, ModuleType]:
    """The kernels before and after their rewrites."""
    home = tmp_path_factory.mktemp("rewrites")
    files = {f"kernel/{path.name}": path.read_text() for path in KERNELS.iterdir()}
    mended = dict(files)
    for trial in TRIALS:
        mended |= first_proposal(trial).files
    return built(files, "_before_ext", home / "before"), built(mended, "_after_ext", home / "after")


def right(module: ModuleType, trial: Trial) -> bool:
    generator = torch.Generator().manual_seed(11)
    x = trial.make(generator, trial.rows, trial.cols).to(trial.dtype)
    w = torch.rand(max(trial.rows, trial.cols), generator=generator)
    if trial.reference is scattered:
        w = (w * 2).floor()  # places instead of weights
    expected = trial.reference(x, w)
    # The canary behind the output shows writes beyond its end.
    room = torch.full((expected.numel() + 64,), float("nan"), dtype=expected.dtype)
    room[expected.numel() :] = CANARY
    try:
        getattr(module, trial.kernel)(x, w, room, trial.rows, trial.cols, trial.cores)
    except RuntimeError:
        return False
    out = room[: expected.numel()].reshape(expected.shape)
    if not (room[expected.numel() :] == CANARY).all():
        return False
    return torch.allclose(out.double(), expected.double(), rtol=trial.tolerance, atol=trial.tolerance)


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.kernel)
def test_a_rewrite_turns_a_wrong_output_into_a_right_one(
    trial: Trial, modules: tuple[ModuleType, ModuleType]
) -> None:
    before, after = modules
    assert not right(before, trial), "the kernel is not faulty, so it proves nothing"
    assert right(after, trial), "\n".join(first_proposal(trial).files.values())


def test_every_rewrite_that_can_be_seen_on_the_simulator_is_tried() -> None:
    # The simulator runs in program order, so a missing barrier changes nothing there; 2³¹ elements do not fit a test.
    unseen = {"barrier-around-buffer", "offset-in-64-bits", "scalar-store-by-copy", "queue-position"}
    # These need the host's side, or several cores: test_unseen_kernels.py shows them on whole workspaces.
    whole = {"wait-for-all-cores", "reach-the-barrier", "clear-before-adding", "part-at-bytes"}
    known = {entry.rewrite for entry in load_entries() if entry.rewrite}
    assert known - {trial.rewrite for trial in TRIALS} == unseen | whole

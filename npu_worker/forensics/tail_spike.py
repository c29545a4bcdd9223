"""Mismatches at the end: of the whole output, or of each row, where the last tile is shorter than the others."""

from dataclasses import dataclass

import numpy as np

from npu_worker.forensics.sample import Floats, Mask, OutputSample
from npu_worker.forensics.sign import Sign, percent, rounded

TILES = (8, 16, 32, 64, 128, 256)
BLOCK_BYTES = 32
LEAST_TAIL_RATE = 0.3
MOST_BODY_RATE = 0.01
LEAST_FACTOR = 5.0
MOST_SUFFIX = 0.1
MOST_CHANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class _Tail:
    length: int
    tile: int | None
    tail_rate: float
    body_rate: float

    @property
    def contrast(self) -> float:
        return self.tail_rate - self.body_rate


def detect(sample: OutputSample) -> Sign | None:
    """Fits where the tail's rate is above 0.3, and the body's below 0.01 or a fifth of it.

    Tails are the remainders of the length by 8 to 256 elements and by 32 bytes, of each row and of the flat output,
    and any shorter end (up to a tenth) that holds all mismatches.
    """
    candidates: list[tuple[str, int, _Tail]] = []
    if len(sample.shape) >= 2 and sample.shape[-1] > 1:
        rows = sample.total // sample.shape[-1]
        profile = sample.mask.reshape(-1, sample.shape[-1]).mean(axis=0)
        found = _best(profile, rows, sample.item_bytes)
        if found:
            candidates.append(("row", sample.shape[-1], found))
    found = _best(sample.mask.reshape(-1), 1, sample.item_bytes)
    if found:
        candidates.append(("output", sample.total, found))
    if not candidates:
        return None
    # A tail in each row is a sharper statement than one at the very end, unless it explains less.
    unit, length, tail = max(candidates, key=lambda entry: (round(entry[2].contrast, 2), entry[0] == "row"))
    where = "of each row" if unit == "row" else "of the output"
    text = (
        f"{percent(tail.tail_rate)} of the last {tail.length} elements {where} ({length} long) are wrong,"
        f" against {percent(tail.body_rate)} before them"
    )
    evidence: dict[str, object] = {
        "unit": unit,
        "length": length,
        "tail": tail.length,
        "tail_rate": rounded(tail.tail_rate),
        "body_rate": rounded(tail.body_rate),
        "aligned_32_bytes": length * sample.item_bytes % BLOCK_BYTES == 0,
    }
    if tail.tile:
        text += f"; the length leaves {tail.length} over tiles of {tail.tile}"
        evidence["tile"] = tail.tile
    return Sign(hint="tail_spike", text=text, evidence=evidence)


def _best(rates: Floats | Mask, rows: int, item_bytes: int) -> _Tail | None:
    length = rates.size
    total = float(rates.sum(dtype=np.float64))
    if total == 0:
        return None
    lengths: dict[int, int | None] = {}
    for tile in sorted({max(1, BLOCK_BYTES // item_bytes), *TILES}, reverse=True):
        rest = length % tile
        if rest and rest < length:
            lengths[rest] = tile
    first = int(np.argmax(rates > 0))
    suffix = length - first
    if 0 < suffix <= MOST_SUFFIX * length:
        lengths.setdefault(suffix, None)
    best: _Tail | None = None
    for tail_length, of_tile in lengths.items():
        inside = float(rates[length - tail_length :].sum(dtype=np.float64))
        tail_rate = inside / tail_length
        body_rate = (total - inside) / (length - tail_length)
        fits = tail_rate > LEAST_TAIL_RATE and (
            body_rate < MOST_BODY_RATE or tail_rate > LEAST_FACTOR * body_rate
        )
        # A short tail may be hit by chance: with independent mismatches that is body_rate ** hits likely.
        likely = body_rate ** min(inside * rows, 64.0) < MOST_CHANCE
        if fits and likely:
            tail = _Tail(length=tail_length, tile=of_tile, tail_rate=tail_rate, body_rate=body_rate)
            if best is None or tail.contrast > best.contrast:
                best = tail
    return best

"""Mismatches at borders: the faces of the space that a kernel slides over, or the seams between tiles or cores."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from npu_worker.forensics.sample import OutputSample, Places
from npu_worker.forensics.sign import Sign, percent, rounded

LEAST_SHARE = 0.6
LEAST_RATE = 0.2
MOST_ZONE = 0.34
LEAST_LIFT = 3.0
LEAST_SURPRISE = 6.0
MOST_CORES = 64
BLOCK_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class _Zone:
    share: float
    rate: float
    text: str
    evidence: dict[str, Any]

    @property
    def score(self) -> float:
        return self.share * self.rate


def detect(sample: OutputSample) -> Sign | None:
    """Fits where a border zone holds more than 60 % of the mismatches and more than 20 % of it is wrong.

    Leads over dimension_concentration where it holds more than 90 %.
    """
    if not sample.wrong:
        return None
    zones = [zone for zone in (_faces(sample), _seams(sample)) if zone]
    if not zones:
        return None
    best = max(zones, key=lambda zone: zone.score)
    return Sign(
        hint="boundary_concentration", text=best.text, evidence=best.evidence, leading=best.share >= 0.9
    )


def _faces(sample: OutputSample) -> _Zone | None:
    """First and last index of the last one to three dimensions; a batch or channel has no border."""
    best: _Zone | None = None
    rank = len(sample.shape)
    if rank < 2:
        return None
    index = np.unravel_index(sample.places, sample.shape)
    for count in range(1, min(3, rank - 1) + 1):
        dimensions = range(rank - count, rank)
        if any(sample.shape[dimension] < 4 for dimension in dimensions):
            break
        inner = math.prod((sample.shape[dimension] - 2) / sample.shape[dimension] for dimension in dimensions)
        hits = np.zeros(sample.places.size, dtype=bool)
        faces = 0
        for dimension in dimensions:
            for end in (0, sample.shape[dimension] - 1):
                on_face = index[dimension] == end
                faces += bool(on_face.mean() > 0.1)
                hits |= on_face
        fraction = 1 - inner
        share = float(hits.mean())
        if faces < 2 or not _fits(sample, share, fraction):
            # One face alone is a tail or a slice, which other classes name better.
            continue
        rate = share * sample.rate / fraction
        names = ", ".join(map(str, dimensions))
        zone = _Zone(
            share=share,
            rate=rate,
            text=(
                f"{percent(share)} of the wrong elements lie on the borders of dimension{'s' * (count > 1)} {names},"
                f" where {percent(min(rate, 1.0))} are wrong"
            ),
            evidence={
                "borders_of": list(dimensions),
                "share": rounded(share),
                "rate": rounded(min(rate, 1.0)),
            },
        )
        if best is None or zone.score > best.score:
            best = zone
    return best


def _seams(sample: OutputSample) -> _Zone | None:
    """Seams every `period` elements of the flat output, before or after them."""
    total, places = sample.total, sample.places
    block = max(1, BLOCK_BYTES // sample.item_bytes)
    best: tuple[float, int, int, str, float, float] | None = None
    for period in _periods(sample, block):
        phase = places % period
        for width in sorted({1, block, 2 * block, 64, period // 8}):
            if not 0 < width <= MOST_ZONE * period:
                continue
            for side, hits in (("before", phase >= period - width), ("after", phase < width)):
                share = float(hits.mean())
                fraction = width / period
                if not _fits(sample, share, fraction) or np.unique(places[hits] // period).size < 2:
                    continue
                rate = share * sample.rate / fraction
                if best is None or share * rate > best[0] * 1.001:
                    best = (share * rate, period, width, side, share, rate)
    if best is None:
        return None
    _, period, width, side, share, rate = best
    parts = -(-total // period)
    return _Zone(
        share=share,
        rate=rate,
        text=(
            f"{percent(share)} of the wrong elements lie in the {width} elements {side} a multiple of {period}"
            f" ({parts} parts: tiles or cores), where {percent(min(rate, 1.0))} are wrong"
        ),
        evidence={
            "period": period,
            "width": width,
            "side": side,
            "parts": parts,
            "share": rounded(share),
            "rate": rounded(min(rate, 1.0)),
        },
    )


def _periods(sample: OutputSample, block: int) -> list[int]:
    """Sizes of tiles or of a core's share that are worth a look: powers of two, equal shares, and the gap most seen."""
    total = sample.total
    sizes = {1 << power for power in range(5, 21)}
    for cores in range(2, MOST_CORES + 1):
        share = -(-total // cores)
        sizes |= {share, total // cores, -(-share // block) * block}
    sizes |= _usual_gaps(sample.places)
    row = sample.shape[-1] if len(sample.shape) > 1 else 0
    # The row itself is left to tail_spike and dimension_concentration.
    return sorted(size for size in sizes if 16 <= size <= total // 2 and size != row)


def _usual_gaps(places: Places) -> set[int]:
    gaps = np.diff(places)
    # Elements of one run stand close together: its start is where a gap opens.
    starts = places[np.concatenate(([True], gaps > max(1, int(np.median(gaps)) if gaps.size else 1)))]
    between = np.diff(starts)
    if between.size < 2:
        return set()
    sizes, counts = np.unique(between, return_counts=True)
    return {int(size) for size in sizes[np.argsort(-counts, kind="stable")[:3]]}


def _fits(sample: OutputSample, share: float, fraction: float) -> bool:
    if not 0 < fraction <= MOST_ZONE or share <= LEAST_SHARE:
        return False
    rate = share * sample.rate / fraction
    outside = (1 - share) * sample.rate / (1 - fraction)
    # Many zones are tried: one of them holds more than its part of a few mismatches by chance.
    surprise = (share - fraction) / math.sqrt(fraction * (1 - fraction) / sample.places.size)
    return rate > LEAST_RATE and rate > LEAST_LIFT * outside and surprise > LEAST_SURPRISE

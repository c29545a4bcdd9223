"""Where errors begin: a kernel that is right for its first tile and wrong from then on lost an offset or a carry.

No class of its own: it is evidence beside the class that leads.
"""

from typing import Any

import numpy as np

from npu_worker.forensics.dimension_concentration import slice_rates
from npu_worker.forensics.sample import OutputSample

LEAST_PREFIX = 16
MOST_PREFIX_SHARE = 0.9
LEAST_RATE_AFTER = 0.5


def look(sample: OutputSample) -> tuple[str, dict[str, Any]] | None:
    """A sentence and numbers, where at least 16 indices of a dimension are right and most elements after them wrong.

    A clean part of more than nine tenths is left to tail_spike, which names the end and not the beginning.
    """
    for dimension in reversed(range(len(sample.shape))):
        size = sample.shape[dimension]
        if size < 2 * LEAST_PREFIX:
            continue
        rates = slice_rates(sample, dimension)
        prefix = int(np.argmax(rates > 0))
        if not LEAST_PREFIX <= prefix <= MOST_PREFIX_SHARE * size or rates[prefix:].mean() < LEAST_RATE_AFTER:
            continue
        text = f"along dimension {dimension} (size {size}) the first {prefix} indices are right and errors begin there"
        return text, {"right_before": {"dimension": dimension, "index": prefix, "size": size}}
    return None

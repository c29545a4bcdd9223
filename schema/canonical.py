"""One way to turn data into bytes, and bytes into a digest.

Everything that is hashed (events, manifests, evidence, trees) goes through here, so two processes
on two versions get the same digest for the same data.
"""

import hashlib
import json
from typing import Any


def canonical_json(data: Any) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces, no NaN.

    Raises:
        ValueError: the data holds NaN or infinity, which JSON can't carry.
        TypeError: the data holds something that is not JSON.
    """
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest(data: bytes) -> str:
    """SHA-256 in lower-case hexadecimal, 64 characters."""
    return hashlib.sha256(data).hexdigest()

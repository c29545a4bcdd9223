"""How commands print: tables and panels for people, one JSON document for machines."""

import json
import sys
from typing import Any

from rich.console import Console


def console() -> Console:
    """Standard output, with colours where it is a terminal; wide when it is a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, soft_wrap=False)


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


def seconds(value: float) -> str:
    """A duration for people: 0.4 s, 12 s, 3 min 05 s."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def rate(value: float | None) -> str:
    """A match rate for people: 64.7 %, or – where no case ran. A rate below 1 never reads as 100 %."""
    if value is None:
        return "–"
    shown = round(100 * value, 1)
    if value < 1 and shown == 100.0:
        shown = 99.9
    return f"{shown:g} %"

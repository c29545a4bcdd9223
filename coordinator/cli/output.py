"""How commands print: tables and panels for people, one JSON document for machines."""

import json
import sys
from typing import Any

from rich.console import Console


def console() -> Console:
    """Standard output, with colours where it is a terminal; wide when it is a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 150, highlight=False, soft_wrap=False)


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")
